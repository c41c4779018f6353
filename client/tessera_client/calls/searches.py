"""Calls of searches: photos, their parts, sentences, products and completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tessera_client.calls.call import Box, Call, Filter, model_of
from tessera_client.items import Image, read_image
from tessera_client.json_values import to_list
from tessera_client.models import ImageHits, Products, RegionHits, SentenceHits, Suggestions


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
    facets: Sequence[str | Mapping[str, Any]] = (),
    sort: str | None = None,
    descending: bool = False,
    words: bool = True,
    dates: bool = True,
    collapse: str | None = None,
    limit: int = 20,
    cursor: str | None = None,
) -> Call[ImageHits]:
    """Search photos by text, phrases, or a photo.

    Phrases have weights; the photo is stored or an upload.

    A text and a photo are searched together with a `photo_weight`. `fields` are the metadata keys
    that hits carry: all of them where it is None. With `sort`, probable photos come by a key, and
    with `facets` they are counted; without a query these are all photos. `words` of the items add
    to what photos show, and `dates` of the text are a filter of `taken`, unless they are switched
    off. Of each value of `collapse`, such as `series`, the best photo alone is a hit.
    """
    return Call(
        "POST",
        "/search/image",
        model_of(ImageHits),
        _search(text, phrases, id, box, filter, min_probability, exact, limit, cursor)
        | {"photo": photo, "photo_weight": photo_weight, "fields": to_list(fields, "fields")}
        | {"facets": to_list(facets, "facets") or None, "sort": _sort(sort, descending=descending)}
        | {"words": words, "dates": dates, "collapse": collapse},
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
    """Search sentences by text, phrases, or a photo.

    Phrases have weights; the photo is stored or an upload.

    `fields` are the metadata keys that hits carry: all of them where it is None.
    """
    return Call(
        "POST",
        "/search/text",
        model_of(SentenceHits),
        _search(text, phrases, id, box, filter, min_probability, exact, limit, cursor)
        | {"photo": photo, "fields": to_list(fields, "fields")},
        None if image is None else read_image(image),
    )


def search_regions(
    text: str | None = None,
    *,
    phrases: Sequence[tuple[str, float]] | None = None,
    id: str | None = None,  # noqa: A002 - the service's own name
    image: Image | None = None,
    photo: int | None = None,
    photo_weight: float | None = None,
    box: Box | None = None,
    filter: Filter | None = None,  # noqa: A002 - the service's own name
    per_photo: int = 1,
    exact: bool = False,
    fields: Sequence[str] | None = None,
    limit: int = 20,
    cursor: str | None = None,
) -> Call[RegionHits]:
    """Search parts of photos by text, phrases, or a photo.

    A photo has at most `per_photo` of the hits.
    """
    return Call(
        "POST",
        "/search/regions",
        model_of(RegionHits),
        _search(text, phrases, id, box, filter, None, exact, limit, cursor)
        | {"photo": photo, "photo_weight": photo_weight, "fields": to_list(fields, "fields")}
        | {"per_photo": per_photo},
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
    """Search items by text or photo; without both, all items."""
    parameters = {
        "text": text,
        "id": id,
        "photo": photo,
        "photo_weight": photo_weight,
        "box": to_list(box, "box"),
        "filter": filter and dict(filter),
        "min_probability": min_probability,
        "facets": to_list(facets, "facets"),
        "sort": _sort(sort, descending=descending),
        "collapse": collapse,
        "weights": weights and dict(weights),
        "fields": fields and dict(fields),
        "boosts": to_list(boosts, "boosts"),
        "limit": limit,
        "cursor": cursor,
    }
    sent = {name: value for name, value in parameters.items() if value not in (None, [], {})}
    data = None if image is None else read_image(image)
    return Call("POST", "/search/products", model_of(Products), sent, data)


def suggest(text: str, *, limit: int = 10) -> Call[Suggestions]:
    """Complete a text's last word, ordered by number of items."""
    return Call("GET", "/suggest", model_of(Suggestions), query={"text": text, "limit": limit})


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
        "phrases": _weigh(phrases),
        "id": item,
        "box": to_list(box, "box"),
        "filter": where and dict(where),
        "min_probability": min_probability,
        "exact": exact,
        "limit": limit,
        "cursor": cursor,
    }


def _weigh(phrases: Sequence[tuple[str, float]] | None) -> list[dict[str, Any]] | None:
    pairs = to_list(phrases, "phrases")
    return None if pairs is None else [{"text": part, "weight": weight} for part, weight in pairs]


def _sort(key: str | None, *, descending: bool) -> dict[str, str] | None:
    return {"key": key, "order": "desc" if descending else "asc"} if key else None


def report_click(
    query: str,
    id: str,  # noqa: A002 - the service's own name
    *,
    kind: str = "click",
    weight: float = 1.0,
) -> Call[None]:
    """Report a click on a hit, a cart or a purchase."""
    sent = {"query": query, "id": id, "kind": kind, "weight": weight}
    return Call("POST", "/events/clicks", lambda _: None, sent)
