"""Queries of requests: a text, phrases, a stored photo or an upload."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.answers.fragments import fragments
from app.engine.engine import Engine
from app.schemas.fields import Corners, PhotoBody
from app.schemas.search import QueryOut, Search
from app.telemetry.logs import note
from app.telemetry.stages import stage
from models.text.queries import Query
from models.types import Box
from models.vision import images
from models.vision.images import Photo


def read_query(engine: Engine, search: Search, photo: Photo | None) -> Query:
    """Read the query of a request: a text or phrases, a photo, or both with a weight.

    ValueError where there is none, or more than belongs together.
    """
    texts = {"text": search.text, "phrases": search.phrases}
    check_together([name for name, value in texts.items() if value is not None], search, photo)
    shown = read_photo(engine, search, photo)
    if search.text is not None:
        note(query=search.text)
        query = engine.models.query(search.text)
    elif search.phrases is not None:
        note(query=", ".join(phrase.text for phrase in search.phrases))
        query = engine.models.query((phrase.text, phrase.weight) for phrase in search.phrases)
    else:
        assert shown is not None
        return shown
    return (
        query
        if shown is None
        else query.with_photo(shown.bag, search.photo_weight or 0, shown.notes)
    )


def check_together(
    texts: Sequence[str], request: PhotoBody, photo: Photo | None, *, least: int = 1
) -> None:
    """Raise ValueError unless there is one query, or a text and a photo with a weight."""
    photos = {"id": request.id, "image": photo}
    named = [*texts, *(name for name, value in photos.items() if value is not None)]
    weight = request.photo_weight
    if len(named) == 2 and len(texts) == 1:
        if not weight:
            detail = "without one" if weight is None else "and photo_weight 0"
            raise ValueError(
                "a text and a photo are searched together with a photo_weight that is not 0; "
                f"got {' and '.join(named)}, {detail}"
            )
    elif not least <= len(named) <= 1:
        raise ValueError(
            "send one of text, phrases, id or image, or a text and a photo with a photo_weight; "
            f"got {' and '.join(named) or 'none'}"
        )
    elif weight is not None:
        raise ValueError("photo_weight: it needs a text and a photo; leave it out")


def read_photo(engine: Engine, request: PhotoBody, photo: Photo | None) -> Query | None:
    """Read the photo of a request, stored or uploaded, or the part of it in its box."""
    if request.photo and request.id is None:
        raise ValueError("photo: it chooses one of an item's photos; send the item's id with it")
    if request.id is None and photo is None:
        if request.box is not None:
            raise ValueError("box: it chooses a part of a photo; send an id or an image with it")
        return None
    if photo is not None:
        return Query.of(engine.models.photo(photo, part(request.box)), photo.notes)
    assert request.id is not None
    if request.box is None:
        return Query.of(engine.item_bag(request.collection, request.id, request.photo))
    _, picture = engine.item_photo(request.collection, request.id, request.photo)
    with stage("decode"):
        stored = images.decode(picture.jpeg)
    return Query.of(engine.models.photo(stored, part(request.box)))


def part(corners: Corners | None) -> Box | None:
    """The box with these corners; ValueError if it is empty."""
    if corners is None:
        return None
    box = Box(*corners)
    if box.left >= box.right or box.top >= box.bottom:
        raise ValueError("box: left must be less than right, and top less than bottom")
    return box


def query_out(query: Query, notes: Iterable[str] = ()) -> QueryOut:
    """The query as a client reads it, with further notes."""
    all_notes = [*query.notes, *dict.fromkeys(notes)]
    return QueryOut(text=query.text, fragments=fragments(query.bag), notes=all_notes)
