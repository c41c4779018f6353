"""Cursors: signed names of a list and of its next page."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from itsdangerous import BadData, URLSafeSerializer

from app.schemas.fields import LONGEST_CURSOR
from app.schemas.regions import RegionSearch
from app.schemas.search import ImageSearch, Search
from index.conditions import describe
from index.filters import parse
from index.search.requests import Answer, HitKey, Request
from models.text.queries import Query


class Cursors:
    """Writes and reads cursors, signed with HMAC-SHA256.

    The secret has at least 32 bytes.

    All processes of a data folder share the secret, so each reads what another wrote.
    """

    def __init__(self, secret: bytes) -> None:
        signing = {"digest_method": hashlib.sha256, "key_derivation": "hmac"}
        self._serializer = URLSafeSerializer(secret, salt="tessera.cursor", signer_kwargs=signing)

    def write(self, kind: str, value: Any) -> str:
        """Write a cursor: continue from `value`, plain JSON, in the list `kind`."""
        cursor = self._serializer.dumps([kind, value])
        return cursor if isinstance(cursor, str) else cursor.decode()

    def read(self, cursor: str, kind: str) -> Any:
        """Read the value of a cursor.

        ValueError for a cursor of another list or service.
        """
        if len(cursor) > LONGEST_CURSOR:
            raise ValueError(f"cursor: longer than {LONGEST_CURSOR:,} characters; leave it out")
        try:
            was, value = self._serializer.loads(cursor)
        except (BadData, ValueError) as broken:  # a ValueError for text that no bytes encode
            raise ValueError("cursor: not one that this service gave; leave it out") from broken
        if was != kind:
            raise ValueError("cursor: it belongs to another query; leave it out to start this one")
        return value


def kind_of_items(collection: str, where: Mapping[str, Any] | None) -> str:
    """Name the list of a collection's items.

    Equal filters give the same name, in any order of their keys.
    """
    return name_of_list("items", collection, describe(parse(where)))


def kind_of_hits(request: Search, query: Query) -> str:
    """Name a list of hits, alike for equal filters."""
    parts = [(len(part), weight) for part, weight in zip(query.parts, query.weights, strict=True)]
    vectors = hashlib.sha256(query.bag.vectors.numpy().tobytes()).hexdigest()
    filter_ = describe(parse(request.filter))
    settings = [type(request).__name__, request.collection, filter_, request.min_probability]
    if isinstance(request, RegionSearch):
        settings.append(request.per_photo)
    elif isinstance(request, ImageSearch) and request.collapse is not None:
        settings.append(request.collapse)
    return name_of_list("hits", *settings, parts, vectors)


def start_page(cursors: Cursors, search: Search, request: Request) -> Request:
    """Let a request start behind the hit of its cursor.

    ValueError for another query's cursor.
    """
    assert search.cursor is not None
    score, item, position, hits_before, *region = cursors.read(
        search.cursor, kind_of_hits(search, request.query)
    )
    try:
        return replace(request, after=HitKey(-score, item, position, *region), seen=hits_before)
    except ValueError as far:
        raise ValueError(f"cursor: {far}") from far


def write_next(cursors: Cursors, search: Search, request: Request, answer: Answer) -> str:
    """Write the cursor of the next page."""
    last = answer.hits[-1]
    value = [last.score, last.item, last.position, request.seen + len(answer.hits)]
    if request.per_photo is not None:
        value.append(last.region)
    return cursors.write(kind_of_hits(search, request.query), value)


def name_of_list(*parts: object) -> str:
    """Name a list by its defining values."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
