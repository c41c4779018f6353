"""Schemas of the system: models, the index, example queries."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from app.schemas.emoji import PhotoText
from app.schemas.fields import SEARCH, Body, ItemId, Limit


class ExampleOut(BaseModel):
    """A query for a demonstration, and the id of its item."""

    text: str
    id: ItemId


class ExamplesOut(BaseModel):
    """Example queries of the page; none if the collection holds no demonstration."""

    queries: list[ExampleOut]


class ModelOut(BaseModel):
    """A loaded checkpoint."""

    name: str
    fingerprint: str


class MatcherOut(ModelOut):
    """The loaded matcher."""

    dimension: int
    score: str


class Limits(BaseModel):
    """The limits of uploads."""

    upload_bytes: int = Field(description="Of one image file.")
    item_bytes: int = Field(description="Of all image files of an item together.")
    upload_pixels: int
    text_bytes: int


class ModelsOut(BaseModel):
    """The loaded models, and the limits of uploads."""

    matcher: MatcherOut
    captioner: ModelOut | None
    region_captioner: ModelOut | None
    grounder: ModelOut | None
    limits: Limits


class SideOut(BaseModel):
    """Statistics of the photos or the sentences of a collection."""

    rows: int
    in_memory: int = Field(description="Rows that no file has yet.")
    found_by: dict[str, int] = Field(description='Rows by what finds them: "scan", "codes".')


class IndexOut(BaseModel):
    """Statistics of a collection's index."""

    collection: str
    segments: int
    bytes: int = Field(description="Bytes of codes and summaries, in files and in memory.")
    revision: int = Field(description="The change up to which everything is searched.")
    behind: int = Field(description="Changes that the index has not taken in yet; 0 if whole.")
    items: int = Field(description="Items that are stored.")
    coverage: float = Field(description="The share of it whose shards answer; 1 without a cluster.")
    coming: int = Field(description="What imports on this machine still bring, as far as known.")
    importing: bool = Field(description="Whether an import on this machine runs, or starts.")
    images: SideOut
    sentences: SideOut


class AuditRequest(Body):
    """Queries to answer twice, as usual and exactly.

    The default is the newest searches, of either side.
    """

    most_text = SEARCH
    side: Annotated[
        Literal["images", "sentences"],
        Field(description="What the queries look for: photos, or sentences like them."),
    ] = "images"
    queries: Annotated[list[PhotoText], Field(min_length=1, max_length=200)] | None = None
    limit: Limit = 10


class AuditOut(BaseModel):
    """The share of exact hits in the usual answers."""

    collection: str
    queries: int
    recall: float | None = Field(description="The mean over queries; null where there were none.")
    worst: float | None = Field(description="The smallest of any query.")
    note: str | None = Field(description="Why there were no queries, where there were none.")
