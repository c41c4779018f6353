"""Reader of tables with photos and sentences: .csv, .tsv and .txt."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from training.data.corpus import Corpus, Example, join_rows, sentences_of, split_of, text_of

SUFFIXES = (".csv", ".tsv", ".txt")
DELIMITERS = ",;\t|"
IMAGES = ("image", "file_name", "filename", "image_name")  # names of a photo's column
SENTENCES = ("sentence", "caption", "text", "comment")

Value = TypeVar("Value")


def read(file: Path, images: Path | None = None) -> Corpus:
    """Read a table with a photo and a sentence in each row.

    A row may have a split, by default train. Other columns are metadata. ValueError with the file,
    the line's number and the mistake.
    """
    folder = images or file.parent
    rows = read_rows(file, lambda cells: parse_row(cells, folder))
    return Corpus.of(file.stem, join_rows(rows))


def read_rows(file: Path, parse: Callable[[dict[str, str]], Value]) -> Iterator[Value]:
    """Parse the rows of a table with a heading, without empty cells."""
    with file.open(encoding="utf-8-sig", newline="") as lines:
        number = 1
        try:
            heading = lines.readline()
            lines.seek(0)
            delimiter = max(DELIMITERS, key=heading.count)
            for row in csv.DictReader(lines, delimiter=delimiter, skipinitialspace=True):
                number += 1
                if None in row:
                    raise ValueError('more cells than columns: write "…" around texts with commas')
                yield parse({key.strip(): cell.strip() for key, cell in row.items() if cell})
        except (ValueError, csv.Error) as wrong:  # those of UTF-8, too
            raise ValueError(f"{file}, line {number}: {wrong}") from wrong


def parse_row(cells: dict[str, str], folder: Path) -> tuple[str, Example]:
    """Parse one row's split and example; ValueError names its mistake."""
    row = rename(cells)
    image = text_of(row, "image")
    metadata = {key: row[key] for key in row.keys() - {"image", "sentences", "split"}}
    example = Example(image, folder / image, sentences_of(row, "sentences"), metadata)
    return split_of(row, "train"), example


def rename(row: Mapping[str, Any]) -> dict[str, Any]:
    """Rename usual keys of photos and sentences to image and sentences.

    >>> rename({"file_name": "a.jpg", "text": "a dog"})
    {'image': 'a.jpg', 'sentences': ['a dog']}
    """
    renamed = dict(row)
    for name in IMAGES:
        if name in renamed and "image" not in renamed:
            renamed["image"] = renamed.pop(name)
    for name in SENTENCES:
        if name in renamed and "sentences" not in renamed:
            renamed["sentences"] = [renamed.pop(name)]
    return renamed
