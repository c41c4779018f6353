"""Items in the lines of a .jsonl file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from app.imports.photo_files import FileReading
from app.imports.sources import ImportOutcome, ItemSource, UniqueIds, make_stamp, readable
from app.validation import read_values
from index.items import check_new_id

READING = FileReading()
LONGEST_LINE = 2**24  # bytes of a line: 16 MB of sentences and metadata
FIELDS = {"id", "image", "images", "sentences", "metadata", "read_metadata"}


def read_items(file: Path, reading: FileReading = READING) -> Iterator[ItemSource | ImportOutcome]:
    """Yield the item of each line, or its refusal."""
    ids = UniqueIds("line")
    with file.open("rb") as lines:
        for number in count(1):
            if not (line := lines.readline(LONGEST_LINE + 1)):
                return
            if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
                _skip_line(lines)
                reason = f"the line is longer than {LONGEST_LINE:,} bytes; shorten it"
                yield ImportOutcome(f"{readable(file)}:{number}", "refused", reason)
            elif line.strip():
                yield _read_line(file, number, line, reading, ids)


def _skip_line(lines: BinaryIO) -> None:
    """Read the rest of a line, a part at a time."""
    while (part := lines.readline(LONGEST_LINE)) and not part.endswith(b"\n"):
        pass


def _read_line(
    file: Path, number: int, line: bytes, reading: FileReading, ids: UniqueIds
) -> ItemSource | ImportOutcome:
    source: str | None = None
    try:
        row = _parse_line(line)
        name = _read_id(row, f"{readable(file.stem)}-{number}")
        source = f"{readable(file)}#{name}"
        photos = tuple(file.parent / path for path in _list_images(row))
        stamp = "-".join((sha256(line).hexdigest()[:16], *map(make_stamp, photos)))
        sentences = tuple(_read_texts(row, "sentences"))
        described = _read_choice(row)
        if described and reading.texts:
            stamp = f"{stamp}-{reading.texts_stamp}"
        ids.check(name, number)
    except (ValueError, OSError) as wrong:
        return ImportOutcome(f"{readable(file)}:{number}", "refused", str(wrong), source)
    metadata = row.get("metadata", {})
    return ItemSource(
        *(name, source, stamp, photos, sentences, metadata, len(line)),
        reading=replace(reading, of_folder=False) if described else None,
    )


def _parse_line(line: bytes) -> dict[str, Any]:
    row = read_values(line)
    keys = ", ".join(sorted(FIELDS))
    if not isinstance(row, dict):
        raise ValueError(f"a line is a JSON object with some of {keys}")
    unknown = next((key for key in row if key not in FIELDS), None)
    if unknown is not None:
        raise ValueError(
            f"{unknown!r:.100} is no key of an item, which has some of {keys}; with a mapping file "
            "(--map) the lines are rows of a table"
        )
    return row


def _read_id(row: dict[str, Any], otherwise: str) -> str:
    """Return a row's id, its first photo's path, or another text."""
    name = row["id"] if "id" in row else next(iter(_list_images(row)), otherwise)
    if not isinstance(name, str):
        raise ValueError("id: a text")
    check_new_id(name)
    return name


def _read_choice(row: dict[str, Any]) -> bool:
    chosen = row.get("read_metadata", False)
    if not isinstance(chosen, bool):
        raise ValueError("read_metadata: true or false")
    return chosen


def _list_images(row: dict[str, Any]) -> list[str]:
    image = row.get("image")
    if not isinstance(image, str | None):
        raise ValueError("image: the path of a photo, from this file's folder on")
    return [*([] if image is None else [image]), *_read_texts(row, "images")]


def _read_texts(row: dict[str, Any], name: str) -> list[str]:
    texts = row.get(name, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{name}: a list of texts")
    return texts
