"""Facets of requests and of answers, and the places of pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from app.answers.cursors import Cursors
from app.schemas.facets import DateCount, FacetIn, FacetOut, SortIn
from index.documents.facet_counts import Facet
from index.listing.requests import FacetRequest, ListPlace, ListRequest


def read_list(
    facets: Sequence[str | FacetIn],
    sort: SortIn | None,
    limit: int,
    after: ListPlace | None,
    collapse: str | None = None,
) -> ListRequest:
    """The list that a request asks for."""
    return ListRequest(
        facets=read_facets(facets),
        sort=sort.key if sort else None,
        descending=sort is not None and sort.order == "desc",
        collapse=collapse,
        limit=limit,
        after=after,
    )


def read_facets(facets: Sequence[str | FacetIn]) -> tuple[FacetRequest, ...]:
    """The facets that a request asks for."""
    return tuple(
        FacetRequest(facet)
        if isinstance(facet, str)
        else FacetRequest(facet.key, facet.limit, tuple(facet.bounds), facet.by)
        for facet in facets
    )


def read_place(cursors: Cursors, cursor: str, kind: str) -> ListPlace:
    """Read the place where a page begins; ValueError for a cursor of an earlier version."""
    value = cursors.read(cursor, kind)
    if not isinstance(value, list):
        raise ValueError("cursor: an earlier version gave it; leave it out to start again")
    item, revision, score, sorted_by, seen = value
    return ListPlace(item, revision, score, tuple(sorted_by), seen)


def facet_out(facet: Facet) -> FacetOut:
    """A facet as JSON."""
    counted = asdict(facet)
    periods = counted.pop("periods") and facet.periods
    values = [{"value": value, "count": count} for value, count in facet.values]
    dates = [
        DateCount(value=period.value, count=period.count, filter={"prefix": period.prefix})
        for period in (periods.counts if periods else ())
    ]
    by = periods.by if periods else None
    return FacetOut.model_validate(counted | {"values": values, "dates": dates, "by": by})


def note_undated(asked: Sequence[str | FacetIn], facets: Sequence[Facet]) -> list[str]:
    """Write notes about facets by periods without dates."""
    levels = {request.key: request.by for request in read_facets(asked) if request.by}
    return [
        f"facets: {facet.key!r:.100} has no dates to count by {levels[facet.key]}."
        for facet in facets
        if facet.key in levels and facet.distinct and facet.periods is None
    ]
