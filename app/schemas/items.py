"""Items in requests and answers: single items, pages, and lines of imports."""

from __future__ import annotations

from types import EllipsisType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, JsonValue

from app.schemas.fields import (
    ALL,
    INTEGRAL,
    Body,
    DamagedItems,
    Filter,
    ImageUrl,
    ItemId,
    RequestBody,
    RequestPart,
    Thumbnail,
)
from app.schemas.hits import FragmentOut
from index.items import MOST_PHOTOS, MOST_SENTENCES, check_new_id, check_text

SENTENCE_BYTES = 2**17  # of an item: some 20,000 words, which take 15 s to embed


def new_id(text: str) -> str:
    """Return an id; ValueError if it cannot be stored."""
    check_new_id(text)
    return text


def stamp(text: str | None) -> str | None:
    """Return a stamp; ValueError if it cannot be stored."""
    check_text("stamp", text or "")
    return text


Images = Annotated[
    list[str],
    Field(
        max_length=MOST_PHOTOS,
        description="Further photos, in order: each as base64, or as an address like image_url.",
    ),
]
Stamp = Annotated[
    str | None,
    Field(
        max_length=200,
        description="A digest or time of the sender's own, given back as it is: by it a sync knows "
        "what has changed.",
    ),
    AfterValidator(stamp),
]
PhotoIndex = Annotated[int, Field(strict=True, ge=0), INTEGRAL]


def limit_sentences(sentences: list[str]) -> list[str]:
    """Check the length of sentences before their embedding.

    The time grows with their length.
    """
    size = sum(len(sentence.encode(errors="replace")) for sentence in sentences)
    if size > SENTENCE_BYTES:
        raise ValueError(
            f"they have {size:,} bytes together, and {SENTENCE_BYTES:,} at most are embedded; keep "
            "longer texts in metadata, where words are found too"
        )
    return sentences


ReadMetadata = Annotated[
    bool,
    Field(
        description="Add what the photos' files state, such as `taken` and `camera`, to the "
        "metadata, of which sent values stay (photos.md). Of a video or an animation several "
        "photos are kept."
    ),
]
Sentences = Annotated[list[str], AfterValidator(limit_sentences)]


class ItemBody(Body):
    """The fields of an item, next to its photo."""

    most_text, most_photos = ALL, MOST_PHOTOS
    metadata: dict[str, JsonValue] = Field(
        default_factory=dict, examples=[{"title": "Red cup", "price": 9.5}]
    )
    sentences: Sentences = Field(default_factory=list, max_length=MOST_SENTENCES)
    image_url: ImageUrl = None
    images: Images = Field(default_factory=list)
    read_metadata: ReadMetadata = False
    stamp: Stamp = None


class ImportLine(RequestPart):
    """A line of a bulk import; `image` is base64, `image_url` an address."""

    id: Annotated[str, AfterValidator(new_id)]
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    sentences: Sentences = Field(default_factory=list, max_length=MOST_SENTENCES)
    image: str | None = None
    image_url: ImageUrl = None
    images: Images = Field(default_factory=list)
    read_metadata: ReadMetadata = False
    stamp: Stamp = None


class ImportStatus(BaseModel):
    """The outcome of a bulk import's line.

    "stored" means safe on disk.
    """

    line: int
    id: str | None = None
    status: Literal["stored", "refused"]
    reason: str | None = None


class ItemPatch(RequestBody):
    """A merge patch (RFC 7396) of a stored item, and its new list of photos.

    Its sentences stay as they are, and no photo that stays is embedded again.
    """

    most_text, most_photos = ALL, MOST_PHOTOS
    media_types = ("application/merge-patch+json", "application/json")
    metadata: dict[str, JsonValue] | None = Field(
        default_factory=dict,
        description="Objects are merged, null deletes a key; null instead of all deletes all.",
    )
    images: Annotated[list[PhotoIndex | str], Field(max_length=MOST_PHOTOS)] | None = Field(
        None,
        description="All photos in order: numbers of photos that stay, from 0, and new photos, "
        "as base64 or an address.",
    )
    stamp: Stamp = Field(None, description="Another stamp; null removes it.")

    @property
    def changed_stamp(self) -> str | EllipsisType | None:
        """The new stamp; `...` if it stays."""
        return self.stamp if "stamp" in self.model_fields_set else ...


class Listing(BaseModel):
    """The filter of a page of items."""

    filter: Filter


class Deletion(Body):
    """Items to delete: by their ids, or by a filter."""

    most_text = ALL
    ids: Annotated[list[ItemId], Field(min_length=1, max_length=10_000)] | None = None
    filter: Filter | None = None
    dry_run: bool = Field(False, description="Count the items, and delete none.")


class DeletionOut(BaseModel):
    """The numbers of matching and deleted items.

    A dry run deletes 0.
    """

    collection: str
    matched: int
    deleted: int


class Restoration(Body):
    """Deleted photos of folders to store again, by their ids."""

    most_text = ALL
    ids: Annotated[list[ItemId], Field(min_length=1, max_length=10_000)]


class RestorationOut(BaseModel):
    """Photos of the next import of their folder.

    A service that follows the folder imports them at once.
    """

    collection: str
    restored: list[str]
    unknown: list[str] = Field(description="Ids of no deleted photo of a folder: send these again.")


class PhotoOut(BaseModel):
    """A stored photo, with the size of its display copy."""

    image: str
    thumbnail: Thumbnail
    width: int
    height: int


class ItemOut(BaseModel):
    """A stored item, with the size of its first photo; 0 without one."""

    id: ItemId
    metadata: dict[str, Any]
    sentences: list[str]
    image: str | None
    thumbnail: Thumbnail
    width: int
    height: int
    images: list[PhotoOut]
    stamp: str | None = Field(description="What was sent as its stamp.")
    notes: list[str] = Field([], description="What is not given as it was sent.")


class SingleItem(ItemOut):
    """A stored item, read by its id."""

    original: bool = Field(
        False, description="Whether /items/{id}/original has the file that it was imported from."
    )


class MagnitudeOut(FragmentOut):
    """A region or a fragment of a sentence, with its vector's length."""

    fragment: int = Field(description="Its number in the photo or the sentence, from 0.")
    magnitude: float


class MagnitudesOut(BaseModel):
    """The longest vectors of each photo and sentence of an item."""

    id: ItemId
    photos: list[list[MagnitudeOut]]
    sentences: list[list[MagnitudeOut]]


class StoredItem(ItemOut):
    """A newly stored item.

    Its notes name the parts of photos that were left out.
    """


class ItemsOut(BaseModel):
    """A page of items, in the order of their ids."""

    collection: str
    items: list[ItemOut]
    cursor: str | None
    damaged: DamagedItems = []
