"""Catalogues: photos with fields such as kind or colour, read for search rather than training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from training.data import folders, jsonl
from training.data.corpus import Corpus, Example, split_of, text_of


def read(path: Path, images: Path | None = None) -> Corpus:
    """Read the photos and their fields from a .jsonl file, or from any corpus of `folders`.

    A line has an `image`; `id`, `split` and all other keys are optional. The other keys and those
    of a `metadata` object are the photo's fields. A line without a split belongs to val. Ids are
    unique within a split: nothing is learned from a catalogue, so a photo may be in several.
    Raises LookupError for a path without a corpus, ValueError, with the place, for a bad line.
    """
    file = path if path.is_file() else folders.corpus_file(path)
    if file.suffix != ".jsonl":
        return folders.read(file, images)
    name = file.resolve().parent.name
    rows = list(jsonl.examples(file, images or file.parent, parse))
    splits: dict[str, tuple[Example, ...]] = {}
    for split in dict(rows):
        part = Corpus.of(name, (row for row in rows if row[0] == split))
        splits |= part.splits
    return Corpus(name, splits)


def parse(row: dict[str, Any], folder: Path) -> tuple[str, Example]:
    """One line's split and photo; ValueError says what is wrong with it."""
    image = text_of(row, "image")
    name = text_of({"id": row.get("id", image)}, "id")
    fields = {**row, **jsonl.metadata_of(row)}
    return split_of(row, "val"), Example(name, folder / image, (), fields)
