"""Cursors: where the next page of a list begins, and which list it is."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Any

from app.schemas import Search
from index.search import FARTHEST
from models.queries import Query


def write_cursor(kind: str, value: Any) -> str:
    """An opaque text that means: go on from `value` in the list that `kind` names."""
    return urlsafe_b64encode(json.dumps([kind, value]).encode()).decode()


def read_cursor(cursor: str, kind: str) -> Any:
    """What write_cursor wrote; ValueError for one of another list, or none of ours."""
    try:
        was, value = json.loads(urlsafe_b64decode(cursor.encode()))
    except (ValueError, TypeError, RecursionError) as broken:
        raise ValueError("cursor: not one that this service gave; leave it out") from broken
    if was != kind:
        raise ValueError("cursor: it belongs to another query; leave it out to start this one")
    return value


def kind(request: Search, query: Query) -> str:
    """A name of this very list of hits."""
    parts = [(len(part), weight) for part, weight in zip(query.parts, query.weights, strict=True)]
    asked = (type(request).__name__, request.collection, request.filter, request.min_probability)
    told = repr((asked, parts)).encode() + query.bag.vectors.numpy().tobytes()
    return sha256(told).hexdigest()[:16]


def offset(request: Search, query: Query) -> int:
    """Where a search's cursor goes on; ValueError for another query's."""
    if request.cursor is None:
        return 0
    found = read_cursor(request.cursor, kind(request, query))
    if not isinstance(found, int) or not 0 <= found <= FARTHEST:
        raise ValueError(f"cursor: hits beyond {FARTHEST:,} are not given; narrow the search down")
    return found


def after(request: Search, query: Query, start: int, found: int) -> str | None:
    """The cursor of the next page, if the search found one hit more than were asked for."""
    if found <= request.limit:
        return None
    return write_cursor(kind(request, query), start + request.limit)
