"""Drafts: items to be embedded, with their photos decoded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from hashlib import sha256
from itertools import chain, islice
from typing import Any

from torch import Tensor

from app.telemetry.requests import stage
from index.items import Entry, Picture
from models.registry import Matcher
from models.text.limits import MOST_WORDS
from models.types import FragmentBag
from models.vision import images
from models.vision.images import DisplayCopy
from models.vision.visible_words import VisibleWord

TITLES = ("title", "name")  # keys of metadata
LONGEST_TITLE = 1_000  # characters; of a longer one the beginning is embedded
WORD = re.compile(r"[^\W_]+")  # about the words that a parser finds
TOGETHER = 4  # photos in one batch: each takes some 50 MB while it is embedded
Decode = Callable[[bytes], DisplayCopy]  # images.read, or a pool of processes that do it


@dataclass(frozen=True, slots=True)
class PhotoFile:
    """The photos of a file, several of a video, and its metadata.

    A digest stands for each photo's original. The words in each photo are empty if not read.
    """

    copies: tuple[DisplayCopy, ...]
    digests: tuple[str, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[tuple[VisibleWord, ...], ...] = ()
    notes: tuple[str, ...] = ()  # on all photos


@dataclass(frozen=True, slots=True)
class Draft:
    """An item to be embedded; each of the `pictures` has its `pixels`."""

    id: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    pictures: tuple[Picture, ...] = ()
    pixels: tuple[Tensor, ...] = ()  # uint8 (3, height, width), as the pictures show them
    sentences: tuple[str, ...] = ()
    source: str | None = None
    stamp: str | None = None
    notes: tuple[str, ...] = ()  # what was left out of the photos
    spare_id: str | None = None  # where another item has its id

    @classmethod
    def of(cls, entry: Entry) -> Draft:
        """A stored item, to be embedded again from its display copies."""
        return cls(
            entry.id,
            entry.metadata,
            entry.pictures,
            tuple(images.decode(picture.jpeg).pixels for picture in entry.pictures),
            entry.sentences,
            entry.source,
            entry.stamp,
        )

    def with_title(self) -> Draft:
        """Take the title for a sentence if there is nothing else."""
        if self.pictures or self.sentences or (title := title_of(self.metadata)) is None:
            return self
        return replace(self, sentences=(title,))

    def with_photo(self, data: bytes, decode: Decode = images.read) -> Draft:
        """Decode one more photo and keep its display copy.

        ImageError for what is no photo.
        """
        return self.with_file(PhotoFile((decode(data),), (sha256(data).hexdigest(),)))

    def with_file(self, file: PhotoFile) -> Draft:
        """Keep the photos of a file; its metadata is left out."""
        pictures = (
            Picture(copy.jpeg, copy.width, copy.height, digest)
            for copy, digest in zip(file.copies, file.digests, strict=True)
        )
        notes = chain.from_iterable(copy.notes for copy in file.copies)
        return replace(
            self,
            pictures=(*self.pictures, *pictures),
            pixels=(*self.pixels, *(copy.pixels for copy in file.copies)),
            notes=tuple(dict.fromkeys((*self.notes, *notes, *file.notes))),
        )

    def with_photos(self, photos: Iterable[bytes], decode: Decode = images.read) -> Draft:
        """Decode more photos, in order."""
        return reduce(lambda draft, data: draft.with_photo(data, decode), photos, self)


def title_of(metadata: Mapping[str, Any]) -> str | None:
    """Return an item's title, or its name; None without one.

    Of a long one the beginning, so that it can be embedded.
    """
    values = (metadata.get(key) for key in TITLES)
    texts = (str(value) for value in values if type(value) in (str, int, float))
    title = next(filter(None, map(str.strip, texts)), None)
    if title is None or (len(title) <= LONGEST_TITLE and len(WORD.findall(title)) <= MOST_WORDS):
        return title
    words = list(islice(WORD.finditer(title[:LONGEST_TITLE]), MOST_WORDS))
    return title[: words[-1].end()] if words else None


def embed(matcher: Matcher, drafts: Sequence[Draft]) -> Iterator[Entry]:
    """Entries of drafts: photos in small batches, all sentences in one.

    ValueError for what cannot be embedded.
    """
    drafts = [draft.with_title() for draft in drafts]
    photo_bags = _embed_photos(matcher, drafts)
    text_bags = iter(_embed_sentences(matcher, drafts))
    for draft in drafts:
        yield Entry(
            draft.id,
            draft.metadata,
            draft.pictures,
            tuple(photo_bags[picture.jpeg] for picture in draft.pictures),
            draft.sentences,
            tuple(next(text_bags) for _ in draft.sentences),
            draft.source,
            draft.stamp,
        )


def _embed_photos(matcher: Matcher, drafts: Sequence[Draft]) -> dict[bytes, FragmentBag]:
    """Embed each photo of drafts once; return bags by display copies."""
    embed_photos = stage("embed_photo")(matcher.embed_images)
    pairs = (zip(draft.pictures, draft.pixels, strict=True) for draft in drafts)
    photos = {picture.jpeg: pixels for picture, pixels in chain.from_iterable(pairs)}
    pixels = list(photos.values())
    parts = (embed_photos(pixels[at : at + TOGETHER]) for at in range(0, len(pixels), TOGETHER))
    return dict(zip(photos, chain.from_iterable(parts), strict=True))


def _embed_sentences(matcher: Matcher, drafts: Sequence[Draft]) -> list[FragmentBag]:
    """Embed all sentences of drafts; ValueError names one that cannot be embedded."""
    pairs = [(draft.id, text) for draft in drafts for text in draft.sentences]
    if not pairs:
        return []
    embed_texts = stage("embed_text")(matcher.embed_sentences)
    try:
        return embed_texts([text for _, text in pairs])
    except ValueError:
        for item, text in pairs:
            try:
                embed_texts([text])
            except ValueError as wrong:
                raise ValueError(f"item {item!r}: its text {text!r:.60}: {wrong}") from wrong
        raise
