"""Judgements and runs as files: right answers, and results of searches."""

from __future__ import annotations

import csv
import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RANK = "rank"  # a column of runs without scores
# Columns that may hold a row's number; of several the first counts.
VALUES = ("grade", "relevance", "weight", "score", RANK)
DELIMITER_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs"}
QRELS, RUN = 4, 6  # columns of TREC's two formats
TREC_VALUE = {QRELS: 3, RUN: 4}


@dataclass(frozen=True, slots=True)
class Judgement:
    """A query, an item, and a number.

    The number is a grade, the weight of a click, or a search's score.
    """

    query: str
    id: str
    value: float


def read(file: Path) -> list[Judgement]:
    """Read a .csv with a heading, .jsonl, TREC's qrels or run.

    Rows of the first two have a `query`, an `id`, and a `grade`, `relevance`, `weight`, `score` or
    `rank`, in any case; rows of a query and an id alone have the value 1. The value of a rank is
    the larger the better it is. TREC's rows are "query 0 item grade" and "query Q0 item rank score
    tag". ValueError names an invalid line, such as one of nan, LookupError a missing file.
    """
    if not file.is_file():
        raise LookupError(f"there is no file {file}")
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(number_rows(file, READERS.get(file.suffix, from_trec)(lines)))
    except UnicodeDecodeError as wrong:
        raise ValueError(describe_encoding(file)) from wrong
    if not rows:
        raise ValueError(f"{file} holds no rows")
    return rows


def number_rows(file: Path, rows: Iterator[Judgement | None]) -> Iterator[Judgement]:
    """Pass rows on, None for empty lines; errors name their line."""
    passed = 0
    try:
        for row in rows:
            passed += 1
            if row:
                yield row
    except UnicodeDecodeError:  # of a block of lines
        raise
    except (ValueError, csv.Error) as wrong:
        raise ValueError(f"{file}, row {passed + 1}: {wrong}") from wrong


def describe_encoding(file: Path) -> str:
    """Name the first line of a file outside UTF-8."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as wrong:
                byte = f"the byte 0x{line[wrong.start]:02x} is not UTF-8"
                return f"{file}, line {number}: {byte}: save the file as UTF-8"
    return f"{file} is not UTF-8: save the file as UTF-8"


def from_csv(lines: Iterable[str]) -> Iterator[Judgement]:
    """Read rows of a .csv with a heading, between commas, semicolons or tabs."""
    lines = iter(lines)
    heading = next((line for line in lines if line.strip()), "")
    delimiter = max(DELIMITER_NAMES, key=heading.count)
    spaced = f"{delimiter} " in heading
    reader = csv.reader(
        itertools.chain([heading], lines), delimiter=delimiter, skipinitialspace=spaced
    )
    columns = [name.strip() for name in next(reader, [])]
    while columns and not columns[-1]:  # of a delimiter at the end
        columns.pop()
    for cells in filter(None, reader):
        if any(cells[len(columns) :]):
            raise ValueError(
                f'more cells than columns: write "…" around texts with {DELIMITER_NAMES[delimiter]}'
            )
        row = itertools.zip_longest(columns, cells[: len(columns)], fillvalue="")
        yield judgement(lower_names(row))


def from_jsonl(lines: Iterable[str]) -> Iterator[Judgement | None]:
    """Read an object a line; None for a null id, without hits."""
    for line in lines:
        if not line.strip():
            yield None
            continue
        row = json.loads(line)
        if not isinstance(row, dict):
            raise ValueError(f"expected a query and an id, got {row!r:.60}")
        fields = lower_names(row.items())
        yield None if fields.get("id", "") is None else judgement(fields)


def from_trec(lines: Iterable[str]) -> Iterator[Judgement | None]:
    """Read columns between spaces, of qrels or of a run."""
    for line in lines:
        columns = line.split()
        if columns and len(columns) not in TREC_VALUE:
            raise ValueError(f"expected {QRELS} or {RUN} columns between spaces, got {line!r:.60}")
        if columns:
            value = parse_value(columns[TREC_VALUE[len(columns)]])
            yield Judgement(columns[0], columns[2], value)
        else:
            yield None


READERS: Mapping[str, Callable[[Iterable[str]], Iterator[Judgement | None]]] = {
    ".csv": from_csv,
    ".jsonl": from_jsonl,
}


def is_trec(file: Path) -> bool:
    """Return whether a file is read as TREC's qrels or run."""
    return file.suffix not in READERS


def lower_names(fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Lower the names of a row's fields; ValueError for a repeated one.

    >>> lower_names([("Query", "shirt"), (" ID ", "a")])
    {'query': 'shirt', 'id': 'a'}
    """
    named = [(name.strip().lower(), value) for name, value in fields]
    counts = Counter(name for name, _ in named)
    if repeated := next((name for name in counts if name and counts[name] > 1), None):
        raise ValueError(f"the column {repeated!r} comes twice")
    return dict(named)


def judgement(row: Mapping[str, Any]) -> Judgement:
    """Read a row with names in lower case; ValueError names its mistake."""
    query, id_ = (str(row[name]) if row.get(name) is not None else "" for name in ("query", "id"))
    if not (query.strip() and id_):
        raise ValueError(f"expected a query and an id, got {row!r:.60}")
    name = next((name for name in VALUES if name in row), None)
    if name is None and row.keys() - {"query", "id", ""}:
        raise ValueError(
            f"none of the columns {list(row)!r:.200} is a value: name one {', '.join(VALUES[:-1])} "
            f"or {VALUES[-1]}, or leave all but query and id out"
        )
    value = 1.0 if name is None else parse_value(row[name], f" as {name}")
    return Judgement(query.strip(), id_, -value if name == RANK else value)


def parse_value(number: str | float, place: str = "") -> float:
    """Parse a row's number; ValueError for nan, without an order."""
    try:
        value = float(number)
    except (TypeError, ValueError):
        value = math.nan
    if math.isnan(value):
        raise ValueError(f"expected a number, got {number!r:.60}{place}")
    return value


def queries(rows: Iterable[Judgement]) -> list[str]:
    """List the distinct queries, in the order of the file."""
    return list(dict.fromkeys(row.query for row in rows))


def by_query(rows: Iterable[Judgement]) -> dict[str, dict[str, float]]:
    """Group the items' values by query, the larger of repeated ones."""
    values: dict[str, dict[str, float]] = {}
    for row in rows:
        by_item = values.setdefault(row.query, {})
        by_item[row.id] = max(row.value, by_item.get(row.id, row.value))
    return values


def topics(file: Path) -> dict[str, str]:
    """Read the texts of queries by id, from tab-separated lines."""
    lines = file.read_text("utf-8-sig").splitlines()
    rows = [line.split("\t", 1) for line in lines if line.strip()]
    if wrong := next((row for row in rows if len(row) != 2), None):
        raise ValueError(f"{file}: expected an id, a tab and a text, got {wrong[0]!r:.60}")
    return {query.strip(): text.strip() for query, text in rows}


def write_run(file: Path, hits: Iterable[Judgement]) -> None:
    """Write a search's results as .csv, best first for each query.

    Its columns are query, id and score.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(("query", "id", "score"))
        writer.writerows((hit.query, hit.id, repr(hit.value)) for hit in hits)
