"""Snapshots as the service lists them."""

from __future__ import annotations

from pydantic import AwareDatetime, BaseModel, Field


class SnapshotCollection(BaseModel):
    """A collection in a snapshot."""

    name: str
    items: int
    revision: int
    model: str = Field(description="The fingerprint of the model that made it.")


class SnapshotOut(BaseModel):
    """A snapshot and its address for download."""

    name: str
    url: str
    bytes: int
    made: AwareDatetime
    pictures: int
    collections: list[SnapshotCollection]


class MadeSnapshot(SnapshotOut):
    """A new snapshot."""

    lost: int = Field(description="Pictures that items name and the service has lost.")


class BegunSnapshot(BaseModel):
    """An unfinished snapshot, and its later address."""

    name: str
    url: str


class ForeignFile(BaseModel):
    """A file among the snapshots, but not one of them."""

    name: str
    bytes: int
    problem: str = Field(description="Why it is none, or cannot be read.")


class SnapshotsOut(BaseModel):
    """The snapshots there are, the newest first."""

    snapshots: list[SnapshotOut]
    making: BegunSnapshot | None = Field(description="The one that is being made.")
    foreign: list[ForeignFile] = Field(
        description="What else in the folder has a name that ends in .tar."
    )
