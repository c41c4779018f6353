"""Items: a chosen id, metadata, pictures, sentences, and their bags."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from index.metadata import check_depth
from models.types import Box, FragmentBag, Span

LONGEST_ID = 1_024  # bytes: PostgreSQL indexes up to 2,704, and addresses take three for one
LONGEST_NAME = 200  # characters of a collection's name
UNREAD = "unread"  # ends the state in a stamp whose file has to be read again: no file has it
MOST_PHOTOS = 50  # of an item
MOST_SENTENCES = 1_000  # of an item
MOST_KEYS = 1_000  # at the top of an item's metadata: each is a column and a field to search
ITEM_TEXT = 2**20  # bytes of an item's metadata and sentences, by default
NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # as JSON writes it
NO_TEXT = re.compile("[\0\ud800-\udfff]")  # NUL, and halves of surrogate pairs


class ModelMismatch(ValueError):
    """A collection's bags come from another model than the loaded one."""


class Replaced(ModelMismatch):
    """A collection was dropped or replaced after it was opened."""


class Dropped(ModelMismatch):
    """A collection was dropped or replaced during a change.

    The change is not repeated.
    """


class NameConflict(ValueError):
    """A name is taken, or an alias still needs it."""


class ConditionFailed(ValueError):
    """An item is not at an expected revision."""


class NoSpace(OSError):
    """The disk is full, and nothing was stored."""


@dataclass(frozen=True, slots=True)
class Collection:
    """A named set of items with bags of one model.

    `token` is unique to its contents.
    """

    key: int
    token: str
    name: str
    fingerprint: str
    dimension: int
    score: str  # a name in models.scores.scoring.SCORES


@dataclass(frozen=True, slots=True)
class Expected:
    """The revisions of an item before a change: only or `but` these.

    Revision 0 stands for a missing item, so `Expected()` allows every change.
    """

    revisions: frozenset[int] = frozenset()
    but: bool = True

    def allows(self, revision: int) -> bool:
        """Return whether an item at this revision may be changed."""
        return (revision in self.revisions) != self.but

    def check(self, item: str, revision: int) -> None:
        """Raise ConditionFailed unless an item at this revision may be changed."""
        if not self.allows(revision):
            state = "is there already" if self == ABSENT else f"is at revision {revision}"
            state = state if revision else "is not there"
            raise ConditionFailed(f"item {item!r:.220} {state}, so nothing was changed")


ANY = Expected()
ABSENT = Expected(frozenset({0}), but=False)


@dataclass(frozen=True, slots=True)
class Picture:
    """The display copy of a photo, and the SHA-256 of the original."""

    jpeg: bytes
    width: int
    height: int
    digest: str


@dataclass(frozen=True, slots=True)
class PhotoInfo:
    """Size and digest of one picture of a stored item."""

    width: int
    height: int
    digest: str


def forget_state(stamp: str) -> str:
    """Make a stamp of a file to be read again; its size and its notes stay.

    >>> forget_state("12-34+5-6 rating=2e03a7")
    '12-unread rating=2e03a7'
    """
    state, space, noted = stamp.partition(" ")
    size, _, _ = state.partition("-")
    return f"{size}-{UNREAD}{space}{noted}" if size.isdecimal() else f"{UNREAD}{space}{noted}"


def is_unread(stamp: str | None) -> bool:
    """Return whether a stamp is one of `forget_state`."""
    return stamp is not None and stamp.partition(" ")[0].endswith(UNREAD)


@dataclass(frozen=True, slots=True)
class Item:
    """A stored item without its pictures and bags; `photos` are in order."""

    id: str
    revision: int
    metadata: dict[str, Any]
    source: str | None
    stamp: str | None
    sentences: tuple[str, ...]
    photos: tuple[PhotoInfo, ...]
    notes: tuple[str, ...] = ()  # how its metadata differs from the stored one

    def photo(self, number: int) -> PhotoInfo:
        """Return a photo by its number from 0, or raise LookupError."""
        check_photo(self.id, number, len(self.photos))
        return self.photos[number]


@dataclass(frozen=True, slots=True)
class Entry:
    """A complete item to be stored; ValueError names a mistake.

    `images` has one bag for each of the `pictures`, and `bags` one for each of the `sentences`.
    `source` is the path or URL of an item, and `stamp` its state at the time (its size
    and time of change, or a digest), so that a second import can skip it.
    """

    id: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    pictures: tuple[Picture, ...] = ()
    images: tuple[FragmentBag, ...] = ()
    sentences: tuple[str, ...] = ()
    bags: tuple[FragmentBag, ...] = ()
    source: str | None = None
    stamp: str | None = None

    def __post_init__(self) -> None:
        check_id(self.id)
        metadata_text(self.metadata)
        if not self.pictures and not self.sentences:
            raise ValueError(
                f"item {self.id!r} has neither a picture nor a sentence nor a title that is a text "
                "or a number; give one"
            )
        if len(self.pictures) > MOST_PHOTOS:
            raise ValueError(
                f"item {self.id!r} has {len(self.pictures)} photos; {MOST_PHOTOS} at most are kept"
            )
        if len(self.pictures) != len(self.images):
            raise ValueError(
                f"item {self.id!r} has {len(self.pictures)} pictures but {len(self.images)} bags"
            )
        if len(self.sentences) != len(self.bags):
            raise ValueError(
                f"item {self.id!r} has {len(self.sentences)} sentences but {len(self.bags)} bags"
            )
        for sentence in self.sentences:
            check_text("sentence", sentence)
        for image in self.images:
            _check_bag(self.id, "image", image, Box)
        for bag in self.bags:
            _check_bag(self.id, "sentence", bag, Span)


def check_dimension(collection: Collection, entries: Iterable[Entry]) -> None:
    """Refuse bags whose dimension is not the collection's."""
    for entry in entries:
        for bag in (*entry.images, *entry.bags):
            if bag.vectors.shape[1] != collection.dimension:
                raise ValueError(
                    f"item {entry.id!r} has vectors of {bag.vectors.shape[1]} numbers; "
                    f"collection {collection.name!r} holds vectors of {collection.dimension}"
                )


def check_id(item: str) -> None:
    """Refuse an empty id, a long one, and no Unicode."""
    check_text("an id", item)
    if not 1 <= (size := len(item.encode())) <= LONGEST_ID:
        raise ValueError(
            f"an id is 1 to {LONGEST_ID:,} bytes of UTF-8, got {size:,} bytes: {item[:300]!r}"
        )


def check_new_id(item: str) -> None:
    """Refuse an invalid id, and a step in an address."""
    check_id(item)
    _check_address(item)


def check_name(name: str, thing: str = "collection: its name") -> None:
    """Refuse a collection's name, empty, long, or not printable."""
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        raise ValueError(f"{thing} is 1 to {LONGEST_NAME} printable characters, got {name[:300]!r}")


def check_new_name(name: str) -> None:
    """Refuse an invalid name, spaces around it, a step in an address."""
    check_name(name, "a collection's name")
    if name != name.strip():
        raise ValueError(
            f"a collection's name has no space at its beginning or end, got {name!r}; leave it out"
        )
    _check_address(name)


def _check_address(end: str) -> None:
    if end in (".", ".."):
        raise ValueError(f"{end!r} is a step in an address, so no one could ask for it")


def check_text(kind: str, text: str) -> None:
    """Refuse text that databases cannot store."""
    if NO_TEXT.search(text):
        raise ValueError(f"{kind}: NUL and halves of surrogate pairs cannot be stored")


def check_photo(item: str, number: int, count: int) -> None:
    """Raise LookupError for a photo number unless 0 ≤ number < count."""
    if not count:
        raise LookupError(f"item {item!r} has sentences but no picture")
    if not 0 <= number < count:
        raise LookupError(f"item {item!r} has no photo {number}; its last one is {count - 1}")


def bucket_of(item: str) -> int:
    """Hash an id into one of the 65,536 buckets of shards.

    It is BLAKE2b (RFC 7693) with a digest of two bytes, of the id in UTF-8, big-endian.

    >>> bucket_of("a")
    7707
    """
    return int.from_bytes(blake2b(item.encode(), digest_size=2).digest(), "big")


def metadata_text(metadata: Mapping[str, Any]) -> str:
    """Write metadata as JSON text.

    ValueError unless it is a JSON object that can be stored.
    """
    if not isinstance(metadata, Mapping) or not all(isinstance(key, str) for key in metadata):
        raise ValueError(f"metadata is a JSON object with text keys, got {metadata!r:.200}")
    check_depth(metadata)
    try:
        text = json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as odd:
        key = next(filter(lambda key: not _is_plain(metadata[key]), metadata), None)
        raise ValueError(f"metadata must be plain JSON, and {key!r} is not: {odd}") from odd
    check_text("metadata", NUL.sub("\0", text))
    return text


def _is_plain(value: object) -> bool:
    """Return whether a value can be written as JSON."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def check_size(
    item: str, metadata: Mapping[str, Any], sentences: Sequence[str] = (), most: int = ITEM_TEXT
) -> None:
    """Refuse an item with too many keys, sentences or bytes.

    Stored items may have more: an earlier version had no limit for a patch.
    """
    if len(metadata) > MOST_KEYS:
        raise ValueError(
            f"item {item!r:.220} has {len(metadata):,} keys in its metadata; {MOST_KEYS:,} at most "
            "are kept, and an object below one of them may have more"
        )
    if len(sentences) > MOST_SENTENCES:
        raise ValueError(
            f"item {item!r:.220} has {len(sentences):,} sentences; {MOST_SENTENCES:,} at most are "
            "kept"
        )
    size = sum(len(text.encode()) for text in (metadata_text(metadata), *sentences))
    if size > most:
        raise ValueError(
            f"item {item!r:.220} has {size:,} bytes of metadata and sentences; {most:,} at most "
            "are kept (TESSERA_TEXT_BYTES)"
        )


def _check_bag(item: str, kind: str, bag: FragmentBag, place: type[Box | Span]) -> None:
    if len(bag) == 0:
        raise ValueError(f"item {item!r}: the {kind} bag is without fragments")
    if not all(isinstance(location, place) for location in bag.places):
        raise ValueError(f"item {item!r}: the places of the {kind} bag must be {place.__name__}s")
    if not bool(bag.vectors.isfinite().all()):
        raise ValueError(f"item {item!r} has a fragment vector that is not finite")
