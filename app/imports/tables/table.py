"""Tables of products: their rows as sources of an import."""

from __future__ import annotations

import json
import os
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from math import isnan
from pathlib import Path
from typing import IO, Any

from app.engine.refusals import reason_of
from app.imports.folder import PHOTO_ENDINGS
from app.imports.item_lines import FIELDS
from app.imports.sources import (
    ImportOutcome,
    ItemSource,
    UniqueIds,
    is_address,
    make_stamp,
    readable,
    stamp_row,
)
from app.imports.tables.columns import (
    SEPARATOR,
    Columns,
    map_columns,
    names_photos,
    names_sentences,
)
from app.imports.tables.formats import DELIMITED, READERS, Cells, End, OpenTable, Row
from app.imports.tables.markup import has_markup, plain_text
from app.imports.tables.number_cells import NumberColumn
from app.imports.tables.parquet import LONGEST_ROW
from app.imports.tables.shopify import ProductExport
from index.items import check_new_id

SAMPLED = 1_000  # rows by which columns of numbers are known
SAMPLED_BYTES = 2**25  # of those rows


@dataclass(slots=True)
class Table:
    """A table with known columns; `sources` streams its rows once."""

    file: Path
    header: list[str]
    columns: Columns
    rows: Iterator[Row]
    others: bool = True  # whether keys that only later rows have are read, too
    guessed: bool = True  # whether these are photos and sentences by their names
    notes: tuple[str, ...] = ()  # on columns that are not read, or not as numbers
    end: str = ""  # why the rows behind the last one are not read
    numbers: dict[str, int] = field(default_factory=dict)  # of rows that are on their way, by place
    ids: UniqueIds = field(default_factory=lambda: UniqueIds("row"))
    cells: dict[str, NumberColumn] = field(default_factory=dict)  # readers of columns of numbers

    def __post_init__(self) -> None:
        for column in self.columns.numbers:
            self.cells[column] = NumberColumn("," if column in self.columns.commas else ".")

    def sources(self) -> Iterator[ItemSource | ImportOutcome]:
        """Yield an item or a refusal for each row."""
        for number, cells in self.rows:
            source = self._read_row(number, cells)
            self.numbers[source.place] = number
            yield source

    def take_number(self, outcome: ImportOutcome) -> int:
        """Return the row number of an outcome, once."""
        return self.numbers.pop(outcome.place)

    def describe_values(self) -> list[str]:
        """Describe the columns of numbers: other cells, lost currencies."""
        described = (column.describe(name) for name, column in self.cells.items())
        return list(chain.from_iterable(described))

    def _read_row(self, number: int, cells: Cells | str) -> ItemSource | ImportOutcome:
        """Return the item of a row, or its refusal."""
        source: str | None = None
        try:
            if isinstance(cells, End):
                self.end = cells
            if isinstance(cells, str):
                raise ValueError(cells)
            name = self._read_id(cells)
            source = f"{readable(self.file)}#{name}"
            self.ids.check(name, number)
            return self._make_source(name, source, cells)
        except Exception as wrong:  # noqa: BLE001 - one row must not end the import of others
            place = f"{readable(self.file)}:{number}"
            return ImportOutcome(place, "refused", reason_of(wrong), source)

    def _read_id(self, cells: Cells) -> str:
        cell = cells.get(self.columns.id)
        # Tables with a missing number hold the others as floats: 1001.0.
        if isinstance(cell, float) and cell.is_integer():
            cell = int(cell)
        name = _strip(cell)
        if not name:
            raise ValueError(f"the column {self.columns.id!r} is empty, which has the id")
        check_new_id(name)
        return name

    def _make_source(self, name: str, place: str, cells: Cells) -> ItemSource:
        columns = self.columns
        late = [key for key in cells if key not in self.header] if self.others else []
        late_photos = [key for key in late if self.guessed and names_photos(key)]
        late_texts = [key for key in late if self.guessed and names_sentences(key)]
        late = [key for key in late if key not in {*late_photos, *late_texts}]
        named = chain.from_iterable(
            self._list_photos(cells.get(column)) for column in (*columns.photos, *late_photos)
        )
        photos = tuple(dict.fromkeys(named))
        metadata = {
            key: value
            for key, column in (*columns.metadata.items(), *zip(late, late, strict=True))
            if (value := self._read_value(column, cells.get(column))) not in (None, "", [])
        }
        texts = chain.from_iterable(
            _list_texts(self._read_value(column, cells.get(column)))
            for column in (*columns.sentences, *late_texts)
        )
        sentences = tuple(dict.fromkeys(texts))
        if not sentences and isinstance(metadata.get("title"), str):
            sentences = (
                metadata["title"],
            )  # so that it is found by what it means, without a photo
        looks = "-".join(make_stamp(photo) for photo in photos if isinstance(photo, Path))
        stamp = stamp_row(name, metadata, sentences, photos, looks)
        size = sum(map(len, map(str, cells.values())))
        return ItemSource(name, place, stamp, photos, sentences, metadata, size)

    def _list_photos(self, cell: Any) -> Iterator[Path | str | bytes]:
        """Yield a cell's photos: files, addresses, or bytes."""
        if isinstance(cell, str) and not cell.lstrip().startswith("["):
            names = (part.strip() for part in self._split_photos(cell))
            yield from (self._locate_photo(name) for name in names if name)
        elif isinstance(cell, Mapping):
            packed, name = cell.get("bytes"), cell.get("path")
            yield b64decode(packed) if packed else self._locate_photo(_strip(name))
        elif isinstance(cell, list) and any(isinstance(part, Mapping) for part in cell):
            yield from chain.from_iterable(map(self._list_photos, cell))
        else:
            yield from map(self._locate_photo, _list_texts(cell))

    def _split_photos(self, cell: str) -> list[str]:
        """Split a cell of photos, perhaps at commas between names."""
        parts = cell.split(self.columns.separator)
        if len(parts) > 1 or self.columns.separator != SEPARATOR:
            return parts
        names = [name for part in cell.split(",") if (name := part.strip())]
        if len(names) < 2:
            return parts
        if any(map(is_address, names)):
            return names if all(map(is_address, names)) else parts
        if not all(Path(name).suffix.lower() in PHOTO_ENDINGS for name in names):
            return parts
        # One of Path raises where all names together are too long for one.
        whole = os.path.exists(self.file.parent / cell.strip())  # noqa: PTH110
        return parts if whole else names

    def _locate_photo(self, named: str) -> Path | str:
        return named if is_address(named) else self.file.parent / named

    def _read_value(self, column: str, cell: Any) -> Any:
        if isinstance(cell, str):
            text = cell.strip()
            if column in self.cells:
                return self.cells[column].read(text) if text else text
            markup = column in self.columns.html and has_markup(text)
            return plain_text(text) if markup else text
        return None if isinstance(cell, float) and isnan(cell) else cell


def is_table(file: Path, *, mapped: bool) -> bool:
    """Return whether a file is a table.

    Lines of JSON are a table if a mapping is given, or if the first ones are not items: these have
    no other keys, or an object of metadata and few.
    """
    if file.suffix.lower() != ".jsonl" or mapped:
        return file.suffix.lower() in READERS and file.is_file()
    if not file.is_file():
        return False
    try:
        with file.open("rb") as lines:
            rows = [row for row in map(_parse, _read_first(lines)) if isinstance(row, dict)]
    except OSError:
        return False
    return not any(map(_has_metadata, rows)) and not all(row.keys() <= FIELDS for row in rows)


def _has_metadata(row: Mapping[str, Any]) -> bool:
    """Return whether a row is an item, perhaps with other keys."""
    few = len(row.keys() - FIELDS) < len(row.keys() & FIELDS)
    return isinstance(row.get("metadata"), dict) and few


def _read_first(lines: IO[bytes]) -> Iterator[bytes]:
    """Yield the first lines, within a number of bytes."""
    size = 0
    for _ in range(SAMPLED):
        size += len(line := lines.readline(LONGEST_ROW))
        if not line or size > SAMPLED_BYTES:
            return
        yield line


def _parse(line: bytes) -> Any:
    """Parse a line of JSON; None for another one."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


@contextmanager
def open_table(file: Path, mapping: Mapping[str, Any]) -> Iterator[Table]:
    """Open a table; columns without a mapping are guessed.

    ValueError for a file that cannot be read as a table, or does not have the columns.
    """
    file = file.resolve()
    with ExitStack() as opened, file.open("rb") as binary:
        table = READERS[file.suffix.lower()](file, binary, opened)
        if file.suffix.lower() in DELIMITED and (
            export := ProductExport.recognize(table.header, mapping.get("id"))
        ):
            rows = export.fold(table.rows, name_options=mapping.keys() <= {"id", "separator"})
            table = replace(table, rows=rows, notes=(*table.notes, export.describe()))
        first = list(_sample(table))
        if not first:
            raise ValueError(f"{readable(file)} has no rows")
        cells = [row for _, row in first if not isinstance(row, str)]
        header = table.header or list(dict.fromkeys(chain.from_iterable(cells)))
        columns, guessed = map_columns(header, cells, mapping, table.decimal)
        every, others = chain(first, table.rows), "metadata" not in mapping
        by_name = mapping.keys().isdisjoint(("photos", "sentences"))
        notes = (*table.notes, *guessed)
        yield Table(file, header, columns, every, others=others, guessed=by_name, notes=notes)


def _sample(table: OpenTable) -> Iterator[Row]:
    """The first rows, as far as they are not too many bytes."""
    for count, row in enumerate(table.rows, start=1):
        yield row
        if count == SAMPLED or table.lines.size > SAMPLED_BYTES:
            return


def _strip(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()


def _list_texts(cell: Any) -> list[str]:
    """List the texts of a cell.

    The cell is a list, a JSON list, or one text.
    """
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            return [cell.strip()]
    values = cell if isinstance(cell, list) else [cell]
    return [text for value in values if (text := _strip(value))]
