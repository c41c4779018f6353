"""Natural queries: texts, each with one right photo."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from training.evaluation.retrieval import Floats, find_ranks


@dataclass(frozen=True, slots=True)
class NaturalQuery:
    """A text, and the id of its photo."""

    text: str
    id: str


@dataclass(frozen=True, slots=True)
class RankedAnswer:
    """The rank of a query's photo, and the first photo.

    Ranks count from 1.
    """

    text: str
    id: str
    rank: int
    first: str


@dataclass(frozen=True, slots=True)
class QuerySearch:
    """Percentages of queries with their photo first, or among five."""

    photos: int
    right_1: float
    right_5: float
    answers: tuple[RankedAnswer, ...]


def query_search(
    scores: Floats, photos: Sequence[str], queries: Sequence[NaturalQuery]
) -> QuerySearch:
    """Rank all photos for each query; ties count against us.

    Shapes: scores (K, L) for K ids of photos and L queries. LookupError for a query whose photo
    is not there, ValueError for a NaN score.

    >>> scores = np.array([[2.0, 3.0], [1.0, 4.0]], dtype=np.float32)
    >>> asked = [NaturalQuery("a dog", "dog"), NaturalQuery("pet", "dog")]
    >>> search = query_search(scores, ["dog", "cat"], asked)
    >>> search.right_1, search.right_5, [answer.rank for answer in search.answers]
    (50.0, 100.0, [1, 2])
    """
    if np.isnan(scores).any():
        raise ValueError(f"{int(np.isnan(scores).sum()):,} of the scores are NaN")
    positions = {photo: position for position, photo in enumerate(photos)}
    absent = [query.id for query in queries if query.id not in positions]
    if absent:
        raise LookupError(f"{len(absent)} queries ask for absent photos, the first is {absent[0]}")
    true = np.zeros(scores.T.shape, dtype=bool)  # (L, K)
    true[np.arange(len(queries)), [positions[query.id] for query in queries]] = True
    places = find_ranks(scores.T, true)  # (L,)
    firsts = scores.argmax(axis=0)  # (L,)
    return QuerySearch(
        photos=len(photos),
        right_1=100 * float((places <= 1).mean()),
        right_5=100 * float((places <= 5).mean()),
        answers=tuple(
            RankedAnswer(query.text, query.id, int(place), photos[first])
            for query, place, first in zip(queries, places, firsts, strict=True)
        ),
    )


def read(file: Path | None) -> tuple[NaturalQuery, ...]:
    """Read queries of {text, id} from .json, .jsonl or .toml.

    Without a file there are none. A .json has a list, or a list `queries`, as has a .toml; a .jsonl
    has a query a line. ValueError names a mistake.
    """
    if file is None:
        return ()
    rows = read_content(file)
    if isinstance(rows, dict):
        rows = rows.get("queries")
    if not isinstance(rows, list) or not rows:
        raise ValueError(f"{file} must hold a list of queries, each with a text and an id")
    return tuple(parse_query(file, number, row) for number, row in enumerate(rows, start=1))


def read_content(file: Path) -> Any:
    """Read a .toml, .jsonl or .json; ValueError if malformed."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        if file.suffix == ".toml":
            return tomllib.loads(text)
        if file.suffix == ".jsonl":
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        return json.loads(text)
    except ValueError as broken:
        raise ValueError(
            f"{file} cannot be read as {file.suffix[1:] or 'JSON'} ({broken}): give queries as "
            ".json, .jsonl or .toml"
        ) from broken


def parse_query(file: Path, number: int, row: Any) -> NaturalQuery:
    """One query; ValueError unless the row has a text and an id."""
    if not isinstance(row, dict) or not all(
        isinstance(row.get(key), str) and row[key] for key in ("text", "id")
    ):
        raise ValueError(f"{file}, query {number}: expected a text and an id, got {row!r:.60}")
    return NaturalQuery(row["text"], row["id"])
