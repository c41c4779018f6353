"""Ended sessions are shared, and forgotten in time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import func, select

from index.catalog.catalog import Catalog
from index.database import ended_sessions
from index.database.ended_sessions import EndedSessions
from index.database.storage import Storage
from index.database.tables import settings

WEEK = 7 * 24 * 3600


@pytest.fixture
def shared(database: str, tmp_path: Path) -> Iterator[tuple[Catalog, Catalog]]:
    """Two catalogs of one database, as two services have them."""
    with (
        closing(Catalog(Storage(tmp_path, database=database))) as first,
        closing(Catalog(Storage(tmp_path, database=database))) as second,
    ):
        yield first, second


def ended(catalog: Catalog) -> EndedSessions:
    return EndedSessions(catalog.reader, catalog.writer, WEEK)


def rows(catalog: Catalog) -> int:
    named = settings.c.name.startswith("ended/")
    with catalog.reader.begin() as connection:
        return connection.execute(select(func.count()).where(named)).scalar_one()


def test_a_session_that_one_service_ended_is_over_in_all(shared):
    here, there = map(ended, shared)
    now = int(time.time())
    assert not there.has("key", "a", now)
    here.end("key", "a", now)
    here.end("key", "a", now)
    assert there.has("key", "a", now)
    assert not there.has("key", "b", now)
    assert not there.has("other", "a", now)


def test_sessions_that_are_over_anyway_are_forgotten(shared):
    here, _ = map(ended, shared)
    now = int(time.time())
    here.end("key", "old", now - WEEK - 1)
    here.end("key", "new", now)
    assert rows(shared[0]) == 1
    assert here.has("key", "new", now)


def test_a_key_with_too_many_ended_sessions_has_all_of_them_ended(shared, monkeypatch):
    monkeypatch.setattr(ended_sessions, "MOST", 3)
    here, there = map(ended, shared)
    now = int(time.time())
    here.end("other", "a", now)
    for session in "abcd":
        here.end("key", session, now)
    assert rows(shared[0]) == 2
    for session in "abcdx":
        assert there.has("key", session, now)
    assert not there.has("key", "later", int(time.time()) + 1)
    assert not there.has("other", "x", now)
