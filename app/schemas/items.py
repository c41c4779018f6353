"""Items as they are sent and as they are stored, one, a page, or lines of an import."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from app.schemas.fields import Body, ItemId


class ItemBody(Body):
    """What an item holds beside its photo."""

    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    sentences: list[str] = Field(default_factory=list, max_length=1000)


class ImportLine(BaseModel):
    """One line of a bulk import; `image` is base64."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    id: str
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    sentences: list[str] = Field(default_factory=list, max_length=1000)
    image: str | None = None


class ImportStatus(BaseModel):
    """What became of one line of a bulk import: "stored" means safe on disk."""

    line: int
    id: str | None = None
    status: Literal["stored", "refused"]
    reason: str | None = None


class ItemOut(BaseModel):
    """A stored item; width and height are those of its display copy, 0 without a photo."""

    id: ItemId
    metadata: dict[str, Any]
    sentences: list[str]
    image: str | None
    width: int
    height: int


class StoredItem(ItemOut):
    """An item just stored, and what was left out of its photo."""

    notes: list[str] = []


class ItemsOut(BaseModel):
    """A page of items, in the order of their ids."""

    collection: str
    items: list[ItemOut]
    cursor: str | None
