"""Drafts: items that are still to be embedded, with their photos decoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from torch import Tensor

from index.items import Entry, Picture
from models import images
from models.registry import Matcher


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

    def with_photo(self, data: bytes, **limits: int) -> Draft:
        """Decode a photo's bytes and keep their display copy; ImageError if there is none."""
        photo = images.decode(data, longest=images.DISPLAY_SIDE, **limits)
        copy = images.display_copy(photo)
        picture = Picture(copy.jpeg, copy.width, copy.height, sha256(data).hexdigest())
        return replace(self, picture=picture, pixels=copy.pixels, notes=photo.notes)


def embed(matcher: Matcher, drafts: Sequence[Draft]) -> Iterator[Entry]:
    """Entries of drafts: all photos in one batch, all sentences in another.

    ValueError for what cannot be embedded.
    """
    photos = [draft.pixels for draft in drafts if draft.pixels is not None]
    texts = [text for draft in drafts for text in draft.sentences]
    photo_bags = iter(matcher.embed_images(photos) if photos else [])
    text_bags = iter(matcher.embed_sentences(texts) if texts else [])
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
