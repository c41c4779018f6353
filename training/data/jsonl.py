"""Reader of .jsonl corpora: one photo a line.

A line is {image, sentences, metadata?, split?, id?}.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from index.trec import describe_encoding
from training.data.corpus import Corpus, Example, join_rows, sentences_of, split_of, text_of
from training.data.tables import IMAGES, SENTENCES

KNOWN = {"id", "image", "sentences", "metadata", "split"}

Split = TypeVar("Split", str, str | None)


def read(file: Path, images: Path | None = None) -> Corpus:
    """Read a .jsonl; lines of one photo are joined.

    The default split is train, the default id the image. A line may have `file_name` and `text`
    instead, as Hugging Face's metadata.jsonl, or a list `captions`.

    Raises ValueError with the file, the line's number and the mistake.
    """
    rows = read_rows(file, images or file.parent, parse_row)
    return Corpus.of(file.stem, join_rows(rows, file))


def read_rows(
    file: Path, folder: Path, parse_row: Callable[[dict[str, Any], Path], tuple[Split, Example]]
) -> Iterator[tuple[Split, Example]]:
    """Read each line's split and example by `parse_row`; empty lines are skipped."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield parse_row(object_of(line.decode("utf-8-sig")), folder)
            except UnicodeDecodeError as wrong:
                raise ValueError(describe_encoding(file)) from wrong
            except ValueError as wrong:  # those of JSON, too
                raise ValueError(f"{file}, line {number}: {wrong}") from wrong


def parse_row(given: dict[str, Any], folder: Path) -> tuple[str, Example]:
    """Parse one line's split and example; ValueError names its mistake."""
    row = rename(given)
    unknown = row.keys() - KNOWN
    if unknown:
        raise ValueError(f"unknown keys {sorted(unknown)}; known are {sorted(KNOWN)}")
    image = text_of(given, next((name for name in IMAGES if name in given), "image"))
    name = text_of(given, "id") if "id" in given else image
    example = Example(name, folder / image, sentences_of(row, "sentences"), metadata_of(row))
    return split_of(row, "train"), example


def rename(row: Mapping[str, Any]) -> dict[str, Any]:
    """Rename usual keys of photos and sentences to image and sentences.

    >>> rename({"file_name": "a.jpg", "text": "a dog"})
    {'image': 'a.jpg', 'sentences': ['a dog']}
    >>> rename({"image": "a.jpg", "captions": ["a dog", "it runs"]})
    {'image': 'a.jpg', 'sentences': ['a dog', 'it runs']}
    """
    renamed = dict(row)
    for name in IMAGES:
        if name in renamed and "image" not in renamed:
            renamed["image"] = renamed.pop(name)
    for name in (*SENTENCES, *(f"{name}s" for name in SENTENCES)):
        if name in renamed and "sentences" not in renamed:
            sentences = renamed.pop(name)
            renamed["sentences"] = sentences if isinstance(sentences, list) else [sentences]
    return renamed


def object_of(line: str) -> dict[str, Any]:
    """The JSON object of a line; ValueError for any other value."""
    row = json.loads(line)
    if not isinstance(row, dict):
        raise ValueError(f"expected an object, got {row!r:.60}")
    return row


def metadata_of(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row's `metadata`, by default empty; ValueError for another type."""
    metadata = row.get("metadata", {})
    if not isinstance(metadata, dict):
        raise ValueError(f"'metadata' must be an object, got {metadata!r:.60}")
    return metadata
