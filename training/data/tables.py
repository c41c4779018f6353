"""Reader of tables with photos and sentences: .csv, .tsv and .txt."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from index.trec import DELIMITER_NAMES, describe_encoding
from training.data.corpus import Corpus, Example, join_rows, sentences_of, split_of
from training.data.karpathy import find_photos

SUFFIXES = (".csv", ".tsv", ".txt")
DELIMITERS = ",;\t|"
UNQUOTED = "\t|"  # tables of these hold quotes as they are, such as Flickr30k's results.csv
IMAGES = ("image", "file_name", "filename", "image_name")  # names of a photo's column
SENTENCES = ("sentence", "caption", "text", "comment")
# Columns about a sentence and not its photo.
NUMBERS = {"comment_number", "caption_number", "caption_id", "sentence_id"}
OPEN = 'is a quote open? write "" for a quote in quoted text'

Value = TypeVar("Value")


def read(file: Path, images: Path | None = None) -> Corpus:
    """Read a table with a photo and a sentence in each row.

    A row may have a split, by default train. Other columns are metadata. Photos are next to the
    file, or in a usual folder there. ValueError with the file, the line's number and the mistake.
    """
    rows = list(join_rows(read_rows(file, parse_row), file))
    folder = images or find_photos(file.parent, [example.id for _, example in rows])
    located = ((split, replace(row, image=folder / row.image)) for split, row in rows)
    return Corpus.of(file.stem, located)


def read_rows(file: Path, parse: Callable[[dict[str, str]], Value]) -> Iterator[Value]:
    """Parse the rows of a table with a heading.

    The columns of photos and splits are in lower case. ValueError names a row's first line.
    """
    with file.open(encoding="utf-8-sig", newline="") as lines:
        number = 1
        try:
            heading = lines.readline()
            lines.seek(0)
            delimiter = max(DELIMITERS, key=heading.count)
            quoted = delimiter not in UNQUOTED
            reader = csv.reader(
                lines,
                delimiter=delimiter,
                quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
                skipinitialspace=True,
                strict=True,
            )
            columns: list[str] = []
            for row in reader:
                cells = [cell.strip() if quoted else unquote(cell.strip()) for cell in row]
                if columns and cells:
                    refuse_other_lengths(cells, columns, delimiter)
                    cells += [""] * (len(columns) - len(cells))
                    yield parse(dict(zip(columns, cells, strict=True)))
                columns = columns or parse_heading(cells)
                number = reader.line_num + 1
            if not columns:
                raise ValueError("the table is empty")
        except UnicodeDecodeError as wrong:  # of a block of lines
            raise ValueError(describe_encoding(file)) from wrong
        except (ValueError, csv.Error) as wrong:
            advice = f"; {OPEN}" if isinstance(wrong, csv.Error) else ""
            raise ValueError(f"{file}, line {number}: {wrong}{advice}") from wrong


def unquote(cell: str) -> str:
    """Unquote a wholly quoted cell; other quotes are text.

    >>> [unquote(cell) for cell in ('"A ""big"" dog"', '"Stop" says a sign', '"A dog')]
    ['A "big" dog', '"Stop" says a sign', '"A dog']
    """
    inner = cell[1:-1].replace('""', "")
    quoted = len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inner
    return cell[1:-1].replace('""', '"') if quoted else cell


def parse_heading(cells: Sequence[str]) -> list[str]:
    """Parse the names of columns; ValueError without one of photos."""
    if not cells:
        return []
    reserved = {*IMAGES, "split"}
    columns = [cell.lower() if cell.lower() in reserved else cell for cell in cells]
    find_column(columns, IMAGES)
    if repeated := [name for name in columns if name and columns.count(name) > 1]:
        raise ValueError(f"the column {repeated[0]!r} comes twice")
    return columns


def find_column(columns: Iterable[str], names: Sequence[str]) -> str:
    """Find the column with the first of some names, in any case."""
    lowered = {column.lower(): column for column in columns}
    for name in names:
        if name in lowered:
            return lowered[name]
    raise ValueError(
        f"expected a heading with a column {' or '.join(names)}; got {[*lowered.values()]!r:.200}"
    )


def refuse_other_lengths(cells: Sequence[str], columns: Sequence[str], delimiter: str) -> None:
    """Raise ValueError for a row of too many cells, or too few.

    Too few are refused where cells are unquoted, as a line break would cut a row.
    """
    if len(cells) > len(columns):
        advice = f"leave {delimiter!r} out of texts"
        if delimiter not in UNQUOTED:
            advice = f'write "…" around texts with {DELIMITER_NAMES[delimiter]}'
        raise ValueError(f"more cells than columns: {advice}")
    if len(cells) < len(columns) and delimiter in UNQUOTED:
        raise ValueError(
            f"{len(cells)} cells for {len(columns)} columns: a {delimiter!r} is missing, or a cell "
            f"has a line break: {cells!r:.120}"
        )


def parse_row(cells: Mapping[str, str]) -> tuple[str, Example]:
    """Parse one row's split and example, its photo without a folder.

    ValueError names its mistake.
    """
    image, sentence = (find_column(cells, names) for names in (IMAGES, SENTENCES))
    for column in (image, sentence):
        refuse_bad_text(cells[column], column)
    others = {image, sentence, "split"}
    metadata = {
        key: cell
        for key, cell in cells.items()
        if cell and key not in others and key.lower() not in NUMBERS
    }
    sentences = sentences_of({"sentences": [cells[sentence]]}, "sentences")
    split = split_of({"split": cells.get("split") or "train"})
    return split, Example(cells[image], Path(cells[image]), sentences, metadata)


def refuse_bad_text(text: str, column: str) -> None:
    """Raise ValueError for an empty text, or one of several lines."""
    if not text:
        raise ValueError(f"the column {column!r} is empty")
    if "\n" in text or "\r" in text:
        raise ValueError(f"the column {column!r} has a line break, {text!r:.80}; {OPEN}")
