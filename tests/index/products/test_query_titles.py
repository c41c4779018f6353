"""Queries and their titles, by kinds of words."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from index.catalog.views import ItemRow
from index.documents.documents import Documents
from index.products.query import read_text
from index.products.ranking import rank
from index.products.requests import ProductRequest

Row = tuple[str, list[str], list[str], list[str]]  # a query; titles first, after, never
Ask = Callable[[str], list[str]]
TABLE: dict[str, list[Row]] = tomllib.loads(
    Path(__file__).with_name("query_titles.toml").read_text("utf-8")
)


@pytest.fixture(scope="module")
def ask() -> Ask:
    """Search all titles of the table in one catalogue."""
    rows = [row for rows in TABLE.values() for row in rows]
    titles = list(
        dict.fromkeys(title for _, *groups in rows for group in groups for title in group)
    )
    documents = Documents()
    documents.add(
        [ItemRow(at + 1, f"{at:04}", {"title": title}, ()) for at, title in enumerate(titles)]
    )

    def search(query: str) -> list[str]:
        request = ProductRequest(text=read_text(query, documents), limit=1_000)
        return [titles[int(hit.id)] for hit in rank(documents, request, {}).hits]

    return search


def find_faults(hits: list[str], first: list[str], after: list[str], never: list[str]) -> list[str]:
    """The faults of found titles."""
    faults = [f"missing: {title}" for title in (*first, *after) if title not in hits]
    faults += [f"found: {title}" for title in never if title in hits]
    last = max((hits.index(title) for title in first if title in hits), default=0)
    return faults + [f"too early: {title}" for title in after if title in hits[:last]]


@pytest.mark.parametrize("kind", TABLE)
def test_titles_answer_queries(ask: Ask, kind: str) -> None:
    faults = {query: find_faults(ask(query), *groups) for query, *groups in TABLE[kind]}
    assert {query: fault for query, fault in faults.items() if fault} == {}
