"""Calls: each endpoint once, as what is sent and how its answer is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

import httpx2
from pydantic import BaseModel

from tessera_client.items import Image, image_text, is_address, read_image
from tessera_client.models import (
    Alias,
    Aliases,
    Alignment,
    Audit,
    Captions,
    Collection,
    Collections,
    Deletion,
    Grounding,
    ImageHits,
    ImportStatus,
    Index,
    Item,
    Items,
    Models,
    Products,
    SentenceHits,
    StoredItem,
    Suggestions,
)

Answer = TypeVar("Answer")
AnswerModel = TypeVar("AnswerModel", bound=BaseModel)
Filter = Mapping[str, Any]
Box = Sequence[float]  # left, top, right, bottom, in fractions of the photo
Picture = Literal["png", "svg"]

MEDIA_TYPES = {"png": "image/png", "svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class Call(Generic[Answer]):
    """A request, and how its response is read. The client adds the collection."""

    method: str
    path: str
    read: Callable[[httpx2.Response], Answer]
    fields: Mapping[str, Any] | None = None  # of a JSON body or a form
    image: bytes | None = None
    images: tuple[bytes, ...] = ()  # behind the first one
    query: Mapping[str, Any] = field(default_factory=dict)
    document: Mapping[str, Any] | None = None  # a JSON body that names no collection
    lines: bytes | None = None
    accept: str = "application/json"

    def arguments(self, collection: str) -> dict[str, Any]:
        """What httpx2's `request` takes beside method and address."""
        query = {name: value for name, value in self.query.items() if value is not None}
        sent: dict[str, Any] = {"headers": {"Accept": self.accept}, "params": query}
        if self.fields is None:
            query["collection"] = collection
        if self.lines is not None:
            sent |= {"content": self.lines}
            sent["headers"]["Content-Type"] = "application/x-ndjson"
        elif self.document is not None:
            sent |= {"json": dict(self.document)}
        elif self.fields is not None:
            fields = {name: value for name, value in self.fields.items() if value is not None}
            fields["collection"] = collection
            photos = self.images if self.image is None else (self.image, *self.images)
            sent |= _form(fields, photos) if photos else {"json": fields}
        return sent


def search_images(
    text: str | None = None,
    *,
    phrases: Sequence[tuple[str, float]] | None = None,
    id: str | None = None,  # noqa: A002 - the service's own name
    image: Image | None = None,
    photo: int | None = None,
    photo_weight: float | None = None,
    box: Box | None = None,
    filter: Filter | None = None,  # noqa: A002 - the service's own name
    min_probability: float | None = None,
    exact: bool = False,
    fields: Sequence[str] | None = None,
    limit: int = 20,
    cursor: str | None = None,
) -> Call[ImageHits]:
    """Photos that answer a text, weighted phrases, a stored item's photo or an image.

    A text and a photo are searched together with a `photo_weight`. `fields` are the metadata keys
    that hits carry: all of them where it is None.
    """
    return Call(
        "POST",
        "/search/image",
        _json(ImageHits),
        _search(text, phrases, id, box, filter, min_probability, exact, limit, cursor)
        | {"photo": photo, "photo_weight": photo_weight, "fields": _listed(fields)},
        None if image is None else read_image(image),
    )


def search_sentences(
    text: str | None = None,
    *,
    phrases: Sequence[tuple[str, float]] | None = None,
    id: str | None = None,  # noqa: A002 - the service's own name
    image: Image | None = None,
    photo: int | None = None,
    box: Box | None = None,
    filter: Filter | None = None,  # noqa: A002 - the service's own name
    min_probability: float | None = None,
    exact: bool = False,
    fields: Sequence[str] | None = None,
    limit: int = 20,
    cursor: str | None = None,
) -> Call[SentenceHits]:
    """Sentences that match an image, a stored item's photo, a text or weighted phrases.

    `fields` are the metadata keys that hits carry: all of them where it is None.
    """
    return Call(
        "POST",
        "/search/text",
        _json(SentenceHits),
        _search(text, phrases, id, box, filter, min_probability, exact, limit, cursor)
        | {"photo": photo, "fields": _listed(fields)},
        None if image is None else read_image(image),
    )


def search_products(
    text: str | None = None,
    *,
    id: str | None = None,  # noqa: A002 - the service's own name
    image: Image | None = None,
    photo: int | None = None,
    photo_weight: float | None = None,
    box: Box | None = None,
    filter: Filter | None = None,  # noqa: A002 - the service's own name
    min_probability: float | None = None,
    facets: Sequence[str | Mapping[str, Any]] = (),
    sort: str | None = None,
    descending: bool = False,
    collapse: str | None = None,
    weights: Mapping[str, float] | None = None,
    fields: Mapping[str, float] | None = None,
    boosts: Sequence[Mapping[str, Any]] = (),
    limit: int = 20,
    cursor: str | None = None,
) -> Call[Products]:
    """Items that answer a text by their words and photos, or a photo; without both, all."""
    asked = {
        "text": text,
        "id": id,
        "photo": photo,
        "photo_weight": photo_weight,
        "box": box and list(box),
        "filter": filter and dict(filter),
        "min_probability": min_probability,
        "facets": list(facets),
        "sort": sort and {"key": sort, "order": "desc" if descending else "asc"},
        "collapse": collapse,
        "weights": weights and dict(weights),
        "fields": fields and dict(fields),
        "boosts": list(boosts),
        "limit": limit,
        "cursor": cursor,
    }
    sent = {name: value for name, value in asked.items() if value not in (None, [], {})}
    data = None if image is None else read_image(image)
    return Call("POST", "/search/products", _json(Products), sent, data)


def suggest(text: str, *, limit: int = 10) -> Call[Suggestions]:
    """Completions of a text's last word, those that find most items first."""
    return Call("GET", "/suggest", _json(Suggestions), query={"text": text, "limit": limit})


def align(text: str, *, id: str | None = None, image: Image | None = None) -> Call[Alignment]:  # noqa: A002
    """Which part of a photo, stored or given, answers which words of a text."""
    return _explain("/align", _json(Alignment), {"text": text, "id": id}, image)


def align_picture(
    text: str,
    *,
    id: str | None = None,  # noqa: A002 - the service's own name
    image: Image | None = None,
    kind: Picture = "png",
) -> Call[bytes]:
    """The same as a picture: a PNG or SVG file."""
    return _explain("/align", _content, {"text": text, "id": id}, image, MEDIA_TYPES[kind])


def ground(
    text: str,
    *,
    phrases: Sequence[str] | None = None,
    count: int = 1,
    id: str | None = None,  # noqa: A002 - the service's own name
    image: Image | None = None,
) -> Call[Grounding]:
    """The boxes of a photo that phrases of a text mean."""
    fields = {"text": text, "phrases": phrases and list(phrases), "count": count, "id": id}
    return _explain("/ground", _json(Grounding), fields, image)


def caption(
    *,
    id: str | None = None,  # noqa: A002 - the service's own name
    image: Image | None = None,
    beam: int = 5,
    count: int = 1,
    temperature: float | None = None,
    seed: int | None = None,
    max_words: int | None = None,
    regions: int = 0,
) -> Call[Captions]:
    """Sentences that describe a photo and up to so many of its regions, the likeliest first.

    With a `temperature` they are drawn at random, the same ones for the same `seed`.
    """
    fields = {
        "id": id,
        "beam": beam,
        "count": count,
        "temperature": temperature,
        "seed": seed,
        "max_words": max_words,
        "regions": regions,
    }
    return _explain("/caption", _json(Captions), fields, image)


def caption_picture(
    *,
    id: str | None = None,  # noqa: A002 - the service's own name
    image: Image | None = None,
    beam: int = 5,
    kind: Picture = "png",
) -> Call[bytes]:
    """The likeliest sentence and the boxes of its words as a picture: a PNG or SVG file."""
    return _explain("/caption", _content, {"id": id, "beam": beam}, image, MEDIA_TYPES[kind])


def put_item(
    id: str,  # noqa: A002 - the service's own name
    *,
    image: Image | None = None,
    images: Sequence[Image] = (),
    sentences: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
) -> Call[StoredItem]:
    """Store an item in place of what its id had before; it can be searched at once."""
    fields: dict[str, Any] = {"metadata": dict(metadata or {}), "sentences": list(sentences)}
    photos = [*([] if image is None else [image]), *images]
    if photos and all(map(is_address, photos)):
        return Call("PUT", _item(id), _json(StoredItem), fields | {"images": photos})
    read = tuple(map(read_image, photos))
    return Call("PUT", _item(id), _json(StoredItem), fields, read[0] if read else None, read[1:])


def get_item(id: str) -> Call[Item]:  # noqa: A002 - the service's own name
    """What is stored under an id."""
    return Call("GET", _item(id), _json(Item))


def item_image(id: str, photo: int = 0) -> Call[bytes]:  # noqa: A002 - the service's own name
    """The display copy of one of an item's photos, a JPEG."""
    query = {"photo": photo}
    return Call("GET", f"{_item(id)}/image", _content, query=query, accept="image/jpeg")


def delete_item(id: str) -> Call[None]:  # noqa: A002 - the service's own name
    """Delete an item; no search finds it from now on."""
    return Call("DELETE", _item(id), lambda _: None)


def patch_item(
    id: str,  # noqa: A002 - the service's own name
    metadata: Mapping[str, Any] | None,
    *,
    images: Sequence[int | Image] | None = None,
    stamp: str | None = None,
) -> Call[Item]:
    """Merge a patch into an item's metadata: null deletes a key, None in place of it all keys.

    `images` are the photos that it is to have: numbers of those that stay, and new ones.
    """
    sent: dict[str, Any] = {"metadata": metadata}
    if images is not None:
        sent["images"] = [one if isinstance(one, int) else image_text(one) for one in images]
    if stamp is not None:
        sent["stamp"] = stamp
    return Call("PATCH", _item(id), _json(Item), document=sent)


def delete_items(
    *,
    ids: Sequence[str] | None = None,
    filter: Filter | None = None,  # noqa: A002 - the service's own name
    dry_run: bool = False,
) -> Call[Deletion]:
    """Delete items by their ids or by a filter; a dry run counts them."""
    fields = {
        "ids": None if ids is None else list(ids),
        "filter": None if filter is None else dict(filter),
        "dry_run": dry_run,
    }
    return Call("POST", "/items/delete", _json(Deletion), fields)


def list_items(
    *,
    filter: Filter | None = None,  # noqa: A002 - the service's own name
    limit: int = 100,
    cursor: str | None = None,
) -> Call[Items]:
    """A page of items, in the order of their ids."""
    query = {"limit": limit, "cursor": cursor, "filter": filter and json.dumps(dict(filter))}
    return Call("GET", "/items", _json(Items), query=query)


def collections() -> Call[Collections]:
    """The collections there are."""
    return Call("GET", "/collections", _json(Collections))


def make_collection(name: str) -> Call[Collection]:
    """Make a collection, empty; one that is there stays as it is."""
    return Call("PUT", _named("collections", name), _json(Collection))


def rename_collection(name: str, new: str, *, alias: bool = False) -> Call[Collection]:
    """Rename a collection; `alias` leaves the old name as an alias."""
    sent = {"name": new, "alias": alias}
    return Call("PATCH", _named("collections", name), _json(Collection), document=sent)


def drop_collection(name: str) -> Call[None]:
    """Drop a collection; refused while an alias stands for it."""
    return Call("DELETE", _named("collections", name), lambda _: None)


def aliases() -> Call[Aliases]:
    """The aliases there are."""
    return Call("GET", "/aliases", _json(Aliases))


def point_alias(name: str, collection: str) -> Call[Alias]:
    """Have an alias stand for a collection, at once for everyone."""
    sent = {"collection": collection}
    return Call("PUT", _named("aliases", name), _json(Alias), document=sent)


def forget_alias(name: str) -> Call[None]:
    """Delete an alias; its collection stays."""
    return Call("DELETE", _named("aliases", name), lambda _: None)


def models() -> Call[Models]:
    """The models that answer, and how much may be uploaded."""
    return Call("GET", "/model", _json(Models))


def index() -> Call[Index]:
    """How the collection is searched, and how far the index has come."""
    return Call("GET", "/index", _json(Index))


def audit(queries: Sequence[str] | None = None, *, limit: int = 10) -> Call[Audit]:
    """The share of exact answers' hits that the usual answers have."""
    fields = {"queries": None if queries is None else list(queries), "limit": limit}
    return Call("POST", "/index/audit", _json(Audit), fields)


def upload(lines: bytes) -> Call[list[ImportStatus]]:
    """Store the items in lines of JSON; a status for each."""
    return Call("POST", "/items", _statuses, lines=lines, accept="application/x-ndjson")


def _search(
    text: str | None,
    phrases: Sequence[tuple[str, float]] | None,
    item: str | None,
    box: Box | None,
    where: Filter | None,
    min_probability: float | None,
    exact: bool,
    limit: int,
    cursor: str | None,
) -> dict[str, Any]:
    return {
        "text": text,
        "phrases": phrases and [{"text": part, "weight": weight} for part, weight in phrases],
        "id": item,
        "box": box and list(box),
        "filter": where and dict(where),
        "min_probability": min_probability,
        "exact": exact,
        "limit": limit,
        "cursor": cursor,
    }


def _listed(keys: Sequence[str] | None) -> list[str] | None:
    return None if keys is None else list(keys)


def _explain(
    path: str,
    read: Callable[[httpx2.Response], Answer],
    fields: Mapping[str, Any],
    image: Image | None,
    accept: str = "application/json",
) -> Call[Answer]:
    data = None if image is None else read_image(image)
    return Call("POST", path, read, fields, data, accept=accept)


def _form(fields: Mapping[str, Any], images: Sequence[bytes]) -> dict[str, Any]:
    """A form with the fields as the service reads them, and the images."""
    data: dict[str, Any] = {}
    for name, value in fields.items():
        if name == "box":
            data[name] = ",".join(map(str, value))
        elif name == "sentences":
            data[name] = value
        else:
            data[name] = value if isinstance(value, str) else json.dumps(value)
    return {"data": data, "files": [("image", ("image", image)) for image in images]}


def _item(id: str) -> str:  # noqa: A002 - the service's own name
    return _named("items", id)


def _named(kind: str, name: str) -> str:
    return f"/{kind}/{quote(name, safe='')}"


def _json(model: type[AnswerModel]) -> Callable[[httpx2.Response], AnswerModel]:
    return lambda response: model.model_validate_json(response.content)


def _content(response: httpx2.Response) -> bytes:
    return response.content


def _statuses(response: httpx2.Response) -> list[ImportStatus]:
    return [ImportStatus.model_validate_json(line) for line in response.content.splitlines()]
