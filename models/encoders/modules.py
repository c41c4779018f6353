"""Modules of sentence-transformers around a retriever: the choice of scored tokens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from models.encoders.layouts import read_json

LIST = "modules.json"
STATED = "config_sentence_transformers.json"
READ = ("Transformer", "MultiVectorMask", "Normalize")  # a retriever's vectors are of length one


@dataclass(frozen=True, slots=True)
class ScoredTokens:
    """The choice of scored tokens: all but the skipped.

    Of photos those to `keep` alone, if there are any.
    """

    keep: tuple[int, ...]
    skipped_in_photos: tuple[int, ...]
    skipped_in_texts: tuple[int, ...]

    @classmethod
    def of(cls, folder: Path, tokenizer: Any) -> ScoredTokens:
        """The choice of a folder; ValueError for an unread module."""
        mask = next((read_json(file) for file in mask_files(folder)), {})
        words = [tokenizer.convert_tokens_to_ids(word) for word in mask.get("skiplist_words") or []]
        skipped = tuple(word for word in words if word not in (None, tokenizer.unk_token_id))
        tasks = mask.get("skiplist_tasks") or ["document"]
        return cls(
            tuple(mask.get("keep_only_token_ids") or ()),
            skipped if "document" in tasks else (),
            skipped if "query" in tasks else (),
        )

    def of_photos(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Mark the scored tokens (B, T) of photos."""
        scored = mask.bool() & ~_any_of(ids, self.skipped_in_photos)
        return scored & _any_of(ids, self.keep) if self.keep else scored

    def of_texts(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Mark the scored tokens (B, T) of texts."""
        return mask.bool() & ~_any_of(ids, self.skipped_in_texts)


def list_modules(folder: Path) -> list[tuple[str, str]]:
    """The modules of a folder with their subfolders, perhaps none.

    ValueError for others than READ, and for prompts.
    """
    if not (folder / LIST).is_file():
        return []
    listed = json.loads((folder / LIST).read_text("utf-8"))
    modules = [(module["type"].rpartition(".")[2], module["path"]) for module in listed]
    if others := [kind for kind, _ in modules if kind not in READ]:
        raise ValueError(
            f"{folder} has the module {others[0]} of sentence-transformers: its vectors are not "
            f"those of the network alone. Tessera reads {', '.join(READ)}"
        )
    stated = read_json(folder / STATED) if (folder / STATED).is_file() else {}
    if prompt := next(filter(None, (stated.get("prompts") or {}).values()), None):
        raise ValueError(
            f"{folder} puts the prompt {prompt!r} before texts, which is not read here"
        )
    return modules


def module_files(folder: Path) -> list[str]:
    """The names of the files about scored tokens."""
    if not list_modules(folder):
        return []
    stated = [STATED] if (folder / STATED).is_file() else []
    return [LIST, *stated, *(str(file.relative_to(folder)) for file in mask_files(folder))]


def mask_files(folder: Path) -> list[Path]:
    """The settings of the mask of tokens, if there is one."""
    masks = [path for kind, path in list_modules(folder) if kind == "MultiVectorMask"]
    return [folder / path / "config.json" for path in masks]


def _any_of(ids: Tensor, chosen: Sequence[int]) -> Tensor:
    return torch.isin(ids, torch.tensor(chosen, dtype=ids.dtype))
