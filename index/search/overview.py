"""Overviews of how a collection is searched, by one shard or several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from index.segments.reader import SegmentChain
from index.segments.rows import Side


@dataclass(frozen=True, slots=True)
class SideOverview:
    """The rows of one side by their finder, and unpublished ones."""

    found_by: Counter[str]
    in_memory: int

    @classmethod
    def of(cls, snapshot: SegmentChain, side: Side) -> SideOverview:
        """The overview of a snapshot's side."""
        found_by: Counter[str] = Counter()
        for segment in snapshot.segments:
            found_by["codes" if side in segment.structures else "scan"] += int(
                segment.sides[side].live.sum()
            )
        in_memory = sum(int(segment.sides[side].live.sum()) for segment in snapshot.tail)
        return cls(found_by, in_memory)

    @property
    def rows(self) -> int:
        """All of them."""
        return self.found_by.total()


@dataclass(frozen=True, slots=True)
class Overview:
    """The state of a collection's index.

    `bytes` are those of codes and summaries.
    revision: the change up to which all is searched. behind: the changes after it. unpublished: the
    changes that no segment on disk has.
    """

    segments: int
    bytes: int
    revision: int
    behind: int
    unpublished: int
    images: SideOverview
    sentences: SideOverview
    coverage: float = 1.0

    @classmethod
    def of(cls, snapshot: SegmentChain) -> Overview:
        """The overview of a snapshot."""
        return cls(
            segments=len(snapshot.published),
            bytes=sum(segment.size for segment in snapshot.segments),
            revision=snapshot.revision,
            behind=snapshot.behind,
            unpublished=snapshot.unpublished,
            images=SideOverview.of(snapshot, "images"),
            sentences=SideOverview.of(snapshot, "sentences"),
        )

    @classmethod
    def together(cls, shards: Sequence[Overview], coverage: float) -> Overview:
        """The overview of shards that answered, and their coverage."""
        return cls(
            segments=sum(shard.segments for shard in shards),
            bytes=sum(shard.bytes for shard in shards),
            revision=min((shard.revision for shard in shards), default=0),
            behind=max((shard.behind for shard in shards), default=0),
            unpublished=max((shard.unpublished for shard in shards), default=0),
            images=_together([shard.images for shard in shards]),
            sentences=_together([shard.sentences for shard in shards]),
            coverage=coverage,
        )


def _together(sides: Sequence[SideOverview]) -> SideOverview:
    found_by = sum((side.found_by for side in sides), Counter[str]())
    return SideOverview(found_by, sum(side.in_memory for side in sides))
