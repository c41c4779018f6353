"""Checkpoints: one safetensors file that holds a model's trained weights and says what it is."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from models import registry

PRETRAINED = Path(__file__).parent / "pretrained"
DEFAULT_MATCHER = PRETRAINED / "matcher.safetensors"
DEFAULT_CAPTIONER = PRETRAINED / "captioner.safetensors"
DEFAULT_GROUNDER = PRETRAINED / "grounder.safetensors"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded model and where it came from; `fingerprint` changes whenever its answers could."""

    kind: str
    name: str
    model: Any  # a registry.Matcher or registry.Captioner; its kind says which
    fingerprint: str
    facts: dict[str, Any]  # what was recorded at training: data, seed, metrics


def trained_state(model: nn.Module) -> dict[str, Tensor]:
    """The weights that training made: parameters and buffers outside frozen packaged networks.

    A module names what its packages bring in `packaged`, a tuple of prefixes.
    """
    packaged = declared(model, "packaged")
    return {
        key: value.detach().cpu().contiguous()
        for key, value in model.state_dict().items()
        if not key.startswith(packaged)
    }


def declared(model: nn.Module, what: str) -> tuple[str, ...]:
    """The prefixes that a model and the modules in it declare as `what`, from the model on."""
    return tuple(
        f"{name}.{prefix}" if name else prefix
        for name, module in model.named_modules()
        for prefix in getattr(module, what, ())
    )


def save(path: Path, kind: str, name: str, model: nn.Module, facts: dict[str, Any]) -> None:
    """Write a checkpoint whole or not at all; half precision where the model asks for it."""
    half = declared(model, "stored_in_half")
    state = {
        key: value.half() if key.startswith(half) else value
        for key, value in trained_state(model).items()
    }
    described = {"kind": kind, "name": name, "config": asdict(model.config), "facts": facts}  # type: ignore[call-overload]
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    save_file(state, partial, metadata={"tessera": json.dumps(described, sort_keys=True)})
    partial.chmod(0o644)  # safetensors writes for its owner alone
    partial.replace(path)


def load(path: Path, device: str = "cpu") -> Checkpoint:
    """Rebuild a model from its checkpoint, ready to answer (evaluation mode).

    Raises LookupError for a missing file or model, ValueError for a file that is no checkpoint
    of this Tessera.
    """
    if not path.is_file():
        raise LookupError(f"no checkpoint at {path}; `tessera models` lists the ones that ship")
    try:
        with safe_open(path, framework="pt") as file:
            described = json.loads((file.metadata() or {}).get("tessera", "null"))
            state = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - no dict
    except SafetensorError as broken:
        raise ValueError(f"{path} is not a safetensors file: {broken}") from broken
    if described is None:
        raise ValueError(f"{path} holds tensors but no Tessera description; train it with tessera")
    try:
        kind, name, facts = described["kind"], described["name"], described["facts"]
        module = registry.find(kind, name)
        config = module.Config(**described["config"])
    except (KeyError, TypeError) as unknown:
        raise ValueError(f"{path} comes from another version of Tessera: {unknown}") from unknown
    model = module.Model(config)
    restore(model, state)
    return Checkpoint(kind, name, model.eval().to(device), fingerprint(path), facts)


def restore(model: nn.Module, state: dict[str, Tensor]) -> None:
    """Put trained weights back; every one must be there and fit, and none more."""
    wanted = {key: value.shape for key, value in trained_state(model).items()}
    if wanted.keys() != state.keys():
        raise ValueError(
            f"the checkpoint lacks {sorted(wanted.keys() - state.keys())[:3]} "
            f"and has {sorted(state.keys() - wanted.keys())[:3]} that the model does not know"
        )
    for key, shape in wanted.items():
        if state[key].shape != shape:
            raise ValueError(f"{key} is {[*state[key].shape]}; the model wants {[*shape]}")
    with torch.no_grad():
        model.load_state_dict(
            {k: v.float() if v.is_floating_point() else v for k, v in state.items()}, strict=False
        )


def fingerprint(path: Path) -> str:
    """Sixteen hexadecimal digits of the SHA-256 of a checkpoint file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
