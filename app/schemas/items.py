"""Items as they are sent and as they are stored, one, a page, or lines of an import."""

from __future__ import annotations

from types import EllipsisType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from app.schemas.fields import INTEGRAL, Body, DamagedItems, Filter, ImageUrl, ItemId
from index.items import MOST_PHOTOS, MOST_SENTENCES, check_new_id, check_text

SENTENCE_BYTES = 2**17  # of an item: some 20,000 words, which take 15 s to embed


def new_id(text: str) -> str:
    """An id that an item may be stored by; ValueError for another."""
    check_new_id(text)
    return text


def stamp(text: str | None) -> str | None:
    """A stamp that databases hold; ValueError for another."""
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


def bounded_sentences(sentences: list[str]) -> list[str]:
    """Sentences that are embedded in bearable time, which grows with their length."""
    size = sum(len(sentence.encode(errors="replace")) for sentence in sentences)
    if size > SENTENCE_BYTES:
        raise ValueError(
            f"they have {size:,} bytes together, and {SENTENCE_BYTES:,} at most are embedded; keep "
            "longer texts in metadata, where words are found too"
        )
    return sentences


Sentences = Annotated[list[str], AfterValidator(bounded_sentences)]


class ItemBody(Body):
    """What an item holds beside its photo."""

    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    sentences: Sentences = Field(default_factory=list, max_length=MOST_SENTENCES)
    image_url: ImageUrl = None
    images: Images = Field(default_factory=list)
    stamp: Stamp = None


class ImportLine(BaseModel):
    """One line of a bulk import; `image` is base64, or `image_url` says where it is."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    id: Annotated[str, AfterValidator(new_id)]
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    sentences: Sentences = Field(default_factory=list, max_length=MOST_SENTENCES)
    image: str | None = None
    image_url: ImageUrl = None
    images: Images = Field(default_factory=list)
    stamp: Stamp = None


class ImportStatus(BaseModel):
    """What became of one line of a bulk import: "stored" means safe on disk."""

    line: int
    id: str | None = None
    status: Literal["stored", "refused"]
    reason: str | None = None


class ItemPatch(BaseModel):
    """A merge patch (RFC 7396) of a stored item, and its photos where they change.

    Its sentences stay as they are, and no photo that stays is embedded again.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    metadata: dict[str, JsonValue] | None = Field(
        default_factory=dict,
        description="Objects are merged, null deletes a key; null in place of it deletes all.",
    )
    images: Annotated[list[PhotoIndex | str], Field(max_length=MOST_PHOTOS)] | None = Field(
        None,
        description="All photos that the item is to have, in order: the numbers of those that "
        "stay, from 0, and new ones, as base64 or an address.",
    )
    stamp: Stamp = Field(None, description="Another stamp; null removes it.")

    @property
    def changed_stamp(self) -> str | EllipsisType | None:
        """The stamp that the item is to have; `...` where it stays."""
        return self.stamp if "stamp" in self.model_fields_set else ...


class Listing(BaseModel):
    """What the items of a page have."""

    filter: Filter


class Deletion(Body):
    """Which items to delete: those with some ids, or those that a filter lets through."""

    ids: Annotated[list[ItemId], Field(min_length=1, max_length=10_000)] | None = None
    filter: Filter | None = None
    dry_run: bool = Field(False, description="Count the items, and delete none.")


class DeletionOut(BaseModel):
    """How many items were meant, and how many were deleted: none in a dry run."""

    collection: str
    matched: int
    deleted: int


class PhotoOut(BaseModel):
    """A stored photo; width and height are those of its display copy."""

    image: str
    width: int
    height: int


class ItemOut(BaseModel):
    """A stored item; width and height are those of its first photo, 0 without one."""

    id: ItemId
    metadata: dict[str, Any]
    sentences: list[str]
    image: str | None
    width: int
    height: int
    images: list[PhotoOut]
    stamp: str | None = Field(description="What was sent as its stamp.")
    notes: list[str] = Field([], description="What is not given as it was sent.")


class StoredItem(ItemOut):
    """An item just stored; its notes say what was left out of its photos."""


class ItemsOut(BaseModel):
    """A page of items, in the order of their ids."""

    collection: str
    items: list[ItemOut]
    cursor: str | None
    damaged: DamagedItems = []
