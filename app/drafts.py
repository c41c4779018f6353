"""Drafts: items that are still to be embedded, with their photos decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import chain
from typing import Any

from torch import Tensor

from app.stages import stage
from index.items import Entry, Picture
from models import images
from models.images import DisplayCopy
from models.registry import Matcher

TOGETHER = 4  # photos in one batch: each takes some 50 MB while it is embedded
Decode = Callable[[bytes], DisplayCopy]  # images.read, or a pool of processes that do it


@dataclass(frozen=True, slots=True)
class Draft:
    """An item that is still to be embedded; `picture` and `pixels` come together."""

    id: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    picture: Picture | None = None
    pixels: Tensor | None = None  # uint8 (3, height, width), as the picture shows them
    sentences: tuple[str, ...] = ()
    source: str | None = None
    stamp: str | None = None
    notes: tuple[str, ...] = ()  # what was left out of the photo

    @classmethod
    def of(cls, entry: Entry) -> Draft:
        """A stored item, to be embedded again from its display copy."""
        return cls(
            entry.id,
            entry.metadata,
            entry.picture,
            images.decode(entry.picture.jpeg).pixels if entry.picture else None,
            entry.sentences,
            entry.source,
            entry.stamp,
        )

    def with_photo(self, data: bytes, decode: Decode = images.read) -> Draft:
        """Decode a photo's bytes and keep their display copy; ImageError if there is none."""
        copy = decode(data)
        picture = Picture(copy.jpeg, copy.width, copy.height, sha256(data).hexdigest())
        return replace(self, picture=picture, pixels=copy.pixels, notes=copy.notes)


def embed(matcher: Matcher, drafts: Sequence[Draft]) -> Iterator[Entry]:
    """Entries of drafts: photos in small batches, all sentences in one.

    ValueError for what cannot be embedded.
    """
    photos = [draft.pixels for draft in drafts if draft.pixels is not None]
    texts = [text for draft in drafts for text in draft.sentences]
    embed_photos = stage("embed_photo")(matcher.embed_images)
    photo_bags = chain.from_iterable(
        embed_photos(photos[at : at + TOGETHER]) for at in range(0, len(photos), TOGETHER)
    )
    text_bags = iter(stage("embed_text")(matcher.embed_sentences)(texts) if texts else [])
    for draft in drafts:
        yield Entry(
            draft.id,
            draft.metadata,
            draft.picture,
            next(photo_bags) if draft.pixels is not None else None,
            draft.sentences,
            tuple(next(text_bags) for _ in draft.sentences),
            draft.source,
            draft.stamp,
        )
