"""Near-duplicates as JSON: series of photos, with their bytes."""

from __future__ import annotations

from pydantic import BaseModel, Field

from app.schemas.fields import Thumbnail


class DuplicateOut(BaseModel):
    """A photo of a series."""

    id: str
    bytes: int = Field(description="Of its files, as they were imported.")
    largest: bool = Field(description="Whether it has the largest file: the one to keep, if any.")
    same_file: bool = Field(description="Whether the largest has the same content, byte by byte.")
    taken: str | None
    image: str | None = Field(description="The address of its display copy.")
    thumbnail: Thumbnail
    width: int
    height: int


class SeriesOut(BaseModel):
    """Near-duplicates: copies of a photo, or shots of a burst."""

    series: str = Field(description="The value of the key `series` of these items.")
    photos: int
    bytes: int = Field(description="Of all files but the largest.")
    items: list[DuplicateOut] = Field(description="The largest first, up to a hundred.")


class DuplicatesOut(BaseModel):
    """The series of a collection, the largest first."""

    collection: str
    series: int = Field(description="How many there are.")
    photos: int = Field(description="How many photos they have together.")
    bytes: int = Field(
        description="Of all their files but the largest of each. Deleting items frees none of "
        "them: originals are never touched."
    )
    groups: list[SeriesOut]
    cursor: str | None
