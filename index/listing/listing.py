"""Pages and facets of chosen documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from index.distinct import find_distinct
from index.documents.columns import Codes, Mask
from index.documents.documents import Documents
from index.documents.facet_counts import Facet
from index.filters import parse
from index.listing.paging import RankedPage, RankKeys
from index.listing.requests import ListRequest
from index.search.requests import Groups


def mask_passing(documents: Documents, where: Mapping[str, Any] | None) -> Mask:
    """Mark the live documents (N,) behind a filter."""
    return documents.live & documents.passing(parse(where))


def locate(revisions: Codes, wanted: Codes) -> tuple[Codes, Codes]:
    """Find the places of wanted revisions among sorted others; also which ones are there."""
    places = np.searchsorted(revisions, wanted)
    present = np.flatnonzero(places < len(revisions))
    present = present[revisions[places[present]] == wanted[present]]
    return places[present], present


def find_page(
    documents: Documents,
    request: ListRequest,
    chosen: Codes,
    scores: NDArray[np.float64],
    errors: NDArray[np.float64] | None = None,
) -> RankedPage:
    """Order chosen documents with scores (M,), and find the page of a request.

    Scores may be off by `errors` (M,). Read under the documents' lock.
    """
    keys = RankKeys.of(documents, request, chosen, scores)
    behind = keys.behind(documents, request)
    if request.collapse:
        order = keys.order(np.arange(len(chosen)))
        first, variants = collapse(documents, request.collapse, chosen, order)
        groups, left = len(first), behind[first]
        first, variants = first[left], variants[left]
    else:
        first = np.flatnonzero(behind)
        groups, variants = len(behind), np.ones(len(first), np.int64)
    more = len(first) > request.limit
    if not request.collapse:
        first = keys.order(first, request.limit)
    page = slice(0, request.limit)
    place = keys.place(documents, request, int(first[page][-1])) if more else None
    doubtful = np.zeros(len(chosen), np.bool_)
    if errors is not None:
        doubtful = keys.mask_doubtful(documents, request, errors, first[page])
    return RankedPage(first[page], variants[page], groups, place, doubtful)


def collapse(documents: Documents, key: str, chosen: Codes, order: Codes) -> tuple[Codes, Codes]:
    """Keep the first document of each group in an order; also the groups' sizes."""
    groups = number_groups(documents, key)[chosen[order]]
    counts = np.bincount(groups)
    first = np.full(len(counts), len(groups))
    np.minimum.at(first, groups, np.arange(len(groups)))
    best = np.sort(first[counts > 0])
    return order[best], counts[groups[best]]


def number_groups(documents: Documents, key: str) -> Codes:
    """Number the groups of documents (N,) with the same value of a key.

    Those without one have a group each.
    """
    column = documents.columns.get(key)
    if column is None:
        return np.arange(len(documents))
    groups = column.first_codes(len(documents))
    alone = np.flatnonzero(groups < 0)
    groups[alone] = len(column.values) + np.arange(len(alone))
    return groups


def read_groups(documents: Documents, key: str, token: str) -> Groups:
    """The groups of live documents by a key, for searches of the collection of a token.

    Read under the documents' lock.
    """
    numbers, live = number_groups(documents, key), documents.live
    sizes = np.bincount(numbers[live], minlength=int(numbers.max(initial=0)) + 1)
    grouped = live & (sizes[numbers] > 1)
    return Groups(token, documents.revisions[grouped], numbers[grouped])


def count_facets(
    documents: Documents, request: ListRequest, counted: Mask
) -> tuple[tuple[Facet, ...], int]:
    """Count the values of a request's keys among the documents of a mask (N,), and these.

    With `collapse`, of each of its groups a value counts once: as a filter on it shows then.
    """
    groups = number_groups(documents, request.collapse) if request.collapse else None
    counted_groups = np.flatnonzero(counted) if groups is None else find_distinct(groups[counted])
    count = len(counted_groups)
    facets = []
    for asked in request.facets:
        column = documents.columns.get(asked.key)
        facets.append(
            Facet(asked.key, (), 0, count)
            if column is None
            else column.facet(asked.key, counted, asked.most, asked.bounds, asked.by, groups)
        )
    return tuple(facets), count
