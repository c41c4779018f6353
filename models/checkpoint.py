"""Checkpoints: a model's trained weights and its description in one safetensors file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import finalize

import torch
from safetensors import safe_open
from safetensors.torch import load as from_bytes
from safetensors.torch import save as to_bytes
from safetensors.torch import save_file
from torch import Tensor, nn

from models import header, registry
from models.captions.calibration import CaptionCalibration
from models.scores.calibration import Calibration, PairKind
from models.scores.presence import Presence
from models.whole_files import is_stream, write_whole

CALIBRATION = "calibration."  # the prefix of a calibration's tensors
TEXTS = "angles"  # what a text and a text are calibrated by; earlier files have sums of maxima
PRESENCE = ("directions", "biases", "limits")  # the tensors of its presence


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded model and its source; `fingerprint` changes whenever its vectors could.

    `calibration` is a matcher's and `captions` a captioner's; None if not measured.
    """

    kind: str
    name: str
    model: Any  # a registry.Matcher or registry.Captioner; its kind says which
    fingerprint: str
    facts: dict[str, Any]  # a record of the training: data, seed, metrics
    calibration: Calibration | None = None
    captions: CaptionCalibration | None = None

    @property
    def of_regions(self) -> bool:
        """Return whether it is a captioner of regions."""
        return bool(self.model.of_regions)


class DeferredCheckpoint:
    """A checkpoint with its weights unread until its model is used.

    Errors are those of `load`; of weights that do not fit they come with the model. The file may
    be deleted or replaced meanwhile; if other bytes were written to it, the model is refused.
    """

    def __init__(self, path: Path, device: str = "cpu") -> None:
        self._path, self._device, self._reading = path, device, Lock()
        self._failure = ""
        self._file = os.open(path, os.O_RDONLY)  # no mapping, which would show later changes
        self._close = finalize(self, os.close, self._file)
        self._examined = examine(path, header.read(path))
        self.fingerprint = header.fingerprint(path)
        if not os.path.samestat(os.fstat(self._file), path.stat()):
            raise ValueError(f"{path} was replaced while it was read: start again")
        self._digest = sha256(self._read()).digest()
        self.kind, self.name = self._examined.kind, self._examined.name
        self.facts, self.captions = self._examined.facts, self._examined.captions

    @property
    def of_regions(self) -> bool:
        """Return whether it is a captioner of regions."""
        return bool(self._examined.module.Model.of_regions)

    @property
    def model(self) -> Any:
        """The model, read once for all threads; unfit weights are read once."""
        with self._reading:
            if self._failure:
                raise ValueError(self._failure)
            try:
                return self._model
            except ValueError as unfit:
                self._failure = str(unfit)
                raise

    @cached_property
    def _model(self) -> nn.Module:
        content = self._read()
        self._close()
        if sha256(content).digest() != self._digest:
            raise ValueError(f"{self._path} was changed after the start: start again")
        with torch.inference_mode(False):  # which the first caller may be in
            return self._examined.build(from_bytes(content), self._device)

    def _read(self) -> bytes:
        """Read the file of the start, wherever its name leads now."""
        with os.fdopen(os.dup(self._file), "rb") as file:
            file.seek(0)
            return file.read()


@dataclass(frozen=True, slots=True)
class ExaminedHeader:
    """The description in a checkpoint's header, with its module and config."""

    kind: str
    name: str
    facts: dict[str, Any]
    captions: CaptionCalibration | None
    module: Any  # of the registry
    config: Any

    def build(self, state: Mapping[str, Tensor], device: str) -> nn.Module:
        """Build the model with its weights; ValueError for others."""
        model: nn.Module = self.module.Model(self.config)
        restore(model, {k: v for k, v in state.items() if not k.startswith(CALIBRATION)})
        return move(model.eval(), device)


def examine(path: Path, described: Mapping[str, Any]) -> ExaminedHeader:
    """Examine a checkpoint's description; errors are those of `load`."""
    with explain_version(path):
        kind, name, facts = described["kind"], described["name"], described["facts"]
        module = registry.find(kind, name)
        measured = described.get("captions")
        captions = CaptionCalibration(**measured) if measured else None
        return ExaminedHeader(
            kind, name, facts, captions, module, module.Config(**described["config"])
        )


@contextmanager
def explain_version(path: Path) -> Iterator[None]:
    """Raise ValueError for a description with other entries."""
    try:
        yield
    except (KeyError, TypeError) as unknown:
        raise ValueError(f"{path} comes from another version of Tessera: {unknown}") from unknown


def collect_weights(model: nn.Module) -> dict[str, Tensor]:
    """The trained weights: parameters and buffers outside frozen packaged networks.

    A module lists its packaged weights in `packaged`, a tuple of prefixes.
    """
    packaged = collect_prefixes(model, "packaged")
    return {
        key: value.detach().cpu().contiguous()
        for key, value in model.state_dict().items()
        if not key.startswith(packaged)
    }


def collect_prefixes(model: nn.Module, attribute: str) -> tuple[str, ...]:
    """The prefixes declared as `attribute` by a model and its modules."""
    return tuple(
        f"{name}.{prefix}" if name else prefix
        for name, module in model.named_modules()
        for prefix in getattr(module, attribute, ())
    )


def save(
    path: Path,
    kind: str,
    name: str,
    model: nn.Module,
    facts: dict[str, Any],
    fingerprint: str | None = None,
) -> None:
    """Write a checkpoint whole or not at all, partly in half precision.

    The model names the prefixes of weights to store in half precision in `stored_in_half`.

    Its fingerprint is that of the file unless another is given.
    """
    half = collect_prefixes(model, "stored_in_half")
    state = {
        key: value.half() if key.startswith(half) else value
        for key, value in collect_weights(model).items()
    }
    described = {"kind": kind, "name": name, "config": asdict(model.config), "facts": facts}  # type: ignore[call-overload]
    write(path, state, described | ({"fingerprint": fingerprint} if fingerprint else {}))


def write(path: Path, state: dict[str, Tensor], described: dict[str, Any]) -> None:
    """Write tensors and their description, whole or not at all.

    OSError names the path.
    """
    metadata = {"tessera": json.dumps(described, sort_keys=True)}
    with write_whole(path) as partial:
        if is_stream(partial):  # save_file would put a file in its place
            partial.write_bytes(to_bytes(state, metadata))
            return
        save_file(state, partial, metadata)
        partial.chmod(0o644)  # safetensors writes for its owner alone


def calibrate(path: Path, out: Path, calibration: Calibration) -> None:
    """Write a checkpoint again with a calibration, instead of any earlier one.

    Its vectors do not change, so it keeps its fingerprint: nothing has to be embedded again.
    """
    state, described = read(path)
    tensors = {
        "photos": calibration.photos.half(),
        "sentences": calibration.sentences.half(),
        "coefficients": calibration.coefficients,
    }
    if calibration.presence is not None:
        tensors |= presence_tensors(calibration.presence)
    state = {key: value for key, value in state.items() if not key.startswith(CALIBRATION)}
    settings = {
        "weak_below": calibration.weak_below,
        "words": sorted(calibration.words),
        "general": calibration.general,
        "facts": calibration.facts,
        "texts": TEXTS if calibration.compares_texts else None,
    }
    if calibration.presence is not None:
        settings["presence"] = presence_settings(calibration.presence)
    write(
        out,
        state | {CALIBRATION + name: tensor.contiguous() for name, tensor in tensors.items()},
        described | {"calibration": settings, "fingerprint": header.fingerprint(path)},
    )


def save_presence(path: Path, presence: Presence) -> Path:
    """Write a matcher's presence next to it; returns the file."""
    tensors = {CALIBRATION + name: value for name, value in presence_tensors(presence).items()}
    name = header.read(path)["name"]
    described = {"kind": "presence", "name": name, "matcher": header.fingerprint(path)}
    write(out := presence_path(path), tensors, described | presence_settings(presence))
    return out


def presence_path(path: Path) -> Path:
    """The place of a presence outside of its matcher."""
    return path.with_suffix(f".presence{path.suffix}")


def calibrate_captions(path: Path, out: Path, calibration: CaptionCalibration) -> None:
    """Write a captioner again with a new calibration of captions.

    Its captions do not change, so it keeps its fingerprint.
    """
    state, described = read(path)
    fields = asdict(calibration) | {"things": sorted(calibration.things)}
    entries = {"captions": fields, "fingerprint": header.fingerprint(path)}
    write(out, state, described | entries)


def load(path: Path, device: str = "cpu") -> Checkpoint:
    """Rebuild a model from its checkpoint, ready to answer (evaluation mode).

    Raises LookupError for a missing file or model, ValueError for a file that is no checkpoint
    of this Tessera.
    """
    state, described = read(path)
    examined = examine(path, described)
    with explain_version(path):
        calibration = calibration_of(state, described)
        if calibration and (presence := presence_next_to(path)):
            calibration = replace(calibration, presence=presence)
    return Checkpoint(
        examined.kind,
        examined.name,
        examined.build(state, device),
        header.fingerprint(path),
        examined.facts,
        calibration,
        examined.captions,
    )


def move(model: nn.Module, device: str) -> nn.Module:
    """Move a model to a device, to compute as on a processor.

    GPUs multiply numbers of 10 bits in convolutions unless the process is told otherwise: vectors
    would be off those of a processor by percents.
    """
    torch.backends.cudnn.allow_tf32 = False
    return model.to(device)


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """A checkpoint's tensors and its description; errors are those of `load`."""
    described = header.read(path)
    with safe_open(path, framework="pt") as file:
        return {key: file.get_tensor(key) for key in file.keys()}, described  # noqa: SIM118 - no dict


def calibration_of(state: dict[str, Tensor], described: dict[str, Any]) -> Calibration | None:
    """The calibration in a checkpoint, or None."""
    if "calibration" not in described:
        return None
    settings = described["calibration"]
    photos, sentences, coefficients = (
        state[CALIBRATION + name].to(torch.float32, copy=True)
        for name in ("photos", "sentences", "coefficients")
    )
    if settings.get("texts") != TEXTS:
        coefficients = coefficients[: PairKind.TEXT_AND_TEXT.value]
    return Calibration(
        photos,
        sentences,
        coefficients,
        settings["weak_below"],
        frozenset(settings["words"]),
        settings["facts"],
        settings.get("general"),
        presence_of(state, settings["presence"]) if "presence" in settings else None,
    )


def presence_tensors(presence: Presence) -> dict[str, Tensor]:
    """The tensors of a presence; its map is stored in half precision."""
    tensors = {name: getattr(presence, name) for name in PRESENCE}
    return {name: tensor.half() if tensor.ndim == 2 else tensor for name, tensor in tensors.items()}


def presence_settings(presence: Presence) -> dict[str, Any]:
    """The numbers and names of a presence."""
    values = {f.name: getattr(presence, f.name) for f in fields(presence)}
    plain = {name: value for name, value in values.items() if name not in PRESENCE}
    return plain | {"things": sorted(presence.things)}


def presence_of(state: dict[str, Tensor], settings: dict[str, Any]) -> Presence:
    """The presence in a checkpoint, or in a file of its own."""
    tensors = {name: state[CALIBRATION + name].to(torch.float32, copy=True) for name in PRESENCE}
    things = frozenset(settings["things"])
    values = {f.name: settings[f.name] for f in fields(Presence) if f.name in settings}
    return Presence(**values | tensors | {"things": things})


def presence_next_to(path: Path) -> Presence | None:
    """The presence next to a matcher; None if it is another one's."""
    file = presence_path(path)
    if not file.is_file():
        return None
    state, described = read(file)
    fits = described.get("matcher") == header.fingerprint(path)
    return presence_of(state, described) if fits else None


def restore(model: nn.Module, state: dict[str, Tensor]) -> None:
    """Load trained weights; ValueError unless exactly the model's own are there."""
    shapes = {key: value.shape for key, value in collect_weights(model).items()}
    if shapes.keys() != state.keys():
        raise ValueError(
            f"the checkpoint lacks {sorted(shapes.keys() - state.keys())[:3]} "
            f"and has {sorted(state.keys() - shapes.keys())[:3]} that the model does not know"
        )
    for key, shape in shapes.items():
        if state[key].shape != shape:
            raise ValueError(f"{key} is {[*state[key].shape]}; the model wants {[*shape]}")
        if not state[key].isfinite().all():
            raise ValueError(f"{key} has numbers that are not finite: the file is damaged")
    with torch.no_grad():
        model.load_state_dict(
            {k: v.float() if v.is_floating_point() else v for k, v in state.items()}, strict=False
        )
