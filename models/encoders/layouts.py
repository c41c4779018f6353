"""Layouts of folders of weights, by settings, weights, tokenizer and processor."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor

from models.encoders.library import transformers

TOKENIZER = "tokenizer.json"
SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
PREPROCESSORS = ("preprocessor_config.json", "processor_config.json")
PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt")


@dataclass(frozen=True, slots=True)
class FolderLayout:
    """The layout of transformers; another layout overrides the differences.

    In every layout, settings are given as in config.json, weights as in a class of transformers,
    and photos and texts are read by a processor and a tokenizer of transformers.
    """

    folder: Path
    config_file: ClassVar[str] = "config.json"
    weights_file: ClassVar[str] = "model.safetensors"
    publisher: ClassVar[str] = "transformers"

    @property
    def shards_file(self) -> str:
        """The index of several weight files."""
        return f"{self.weights_file}.index.json"

    def config(self) -> dict[str, Any]:
        """The settings, as config.json has them in the layout of transformers.

        Raises LookupError for a missing file, ValueError for settings that cannot be used.
        """
        return read_json(self.folder / self.config_file)

    def files(self) -> list[str]:
        """The names of a model's files; LookupError for a missing one."""
        names = [self.config_file, TOKENIZER, *self.weights(), *self.preprocessors()]
        for name in names:
            if not (self.folder / name).is_file():
                raise LookupError(self.lacking(name))
        return names + [name for name in SETTINGS if (self.folder / name).is_file()]

    def weights(self) -> list[str]:
        """The files of the weights: one, or several and their index.

        ValueError where there are only pickles: loading a pickle runs the program in it.
        """
        if (self.folder / self.weights_file).is_file():
            return [self.weights_file]
        if (self.folder / self.shards_file).is_file():
            shards = read_json(self.folder / self.shards_file).get("weight_map", {}).values()
            return [self.shards_file, *sorted(set(shards))]
        pickles = sorted(file.name for pattern in PICKLES for file in self.folder.glob(pattern))
        if pickles:
            raise ValueError(
                f"{self.folder} has its weights as {', '.join(pickles)}: loading a pickle runs "
                f"what is in it. Take the same model as {self.weights_file}"
            )
        raise LookupError(self.lacking(self.weights_file))

    def tensors(self) -> list[Path]:
        """The safetensors files of the weights."""
        names = (name for name in self.weights() if name.endswith(".safetensors"))
        return [self.folder / name for name in names]

    def preprocessors(self) -> list[str]:
        """The files for the preparation of photos; LookupError if there is none."""
        names = [name for name in PREPROCESSORS if (self.folder / name).is_file()]
        if not names:
            raise LookupError(
                f"{self.folder} lacks {' or '.join(PREPROCESSORS)}: how photos are prepared"
            )
        return names

    def lacking(self, name: str) -> str:
        """The message for a missing file."""
        return f"{self.folder} lacks {name}; the layout of {self.publisher} has it"

    def state(self) -> dict[str, Tensor] | None:
        """The weights by their names in transformers.

        None if it reads them itself.
        """
        return None

    def corner(self, at: float) -> int:
        """The first pixel of a centre crop, rounded as processors do."""
        return int(at)

    def image_processor(self) -> Any:
        """The image processor of transformers for photos."""
        return transformers().AutoImageProcessor.from_pretrained(
            self.folder, local_files_only=True, trust_remote_code=False
        )

    def tokenizer(self) -> Any:
        """The tokenizer of transformers.

        ImportError if it needs another package.
        """
        return transformers().AutoTokenizer.from_pretrained(
            self.folder, local_files_only=True, trust_remote_code=False
        )

    def processor(self) -> Any:
        """The processor of transformers for photos and texts together."""
        return transformers().AutoProcessor.from_pretrained(
            self.folder, local_files_only=True, trust_remote_code=False
        )


def read_json(file: Path) -> dict[str, Any]:
    """A file's JSON object; LookupError if it is missing, ValueError for anything else."""
    if not file.is_file():
        raise LookupError(f"{file.parent} lacks {file.name}; the layout of transformers has it")
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as broken:
        raise ValueError(f"{file} is not JSON: {broken}") from broken
    if not isinstance(value, dict):
        raise ValueError(f"{file} holds {type(value).__name__}; expected a JSON object")
    return value
