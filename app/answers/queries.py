"""Queries of requests: a text, phrases, a stored photo or an upload, and where a page begins."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from app.answers.fragments import fragments
from app.engine import Engine
from app.logs import note
from app.mapping import nearest
from app.schemas.fields import Corners
from app.schemas.search import QueryOut, Search
from models.images import Photo
from models.queries import Query
from models.types import Box


def read_query(engine: Engine, asked: Search, photo: Photo | None) -> Query:
    """The one query that a request brought; ValueError if there is none or more than one."""
    sent = {"text": asked.text, "phrases": asked.phrases, "id": asked.id, "image": photo}
    named = [name for name, value in sent.items() if value is not None]
    if len(named) != 1:
        raise ValueError(
            f"send one of text, phrases, id or image; got {' and '.join(named) or 'none'}"
        )
    if asked.box is not None and photo is None:
        raise ValueError("box: it chooses a part of an uploaded image; send an image with it")
    if asked.text is not None:
        note(query=asked.text)
        return engine.models.query(asked.text)
    if asked.phrases is not None:
        note(query=", ".join(one.text for one in asked.phrases))
        return engine.models.phrases([(one.text, one.weight) for one in asked.phrases])
    if asked.id is not None:
        return Query.of(engine.item_photo(asked.collection, asked.id, asked.photo)[0])
    assert photo is not None
    return Query.of(engine.models.photo(photo, part(asked.box)), photo.notes)


def part(corners: Corners | None) -> Box | None:
    """The box with these corners; ValueError if it is empty."""
    if corners is None:
        return None
    box = Box(*corners)
    if box.left >= box.right or box.top >= box.bottom:
        raise ValueError("box: left must be less than right, and top less than bottom")
    return box


def unknown_keys(asked: Iterable[str], known: Collection[str]) -> list[str]:
    """Notes about metadata keys that no item has, with the nearest one that there is."""
    return [
        f"No item has {key!r:.100} in its metadata{nearest(key, known)}."
        for key in asked
        if key not in known
    ]


def query_out(query: Query, notes: Iterable[str] = ()) -> QueryOut:
    """The query as a client reads it, with further notes."""
    told = [*query.notes, *dict.fromkeys(notes)]
    return QueryOut(text=query.text, fragments=fragments(query.bag), notes=told)
