"""The best of a group is a hit, page after page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from index.cluster.merged import Contenders
from index.listing.listing import read_groups
from index.search.query import terms_of
from index.search.requests import Groups, Request
from models.text.queries import Query
from models.types import FragmentBag, Span

SIZE, GROUPS = 60, 7


@pytest.fixture
def grouped(catalog, collection, index, entry):
    """A request for items: two thirds of them are in groups."""
    metadata = [{} if n % 3 == 0 else {"series": f"{n % GROUPS}"} for n in range(SIZE)]
    catalog.put_many(
        collection,
        [
            entry(f"{n:02}", sentences=0, photos=1 + n % 2, metadata=metadata[n])
            for n in range(SIZE)
        ],
    )
    documents = index.documents.current()
    groups = read_groups(documents, "series", collection.token)
    query = FragmentBag(torch.ones(2, 8), (Span(0, 1), Span(2, 3)), ("a", "b"))
    return Request("images", Query((query,), (1.0,), "a b"), limit=5, groups=groups)


def best_of_groups(index, request):
    """The first of each group among all hits without groups."""
    whole = index.best(replace(request, groups=None, limit=SIZE, exact=True))
    first = {}
    for hit in whole.hits:
        number = int(request.number_hits(np.array([hit.revision]))[0])
        first.setdefault(number, hit.key)
    return list(first.values())


@pytest.mark.parametrize("exact", [True, False])
def test_pages_of_groups_are_the_best_of_each(grouped, index, exact):
    request = after = replace(grouped, exact=exact)
    found = []
    while answer := index.best(after).hits:
        found += answer
        after = request.behind(answer[-1], len(found))
    assert [hit.key for hit in found] == best_of_groups(index, request)
    assert len(found) == SIZE / 3 + GROUPS


def test_a_group_in_two_shards_is_one_hit_on_any_page(grouped, index):
    terms = terms_of(grouped.query, grouped.role)
    every = best_of_groups(index, grouped)
    request, found = grouped, []
    for _ in range(4):
        snapshot = index.snapshot()
        whole = index._scanner.find_contenders(request, terms, snapshot).contenders
        halves = [whole.only(whole.revisions % 2 == side) for side in (0, 1)]
        parts = [half.among_best(request) for half in halves]
        best = index._exact.best(Contenders.together(parts), request, terms).hits
        found += best[: request.limit]
        request = grouped.behind(found[-1], len(found))
    assert [hit.key for hit in found] == every[: len(found)]


def test_groups_of_another_collection_are_left_out(grouped, index):
    other = Groups("another", grouped.groups.revisions, grouped.groups.codes)
    whole = replace(grouped, groups=other, limit=SIZE)
    assert len(index.best(whole).hits) == SIZE
