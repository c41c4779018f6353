"""Collections and their aliases as JSON."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from app.schemas.fields import NAMES, RequestBody
from index.items import LONGEST_NAME

Name = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LONGEST_NAME,
        description="Printable characters, without a space at its beginning or end.",
    ),
]


class CollectionOut(BaseModel):
    """A named set of items with one model, as read here.

    After `tessera index --reembed --keep`, a service of the former model reads what was kept.
    """

    name: str
    aliases: list[str] = Field(description="Other names that stand for it.")
    items: int
    coming: int = Field(description="What imports on this machine still bring, as far as known.")
    importing: bool = Field(description="Whether an import on this machine runs, or starts.")
    model: str = Field(description="The fingerprint of the model that made it.")
    dimension: int
    score: str
    usable: bool = Field(description="Whether the loaded model made it.")


class CollectionsOut(BaseModel):
    """The collections there are, by name."""

    collections: list[CollectionOut]


class UnreadOut(BaseModel):
    """A kind of files left out of an import."""

    kind: str
    count: int
    examples: list[str] = Field(description="Places of some.")


class RefusedOut(BaseModel):
    """A refused file or row."""

    place: str
    reason: str


class ImportOut(BaseModel):
    """The last import of some paths: counts, and unread files."""

    paths: list[str]
    ended: str = Field(description="When, in UTC: 2026-05-01T12:00:00+00:00.")
    counts: dict[str, int] = Field(description="By status: stored, patched, skipped, refused …")
    unread: list[UnreadOut]
    refused: list[RefusedOut] = Field(description="The first hundred.")
    kept: list[str] = Field(description="Why items of missing files were not deleted.")


class ImportsOut(BaseModel):
    """The last imports into a collection on this machine, the newest first."""

    imports: list[ImportOut]


class Renaming(RequestBody):
    """Another name for a collection."""

    most_text = NAMES

    name: Name
    alias: bool = Field(False, description="Leave the old name as an alias.")


class AliasTarget(RequestBody):
    """The new collection of an alias."""

    most_text = NAMES

    collection: Name


class AliasOut(BaseModel):
    """Another name of a collection."""

    name: str
    collection: str


class AliasesOut(BaseModel):
    """The aliases there are, by name."""

    aliases: list[AliasOut]
