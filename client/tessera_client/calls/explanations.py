"""Calls of explanations: alignments, groundings and captions of one photo."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx2

from tessera_client.calls.call import Answer, Call, Picture, content_of, model_of
from tessera_client.items import Image, read_image
from tessera_client.json_values import to_list
from tessera_client.models import Alignment, Captions, Grounding

MEDIA_TYPES = {"png": "image/png", "svg": "image/svg+xml"}


def align(text: str, *, id: str | None = None, image: Image | None = None) -> Call[Alignment]:  # noqa: A002
    """Align the regions of a photo with a text's words.

    The photo is stored or given.
    """
    return _explain("/align", model_of(Alignment), {"text": text, "id": id}, image)


def align_picture(
    text: str,
    *,
    id: str | None = None,  # noqa: A002 - the service's own name
    image: Image | None = None,
    kind: Picture = "png",
) -> Call[bytes]:
    """The same as a picture: a PNG or SVG file."""
    return _explain("/align", content_of, {"text": text, "id": id}, image, MEDIA_TYPES[kind])


def ground(
    text: str,
    *,
    phrases: Sequence[str] | None = None,
    count: int = 1,
    id: str | None = None,  # noqa: A002 - the service's own name
    image: Image | None = None,
) -> Call[Grounding]:
    """Find the boxes of a text's phrases in a photo."""
    chosen = to_list(phrases, "phrases")
    fields = {"text": text, "phrases": chosen, "count": count, "id": id}
    return _explain("/ground", model_of(Grounding), fields, image)


def caption(
    *,
    id: str | None = None,  # noqa: A002 - the service's own name
    image: Image | None = None,
    beam: int | None = None,
    count: int = 1,
    temperature: float | None = None,
    seed: int | None = None,
    max_words: int | None = None,
    regions: int = 0,
) -> Call[Captions]:
    """Describe a photo, the best sentence first.

    And up to `regions` of its regions.

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
    return _explain("/caption", model_of(Captions), fields, image)


def caption_picture(
    *,
    id: str | None = None,  # noqa: A002 - the service's own name
    image: Image | None = None,
    beam: int | None = None,
    kind: Picture = "png",
) -> Call[bytes]:
    """Draw the best caption and its boxes, as PNG or SVG."""
    return _explain("/caption", content_of, {"id": id, "beam": beam}, image, MEDIA_TYPES[kind])


def _explain(
    path: str,
    read: Callable[[httpx2.Response], Answer],
    fields: Mapping[str, Any],
    image: Image | None,
    accept: str = "application/json",
) -> Call[Answer]:
    data = None if image is None else read_image(image)
    return Call("POST", path, read, fields, data, accept=accept)
