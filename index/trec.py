"""Judgements and runs as files: right answers, and results of searches."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VALUES = ("grade", "relevance", "weight", "score")  # columns that may hold a row's number
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

    Rows of the first two have a `query`, an `id`, and a `grade`, `relevance`, `weight` or `score`;
    without any the value is 1. TREC's rows are "query 0 item grade" and "query Q0 item rank score
    tag". ValueError names an invalid line, such as one of nan, LookupError a missing file.
    """
    if not file.is_file():
        raise LookupError(f"there is no file {file}")
    with file.open(encoding="utf-8-sig", newline="") as lines:
        readers = {".csv": from_csv, ".jsonl": from_jsonl}
        rows = list(number_rows(file, readers.get(file.suffix, from_trec)(lines)))
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
    except ValueError as wrong:
        raise ValueError(f"{file}, row {passed + 1}: {wrong}") from wrong


def from_csv(lines: Iterable[str]) -> Iterator[Judgement]:
    """Read rows of a .csv with a heading."""
    yield from map(judgement, csv.DictReader(lines))


def from_jsonl(lines: Iterable[str]) -> Iterator[Judgement | None]:
    """Read an object a line; None for a null id, without hits."""
    for line in lines:
        row = json.loads(line) if line.strip() else {"id": None}
        nothing = isinstance(row, Mapping) and row.get("id", "") is None
        yield None if nothing else judgement(row)


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


def judgement(row: Mapping[str, Any]) -> Judgement:
    """Read a row with names; ValueError names a missing field."""
    if not isinstance(row, Mapping) or not (row.get("query") and row.get("id")):
        raise ValueError(f"expected a query and an id, got {row!r:.60}")
    value = next((row[name] for name in VALUES if row.get(name) not in (None, "")), 1.0)
    return Judgement(str(row["query"]).strip(), str(row["id"]), parse_value(value))


def parse_value(number: str | float) -> float:
    """Parse a row's number; ValueError for nan, without an order."""
    value = float(number)
    if math.isnan(value):
        raise ValueError(f"expected a number, got {number!r}")
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
    rows = [line.split("\t", 1) for line in file.read_text("utf-8").splitlines() if line.strip()]
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
