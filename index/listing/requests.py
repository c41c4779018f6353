"""Requests for a list of items: its order, facets, groups and page."""

from __future__ import annotations

from dataclasses import dataclass

from index.conditions import Scalar
from index.documents.calendar import Level
from index.search.requests import FARTHEST


@dataclass(frozen=True, slots=True)
class FacetRequest:
    """A key whose `most` frequent values are counted; numbers in ranges between bounds.

    Dates are counted `by` years, months or days; None chooses by their span.
    """

    key: str
    most: int = 20
    bounds: tuple[float, ...] = ()
    by: Level | None = None


@dataclass(frozen=True, slots=True)
class ListPlace:
    """The place of a hit in its list, and the number of hits `seen` up to it.

    `value` has the value that the list is sorted by, if there is one.
    """

    id: str
    revision: int
    score: float
    value: tuple[Scalar, ...]
    seen: int


@dataclass(frozen=True, slots=True)
class ListRequest:
    """A list of items: `limit` of them behind a place.

    They come by the values of the key `sort`, or by score. Of each value of `collapse` the first
    item comes alone.
    """

    facets: tuple[FacetRequest, ...] = ()
    sort: str | None = None
    descending: bool = False
    collapse: str | None = None
    limit: int = 20
    after: ListPlace | None = None

    def __post_init__(self) -> None:
        if self.seen + self.limit > FARTHEST:
            raise ValueError(f"hits beyond {FARTHEST:,} are not given; narrow the search down")

    @property
    def seen(self) -> int:
        """The number of hits on the pages before."""
        return 0 if self.after is None else self.after.seen

    @property
    def listed_keys(self) -> dict[str, None]:
        """The metadata keys that it counts, sorts or collapses by."""
        named = [facet.key for facet in self.facets]
        return dict.fromkeys(key for key in (*named, self.sort, self.collapse) if key)
