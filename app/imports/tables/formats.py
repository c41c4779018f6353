"""Formats of tables, read in bounded parts: CSV, TSV, Parquet, JSON lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

from app.imports.sources import readable
from app.imports.tables.parquet import LONGEST_ROW, Parquet
from app.validation import KeyTwice, read_values

MOST_COLUMNS = 5_000
DELIMITERS = ",;\t|"
EXCEL = re.compile(rf'"?sep=([{DELIMITERS}])"?\s*', re.IGNORECASE)  # its first line, if any
UTF_16 = ("\udcff\udcfe", "\udcfe\udcff")  # its first bytes, read as UTF-8
HALVES = re.compile("[\udc80-\udcff]")  # what stands for bytes that are no UTF-8
Cells = Mapping[str, Any]
Row = tuple[int, Cells | str]  # its number, and its cells or what is wrong with it


class End(str):
    """The problem of a row with nothing readable after it."""

    __slots__ = ()


class TableLines:
    """The lines of a file, in bounded memory."""

    def __init__(self, binary: IO[bytes]) -> None:
        self._binary = binary
        self.number = 0  # of the last line
        self.size = 0  # bytes of all lines up to it
        self.odd = False  # whether the last line has an odd number of quotes

    def read(self, longest: int) -> bytes | None:
        """Return the next line, empty at the end.

        None for a line that is too long.
        """
        self.number += 1
        line = self._binary.readline(longest + 1)
        size, quotes = len(line), line.count(b'"')
        whole = size <= longest or line.endswith(b"\n")
        part = line
        while not whole and part and not part.endswith(b"\n"):
            part = self._binary.readline(LONGEST_ROW)
            quotes += part.count(b'"')
        self.size += size
        self.odd = quotes % 2 == 1
        return line if whole else None


@dataclass(frozen=True, slots=True)
class OpenTable:
    """An open table: its rows, and its header if any.

    It has no header if rows name their cells.
    """

    header: list[str]
    rows: Iterator[Row]
    lines: TableLines
    notes: tuple[str, ...] = ()  # on columns that are not read
    decimal: str = "."  # the decimal sign of numbers that leave it open


class _RowTooLong(ValueError):
    """A row is too long; unless it `ends`, the rest cannot be read."""

    def __init__(self, *, ends: bool) -> None:
        super().__init__(f"it is longer than {LONGEST_ROW:,} bytes")
        self.ends = ends


class _Texts:
    """Lines as texts for a reader of CSV, bounded row by row."""

    def __init__(self, lines: TableLines) -> None:
        self.lines = lines
        self.first, self._room = 1, LONGEST_ROW

    def begin(self) -> None:
        """Let a row begin with the next line."""
        self.first, self._room = self.lines.number + 1, LONGEST_ROW

    @property
    def place(self) -> str:
        """Return the row's lines as a sentence's start, if several."""
        many = self.lines.number > self.first
        return f"lines {self.first} to {self.lines.number}: " if many else ""

    def __iter__(self) -> _Texts:
        return self

    def __next__(self) -> str:
        """Return the next line.

        After _RowTooLong a row begins with it.
        """
        line = self.lines.read(self._room)
        if line is None:
            alone = self.lines.number == self.first
            raise _RowTooLong(ends=alone and not self.lines.odd)
        if not line:
            self.lines.number -= 1
            raise StopIteration
        self._room -= len(line)
        # Bytes that are no UTF-8 become halves of surrogate pairs, which refuse their row alone.
        return line.decode("utf-8", "surrogateescape")


def _read_delimited(file: Path, binary: IO[bytes], _: ExitStack) -> OpenTable:
    csv.field_size_limit(LONGEST_ROW)  # of the whole process
    texts = _Texts(TableLines(binary))
    try:
        head = next(texts, "").removeprefix("\ufeff")
        _check_encoding(head)
        tabs = file.suffix.lower() == ".tsv"
        if named := EXCEL.fullmatch(head):
            head = next(texts, "")
            _check_encoding(head)
            delimiter = named[1]
        else:
            delimiter = "\t" if tabs else max(DELIMITERS, key=head.count)
        _check_count(head.count(delimiter) + 1)
        reader = csv.reader(chain([head], texts), delimiter=delimiter, strict=True)
        names = [column.strip() for column in next(reader, [])]
        _check_names(names)
    except (csv.Error, ValueError) as broken:
        raise ValueError(f"{readable(file)}: the header is no row of CSV: {broken}") from broken
    rows, header = _read_cells(names, reader, texts), [name for name in names if name]
    return OpenTable(header, rows, texts.lines, decimal="," if delimiter == ";" else ".")


def _check_encoding(head: str) -> None:
    """Refuse a first line without UTF-8 or with CR alone."""
    if "\0" in head or head.startswith(UTF_16):
        raise ValueError("it is UTF-16; save the table as CSV in UTF-8")
    if other := HALVES.search(head):
        byte = ord(other[0]) & 0xFF
        raise ValueError(f"byte 0x{byte:02x} in it is not UTF-8; save the table as UTF-8")
    if "\r" in head.rstrip("\r\n"):
        raise ValueError("its lines end as on old Macs, by CR; save the table as CSV in UTF-8")


def _check_names(names: Sequence[str]) -> None:
    """Refuse a header with a name twice; nameless columns are blank."""
    named = [name for name in names if name]
    if len(set(named)) < len(named):
        twice = next(name for name in named if named.count(name) > 1)
        raise ValueError(
            f"two columns have the name {twice!r:.100}; there are {', '.join(named):.1000}"
        )


def _check_count(columns: int) -> None:
    if columns > MOST_COLUMNS:
        raise ValueError(f"it has {columns:,} columns; {MOST_COLUMNS:,} at most are read")


def _read_cells(names: list[str], reader: Iterator[list[str]], texts: _Texts) -> Iterator[Row]:
    number = 1  # as spreadsheets count: the header is row 1
    while True:
        number += 1
        texts.begin()
        try:
            cells = next(reader, None)
        except _RowTooLong as wide:
            if wide.ends:
                yield number, f"{wide}; shorten it"
                continue
            yield number, End(f"the row that begins in line {texts.first}: {wide}; {UNCLOSED}")
            return
        except csv.Error as broken:
            if "end of data" in str(broken):
                yield number, End(f"the row that begins in line {texts.first}: {UNCLOSED}")
                return
            yield number, f"{texts.place}not a row of CSV: {broken}"
            continue
        if cells is None:
            return
        if any(map(str.strip, cells)):  # spreadsheets end in empty rows
            yield number, _check_cells(names, cells)


UNCLOSED = "close its quote, as all that follows is taken for its cell and is not read"


def _check_cells(names: list[str], cells: list[str]) -> Cells | str:
    """Return a row's cells by column, or its problem.

    Cells of no column must be blank.
    """
    if other := HALVES.search("".join(cells)):
        byte = ord(other[0]) & 0xFF
        return f"byte 0x{byte:02x} in it is not UTF-8; save the table as UTF-8"
    width, more = len(names), [cell for cell in cells[len(names) :] if cell.strip()]
    if len(cells) < width or more:
        return f"it has {len(cells):,} cells, and the header has {width:,}"
    pairs = list(zip(names, cells, strict=False))
    if unnamed := next((cell for name, cell in pairs if not name and cell.strip()), None):
        return f"the cell {unnamed!r:.60} is in a column without a name; name it in the header"
    return {name: cell for name, cell in pairs if name}


def _read_json_lines(_: Path, binary: IO[bytes], __: ExitStack) -> OpenTable:
    lines = TableLines(binary)

    def rows() -> Iterator[Row]:
        while (line := lines.read(LONGEST_ROW)) != b"":
            if line is None:
                yield lines.number, f"it is longer than {LONGEST_ROW:,} bytes; shorten it"
            elif line.strip():
                yield lines.number, _parse_object(line)

    return OpenTable([], rows(), lines)


def _parse_object(line: bytes) -> Cells | str:
    """Return the object in a line of JSON, or its problem."""
    try:
        row = read_values(line)
    except KeyTwice as twice:
        return str(twice)
    except ValueError as broken:
        return f"not JSON: {broken}"
    if not isinstance(row, dict):
        return "not a JSON object"
    if len(row) > MOST_COLUMNS:
        return f"it has {len(row):,} keys; {MOST_COLUMNS:,} at most are read"
    return row


def _read_parquet(file: Path, _: IO[bytes], opened: ExitStack) -> OpenTable:
    process = opened.enter_context(Parquet(file))
    head = process.read_head()
    _check_count(len(head.columns))
    lines = TableLines(process.output)

    def rows() -> Iterator[Row]:
        number = 0
        while (line := lines.read(LONGEST_ROW)) != b"":
            number += 1
            if line is None:
                yield number, f"it is longer than {LONGEST_ROW:,} bytes; shorten it"
                continue
            row = _parse_object(line)
            yield number, row[""] if isinstance(row, dict) and row.keys() == {""} else row
        if reason := process.read_failure():
            yield number + 1, End(f"{reason}; the rest of the table is not read")

    return OpenTable(head.columns, rows(), lines, head.notes)


DELIMITED = {".csv", ".tsv", ".txt"}
READERS: dict[str, Callable[[Path, IO[bytes], ExitStack], OpenTable]] = {
    **dict.fromkeys(DELIMITED, _read_delimited),
    ".jsonl": _read_json_lines,
    ".parquet": _read_parquet,
}
