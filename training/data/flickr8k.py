"""Reader of captions.json: a list of {filename, split, captions}.

Its photos are in images/.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from training.data.corpus import Corpus, Example, sentences_of, split_of, text_of

KNOWN = {"filename", "split", "captions"}


def read(file: Path, images: Path | None = None) -> Corpus:
    """Read a captions.json; ValueError names a bad row and its mistake.

    The other keys of a row, such as `category`, are the photo's metadata.
    """
    try:
        rows = json.loads(file.read_text(encoding="utf-8-sig"))
    except ValueError as broken:  # those of UTF-8, too
        raise ValueError(f"{file} is not JSON: {broken}") from broken
    if not isinstance(rows, list):
        raise ValueError(f"{file} must hold a list of photos, not {type(rows).__name__}")
    folder = images or file.parent / "images"
    return Corpus.of(file.parent.name, parse_rows(file, rows, folder))


def parse_rows(file: Path, rows: list[object], folder: Path) -> Iterator[tuple[str, Example]]:
    """Each row's split and example."""
    for position, row in enumerate(rows):
        try:
            if not isinstance(row, dict):
                raise ValueError(f"expected an object, got {row!r:.60}")
            name = text_of(row, "filename")
            metadata = {key: value for key, value in row.items() if key not in KNOWN}
            sentences = sentences_of(row, "captions")
            yield split_of(row), Example(name, folder / name, sentences, metadata)
        except ValueError as wrong:
            raise ValueError(f"{file}, photo {position}: {wrong}") from wrong
