"""Tables of products: rows of CSV, TSV, Parquet and JSON lines as sources of an import."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from hashlib import blake2b, sha256
from itertools import chain, islice
from math import isnan
from pathlib import Path
from typing import IO, Any

from app import unique_keys
from app.folder import FIELDS, Outcome, Source, stamp_of
from app.mapping import Columns, columns_of, number_of
from index.items import check_new_id, metadata_text

ENDINGS = {".csv", ".tsv", ".parquet", ".jsonl"}
SAMPLED = 1_000  # rows by which columns of numbers are known
BLOCK = 256  # rows of Parquet that are read at a time
DELIMITERS = ",;\t|"
HALVES = re.compile("[\udc80-\udcff]")  # what stands for bytes that are no UTF-8
Cells = Mapping[str, Any]
Row = tuple[int, Cells | str]  # its number, and its cells or what is wrong with it


@dataclass(slots=True)
class Table:
    """A table whose columns are known; `sources` streams its rows, once."""

    file: Path
    header: list[str]
    columns: Columns
    rows: Iterator[Row]
    others: bool = True  # whether keys that only later rows have are metadata too
    numbers: dict[str, int] = field(default_factory=dict)  # of rows that are on their way, by place
    ids: dict[bytes, int] = field(default_factory=dict)  # numbers of rows by their ids' digests

    def sources(self) -> Iterator[Source | Outcome]:
        """What each row gives: an item, or why it is refused."""
        for number, cells in self.rows:
            try:
                if isinstance(cells, str):
                    raise ValueError(cells)
                source = self._source(number, cells)
            except (ValueError, OSError) as wrong:
                place = f"{self.file}:{number}"
                self.numbers[place] = number
                yield Outcome(place, "refused", str(wrong))
            else:
                self.numbers[source.place] = number
                yield source

    def number_of(self, outcome: Outcome) -> int:
        """The number of the row that an outcome is about, which is asked for once."""
        return self.numbers.pop(outcome.place)

    def _source(self, number: int, cells: Cells) -> Source:
        columns = self.columns
        name = _text(cells.get(columns.id))
        if not name:
            raise ValueError(f"the column {columns.id!r} is empty, which has the id")
        check_new_id(name)
        first = self.ids.setdefault(blake2b(name.encode(), digest_size=8).digest(), number)
        if first != number:
            raise ValueError(f"the id {name!r:.220} is that of row {first} too")
        named = chain.from_iterable(self._photos(cells.get(column)) for column in columns.photos)
        photos = tuple(dict.fromkeys(self._photo(photo_name) for photo_name in named))
        late = [key for key in cells if key not in self.header] if self.others else []
        metadata = {
            key: value
            for key, column in (*columns.metadata.items(), *zip(late, late, strict=True))
            if (value := self._value(column, cells.get(column))) not in (None, "", [])
        }
        texts = chain.from_iterable(_texts(cells.get(column)) for column in columns.sentences)
        sentences = tuple(dict.fromkeys(texts))
        if not sentences and isinstance(metadata.get("title"), str):
            sentences = (
                metadata["title"],
            )  # so that it is found by what it means, without a photo
        content = json.dumps(
            [name, metadata_text(metadata), sentences, [str(photo) for photo in photos]]
        )
        looks = (stamp_of(photo) for photo in photos if isinstance(photo, Path))
        stamp = "-".join((sha256(content.encode()).hexdigest()[:32], *looks))
        return Source(name, f"{self.file}#{name}", stamp, photos, sentences, metadata)

    def _photos(self, cell: Any) -> list[str]:
        if isinstance(cell, str) and not cell.lstrip().startswith("["):
            return [part.strip() for part in cell.split(self.columns.separator) if part.strip()]
        return _texts(cell)

    def _photo(self, named: str) -> Path | str:
        return named if named.startswith(("http://", "https://")) else self.file.parent / named

    def _value(self, column: str, cell: Any) -> Any:
        if isinstance(cell, str):
            text = cell.strip()
            return number_of(text) if column in self.columns.numbers else text
        return None if isinstance(cell, float) and isnan(cell) else cell


def is_table(file: Path, *, mapped: bool) -> bool:
    """Whether a file is a table: lines of JSON are if they are mapped, or no items as they are."""
    if file.suffix.lower() != ".jsonl" or mapped:
        return file.suffix.lower() in ENDINGS and file.is_file()
    with file.open("rb") as lines:
        line = next((line for line in lines if line.strip()), b"")
    try:
        row = json.loads(line)
    except ValueError:
        return False
    return isinstance(row, dict) and not row.keys() <= FIELDS


@contextmanager
def opened(file: Path, mapping: Mapping[str, Any]) -> Iterator[Table]:
    """A table with its columns: as a mapping says, guessed where it says nothing.

    ValueError for a file that cannot be read as a table, or does not have the columns.
    """
    file = file.resolve()
    with file.open("rb") as binary:
        header, rows = READERS[file.suffix.lower()](file, binary)
        first = list(islice(rows, SAMPLED))
        if not first:
            raise ValueError(f"{file} has no rows")
        cells = [row for _, row in first if not isinstance(row, str)]
        header = header or list(dict.fromkeys(chain.from_iterable(cells)))
        columns, every = columns_of(header, cells, mapping), chain(first, rows)
        yield Table(file, header, columns, every, others="metadata" not in mapping)


Opened = tuple[list[str], Iterator[Row]]  # the header, empty where rows name their cells; rows


def _delimited(file: Path, binary: IO[bytes]) -> Opened:
    # Bytes that are no UTF-8 become halves of surrogate pairs, which refuse their row alone.
    text = (line.decode("utf-8", "surrogateescape") for line in binary)
    head = next(text, "").removeprefix("\ufeff")
    tabs = file.suffix.lower() == ".tsv"
    delimiter = "\t" if tabs else max(DELIMITERS, key=head.count)
    reader = csv.reader(chain([head], text), delimiter=delimiter, strict=True)
    header = [column.strip() for column in next(reader, [])]
    if len(set(header)) < len(header):
        raise ValueError(f"{file}: two columns have the same name; there are {', '.join(header)}")
    return header, _cells(header, reader)


def _cells(header: list[str], reader: Iterator[list[str]]) -> Iterator[Row]:
    number = 1  # as spreadsheets count: the header is row 1
    while True:
        number += 1
        try:
            cells = next(reader, None)
        except csv.Error as broken:
            yield number, f"not a row of CSV: {broken}"
            continue
        if cells is None:
            return
        if not cells:
            continue
        if other := HALVES.search("".join(cells)):
            byte = ord(other[0]) & 0xFF
            yield number, f"byte 0x{byte:02x} in it is not UTF-8; save the table as UTF-8"
        elif len(cells) != len(header):
            yield number, f"it has {len(cells)} cells, and the header has {len(header)}"
        else:
            yield number, dict(zip(header, cells, strict=True))


def _lines(_: Path, binary: IO[bytes]) -> Opened:
    def rows() -> Iterator[Row]:
        for number, line in enumerate(binary, start=1):
            if line.strip():
                try:
                    row = unique_keys.read(line)
                    yield number, row if isinstance(row, dict) else "not a JSON object"
                except unique_keys.KeyTwice as twice:
                    yield number, str(twice)
                except (ValueError, RecursionError) as broken:
                    yield number, f"not JSON: {broken}"

    return [], rows()


def _parquet(file: Path, binary: IO[bytes]) -> Opened:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as missing:
        raise ValueError(
            f"{file}: Parquet needs pyarrow: pip install tessera[parquet]"
        ) from missing
    try:
        table: Any = ParquetFile(binary)
    except ArrowException as broken:
        raise ValueError(f"{file} cannot be read as Parquet: {broken}") from broken

    def rows() -> Iterator[Row]:
        number = 0
        batches = table.iter_batches(batch_size=BLOCK)
        every = chain.from_iterable(batch.to_pylist() for batch in batches)
        try:
            for number, row in enumerate(every, start=1):
                yield number, _plain(row)
        except (ArrowException, OSError) as broken:
            raise ValueError(f"{file} breaks off after row {number}: {broken}") from broken

    return list(table.schema_arrow.names), rows()


READERS: dict[str, Callable[[Path, IO[bytes]], Opened]] = {
    ".csv": _delimited,
    ".tsv": _delimited,
    ".jsonl": _lines,
    ".parquet": _parquet,
}


def _plain(value: Any) -> Any:
    """A value of Parquet as JSON has it, with all that is nested in it, where JSON has such."""
    match value:
        case Decimal():
            return float(value)
        case timedelta():
            return value.total_seconds()
        case date() | datetime() | time():
            return value.isoformat()
        case dict():
            return {name: _plain(part) for name, part in value.items()}
        case [tuple(), *_]:  # a map
            return {str(key): _plain(part) for key, part in value}
        case list():
            return [_plain(part) for part in value]
    return value


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()


def _texts(cell: Any) -> list[str]:
    """The texts of a cell: of a list, of a JSON list, or the one that it is."""
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            return [cell.strip()]
    values = cell if isinstance(cell, list) else [cell]
    return [text for value in values if (text := _text(value))]
