"""Requests and answers of listed photos."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from index.documents.facet_counts import Facet
from index.listing.requests import ListPlace
from index.search.requests import Hit


@dataclass(frozen=True, slots=True)
class PhotoCounts:
    """Counts of all photos of a search.

    total: items. facets: their values. rows: the photos that there are to search. behind: how many
    changes of the catalog are not searched yet. coverage: the share of the collection that was.
    damaged: items that are left out because what is stored of them is damaged. groups: how many
    hits there are, where items are collapsed.
    """

    total: int
    facets: tuple[Facet, ...]
    rows: int
    behind: int
    coverage: float
    damaged: frozenset[str]
    groups: int | None = None


@dataclass(frozen=True, slots=True)
class PhotoPage:
    """A page of listed items, and the place of the next one.

    `hits` are their best photos by id; none where looks are not asked for. `named` is what words
    give to items there, and `variants` how many items of the list each stands for.
    """

    ids: tuple[str, ...]
    hits: Mapping[str, Hit]
    named: Mapping[str, float]
    variants: Mapping[str, int]
    place: ListPlace | None
    damaged: frozenset[str] = frozenset()
