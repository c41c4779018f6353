"""Sources of pretrained encoders: folders of weights and their SHA-256."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from models.encoders.layouts import FolderLayout, read_json
from models.encoders.modules import LIST, module_files
from models.encoders.open_clip import OpenClipLayout

# model_type: module; "siglip2" is NaFlex in transformers, other SigLIP 2 are "siglip"
DUAL = {"clip": "clip", "siglip": "siglip", "siglip2": "siglip2_naflex", "tipsv2": "tipsv2"}
LATE = "late_interaction"
FAMILIES = DUAL | dict.fromkeys(("colmodernvbert", "colpali", "colqwen2"), LATE)
ADAPTER = "adapter_config.json"  # of the library peft
Files = tuple[tuple[str, str], ...]  # a file's name in its folder, and its SHA-256


@dataclass(frozen=True, slots=True)
class EncoderSource:
    """A folder of weights, and the hashes of its files at adoption.

    `revision` is the commit of a hub's repository, empty for a folder of one's own.
    """

    folder: str
    files: Files
    revision: str = ""

    @classmethod
    def of(cls, folder: Path, revision: str = "") -> EncoderSource:
        """The source in a folder now.

        Raises LookupError for a missing file, ValueError for pickles and unknown models.
        """
        names = files_of(folder)
        files = tuple((name, digest(folder / name)) for name in sorted(names))
        return cls(str(folder.resolve()), files, revision)

    def check(self) -> Path:
        """The folder; LookupError for a missing file, ValueError for a changed one."""
        folder = Path(self.folder)
        hint = "`tessera adopt FOLDER --out CHECKPOINT` tells a checkpoint where it is now"
        if not folder.is_dir():
            raise LookupError(f"no folder {folder}: its weights were adopted from there; {hint}")
        for name, sha256 in self.files:
            if not (folder / name).is_file():
                raise LookupError(f"{folder / name} is gone; it was there when it was adopted")
            if digest(folder / name) != sha256:
                raise ValueError(
                    f"{folder / name} has changed since it was adopted (SHA-256 "
                    f"{digest(folder / name)[:12]}…, not {sha256[:12]}…): put the old file back, "
                    "or adopt the folder as another checkpoint and re-embed"
                )
        if added := sorted(set(files_of(folder)) - {name for name, _ in self.files}):
            raise ValueError(
                f"{folder} has {', '.join(added)} now, which were not there when it was adopted "
                "and would be read: remove them, or adopt the folder as another checkpoint"
            )
        return folder

    @property
    def key(self) -> list[list[str]]:
        """The files' names and hashes: they change whenever the vectors could."""
        return [list(file) for file in self.files]


def files_of(folder: Path) -> list[str]:
    """The names of a model's files; errors are those of EncoderSource.of."""
    names = layout(folder).files()
    return names + module_files(folder) if family(folder) == LATE else names


def layout(folder: Path) -> FolderLayout:
    """The layout of a folder.

    transformers' if its weights are there, else open_clip's.

    Raises LookupError where there is no folder, ValueError for an adapter.
    """
    open_clip, standard = OpenClipLayout(folder), FolderLayout(folder)
    if not folder.is_dir():
        names = (
            f"{choice.config_file} and {choice.weights_file}" for choice in (standard, open_clip)
        )
        raise LookupError(f"no folder {folder}; name one with {', or '.join(names)}")
    refuse_adapter(folder)
    if not (folder / open_clip.config_file).is_file() or is_of_transformers(standard):
        return standard
    return open_clip


def refuse_adapter(folder: Path) -> None:
    """Refuse an adapter without its network; ValueError names a way."""
    if not (folder / ADAPTER).is_file():
        return
    network = read_json(folder / ADAPTER).get("base_model_name_or_path") or "another network"
    raise ValueError(
        f"{folder} has {ADAPTER}: it is an adapter (LoRA) of {network}. Take the same model with "
        "merged weights in the layout of transformers (repositories of such are often named …-hf "
        "or …-merged), or merge it with peft: `model.merge_and_unload().save_pretrained(FOLDER)`, "
        "and put the tokenizer and the processor next to it"
    )


def is_of_transformers(standard: FolderLayout) -> bool:
    """Return whether there are settings and safetensors of a model of transformers."""
    has_weights = any(
        (standard.folder / name).is_file() for name in (standard.weights_file, standard.shards_file)
    )
    settings = standard.folder / standard.config_file
    return has_weights and settings.is_file() and "model_type" in read_json(settings)


def family(folder: Path) -> str:
    """The module of models.encoders for a folder; ValueError names the known ones."""
    config = layout(folder).config()
    kind = config.get("model_type")
    if kind in FAMILIES:
        return FAMILIES[kind]
    hint = f"Tessera explains {', '.join(sorted(FAMILIES))}"
    if "auto_map" in config:
        raise ValueError(
            f"{folder} is a {kind!r} that wants to run code of its own; Tessera runs none. {hint}"
        )
    raise ValueError(f"{folder} is a {kind!r}; {describe_retriever(folder, config)}{hint}")


def describe_retriever(folder: Path, config: dict[str, Any]) -> str:
    """Describe the reason against a retriever of another layout; "" for others."""
    named = next((name for name in config.get("architectures") or () if "Col" in name), None)
    if "vision_config" in config and named:
        return (
            f"it is a {named} in the layout of colpali-engine, which transformers does not "
            "compute: take a retriever whose config.json has one of the following types. "
        )
    if named or (folder / LIST).is_file():
        return (
            "its vectors are of texts alone, and photos need some too; sentences are compared by "
            "the matcher that ships and by any model that reads photos. "
        )
    return ""


def number(folder: Path, name: str) -> float:
    """A weight of one number, such as a logit scale; LookupError if missing.

    ValueError for a file that is no safetensors.
    """
    for file in layout(folder).tensors():
        try:
            with safe_open(file, framework="pt") as tensors:
                if name in tensors.keys():  # noqa: SIM118 - no dict
                    return float(tensors.get_tensor(name).float().reshape(()))
        except SafetensorError as broken:
            raise ValueError(f"{file} is not a safetensors file: {broken}") from broken
    raise LookupError(f"the weights in {folder} have no {name}")


def digest(file: Path) -> str:
    """The SHA-256 of a file, cached until the file changes."""
    about = file.stat()
    return _digest(file.resolve(), about.st_size, about.st_mtime_ns)


@cache
def _digest(file: Path, size: int, modified: int) -> str:  # noqa: ARG001 - what it is cached by
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
