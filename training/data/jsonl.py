"""How a plain .jsonl is read: one {image, sentences, metadata?, split?, id?} a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from training.data.corpus import Corpus, Example, sentences_of, split_of, text_of

KNOWN = {"id", "image", "sentences", "metadata", "split"}


def read(file: Path, images: Path | None = None) -> Corpus:
    """Read a .jsonl; a line without a split is for training, without an id is named by its image.

    Raises ValueError with the file, the line's number and what was wrong with it.
    """
    return Corpus.of(file.stem, examples(file, images or file.parent))


def examples(file: Path, folder: Path) -> Iterator[tuple[str, Example]]:
    """Each line's split and example; empty lines are passed over."""
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield parse(json.loads(line), folder)
            except ValueError as wrong:  # JSON's own error is one of these
                raise ValueError(f"{file}, line {number}: {wrong}") from wrong


def parse(row: Any, folder: Path) -> tuple[str, Example]:
    """One line's split and example; ValueError says what is wrong with it."""
    if not isinstance(row, dict):
        raise ValueError(f"expected an object, got {row!r:.60}")
    unknown = row.keys() - KNOWN
    if unknown:
        raise ValueError(f"unknown keys {sorted(unknown)}; known are {sorted(KNOWN)}")
    image = text_of(row, "image")
    metadata = row.get("metadata", {})
    if not isinstance(metadata, dict):
        raise ValueError(f"'metadata' must be an object, got {metadata!r:.60}")
    name = text_of({"id": row.get("id", image)}, "id")
    example = Example(name, folder / image, sentences_of(row, "sentences"), metadata)
    return split_of(row, "train"), example
