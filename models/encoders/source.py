"""Sources of pretrained encoders: folders of weights, known by the SHA-256 of their files."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

CONFIG, TOKENIZER, WEIGHTS = "config.json", "tokenizer.json", "model.safetensors"
SHARDS = "model.safetensors.index.json"  # which of several files has which tensor
PREPROCESSORS = ("preprocessor_config.json", "processor_config.json")
SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt")

FAMILIES = {"clip": "clip", "siglip": "siglip", "tipsv2": "tipsv2"}  # model_type: module
Files = tuple[tuple[str, str], ...]  # a file's name in its folder, and its SHA-256


@dataclass(frozen=True, slots=True)
class Source:
    """A folder in the layout of transformers, and what its files hashed to when it was adopted.

    `revision` is the commit of a hub's repository, empty for a folder of one's own.
    """

    folder: str
    files: Files
    revision: str = ""

    @classmethod
    def of(cls, folder: Path, revision: str = "") -> Source:
        """The source that a folder holds now.

        Raises LookupError for a missing file, ValueError for pickles and unknown models.
        """
        names = needed(folder)
        family(folder)
        files = tuple((name, digest(folder / name)) for name in sorted(names))
        return cls(str(folder.resolve()), files, revision)

    def checked(self) -> Path:
        """The folder; LookupError if a file is gone, ValueError if one is not what it was."""
        folder = Path(self.folder)
        again = "`tessera adopt FOLDER --out CHECKPOINT` tells a checkpoint where it is now"
        if not folder.is_dir():
            raise LookupError(f"no folder {folder}: its weights were adopted from there; {again}")
        for name, sha256 in self.files:
            if not (folder / name).is_file():
                raise LookupError(f"{folder / name} is gone; it was there when it was adopted")
            if digest(folder / name) != sha256:
                raise ValueError(
                    f"{folder / name} has changed since it was adopted (SHA-256 "
                    f"{digest(folder / name)[:12]}…, not {sha256[:12]}…): put the old file back, "
                    "or adopt the folder as another checkpoint and re-embed"
                )
        return folder

    @property
    def key(self) -> list[list[str]]:
        """What changes whenever vectors would: the files, wherever they are."""
        return [list(file) for file in self.files]


def needed(folder: Path) -> list[str]:
    """The names of the files that make a model; LookupError for one that is missing."""
    if not folder.is_dir():
        raise LookupError(f"no folder {folder}; name one with {CONFIG} and {WEIGHTS}")
    names = [CONFIG, TOKENIZER, *weights(folder)]
    names += [name for name in SETTINGS if (folder / name).is_file()]
    preprocessors = [name for name in PREPROCESSORS if (folder / name).is_file()]
    if not preprocessors:
        raise LookupError(f"{folder} lacks {' or '.join(PREPROCESSORS)}: how photos are prepared")
    for name in names:
        if not (folder / name).is_file():
            raise LookupError(f"{folder} lacks {name}; the layout of transformers has it")
    return names + preprocessors


def weights(folder: Path) -> list[str]:
    """The files of the weights: one, or several and their index.

    ValueError where there are only pickles: loading one runs whatever program is in it.
    """
    if (folder / WEIGHTS).is_file():
        return [WEIGHTS]
    if (folder / SHARDS).is_file():
        shards = read_json(folder / SHARDS).get("weight_map", {}).values()
        return [SHARDS, *sorted(set(shards))]
    pickles = sorted(file.name for pattern in PICKLES for file in folder.glob(pattern))
    if pickles:
        raise ValueError(
            f"{folder} has its weights as {', '.join(pickles)}: loading a pickle runs what is in "
            f"it. Take the same model as {WEIGHTS}"
        )
    raise LookupError(f"{folder} lacks {WEIGHTS}; the layout of transformers has it")


def family(folder: Path) -> str:
    """The module of models.encoders for a folder; ValueError names the models there are."""
    config = read_json(folder / CONFIG)
    kind = config.get("model_type")
    if kind in FAMILIES:
        return FAMILIES[kind]
    known = f"Tessera explains {', '.join(sorted(FAMILIES))}"
    if kind == "siglip2":
        raise ValueError(
            f"{folder} is SigLIP 2 with photos of any shape (NaFlex); take the same model with "
            "photos of one size, such as siglip2-base-patch16-224"
        )
    if "auto_map" in config:
        raise ValueError(
            f"{folder} is a {kind!r} that wants to run code of its own; Tessera runs none. {known}"
        )
    raise ValueError(f"{folder} is a {kind!r}; {known}")


def number(folder: Path, name: str) -> float:
    """A weight of one number, such as a logit scale; LookupError if there is none of the name.

    ValueError for a file that is no safetensors.
    """
    for file in (file for file in weights(folder) if file.endswith(".safetensors")):
        try:
            with safe_open(folder / file, framework="pt") as tensors:
                if name in tensors.keys():  # noqa: SIM118 - no dict
                    return float(tensors.get_tensor(name).float().reshape(()))
        except SafetensorError as broken:
            raise ValueError(f"{folder / file} is not a safetensors file: {broken}") from broken
    raise LookupError(f"the weights in {folder} have no {name}")


def read_json(file: Path) -> dict[str, Any]:
    """A JSON object of a file; LookupError for a missing file, ValueError for anything else."""
    if not file.is_file():
        raise LookupError(f"{file.parent} lacks {file.name}; the layout of transformers has it")
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as broken:
        raise ValueError(f"{file} is not JSON: {broken}") from broken
    if not isinstance(value, dict):
        raise ValueError(f"{file} holds {type(value).__name__}; expected a JSON object")
    return value


def digest(file: Path) -> str:
    """The SHA-256 of a file, computed once a process for as long as the file stays the same."""
    about = file.stat()
    return _digest(file.resolve(), about.st_size, about.st_mtime_ns)


@cache
def _digest(file: Path, size: int, modified: int) -> str:  # noqa: ARG001 - what it is cached by
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
