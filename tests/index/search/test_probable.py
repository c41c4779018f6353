"""All photos from a probability on are those of an exhaustive search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from index.catalog.catalog import Catalog
from index.items import Collection
from index.search.index import Index
from index.search.requests import Request
from models.text.queries import Query
from tests.index.conftest import MakeBag, MakeEntry
from tests.index.searches import CALIBRATION


@pytest.fixture
def calibrated(catalog: Catalog, collection: Collection, segments_folder) -> Iterator[Index]:
    index = Index(catalog, collection, segments_folder, calibration=CALIBRATION)
    yield index
    index.close()


@pytest.fixture
def queries(sentence_bag: MakeBag, image_bag: MakeBag) -> list[Query]:
    return [
        Query.of(sentence_bag(2)),
        Query((sentence_bag(3), sentence_bag(2)), (1.0, -0.4)),
        Query.of(image_bag(3)),
    ]


def test_codes_and_bags_tell_what_exact_scores_tell(
    catalog: Catalog, collection: Collection, calibrated: Index, entry: MakeEntry, queries
) -> None:
    many = [entry(f"{i:03}", photos=1 + i % 3, metadata={"n": i % 4}) for i in range(120)]
    catalog.put_many(collection, many)
    ids = {catalog.get(collection, one.id).revision: one.id for one in many}
    rescored = 0
    for query in queries:
        for least in (0.05, 0.3, 0.6):
            for where in (None, {"n": [1, 2]}):
                request = Request("images", query, limit=120, least=least, where=where)
                best = calibrated.best(request)
                rows = calibrated.find_probable(request)
                found = [ids[revision] for revision in rows.items.tolist()]
                assert sorted(found) == sorted(hit.item for hit in best.hits)
                rescored += rows.rescored
    assert rescored > 0


def test_without_a_probability_all_photos_that_pass_are_listed(
    catalog: Catalog, collection: Collection, calibrated: Index, entry: MakeEntry
) -> None:
    catalog.put_many(
        collection, [entry(str(i), photos=i % 3, metadata={"n": i % 2}) for i in range(30)]
    )
    listed = calibrated.find_probable(Request("images", Query((), ())))
    assert len(listed.items) == 20
    assert len(listed.revisions) == 30
    passing = calibrated.find_probable(Request("images", Query((), ()), where={"n": 1}))
    assert len(passing.items) == 10
    assert passing.of_items([int(passing.items[0])]) == [(int(passing.items[0]), -1)]


def test_the_best_of_probable_photos_are_those_of_a_search_page_after_page(
    catalog: Catalog, collection: Collection, calibrated: Index, entry: MakeEntry, queries
) -> None:
    catalog.put_many(collection, [entry(f"{i:03}", photos=1 + i % 3) for i in range(60)])
    for query in queries:
        request = Request("images", query, limit=7, least=0.3, exact=True)
        rows = calibrated.find_probable(request)
        while request.seen < 21:
            best = calibrated.best(request)
            among = calibrated.best_of(rows, replace(request, least=None))
            assert among is not None
            assert [hit.key for hit in among.hits] == [hit.key for hit in best.hits]
            assert among.more == best.more
            if not best.more:
                break
            request = request.behind(best.hits[-1], request.seen + len(best.hits))


def test_rows_that_went_meanwhile_are_told(
    catalog: Catalog, collection: Collection, calibrated: Index, entry: MakeEntry, queries
) -> None:
    catalog.put_many(collection, [entry(str(i)) for i in range(9)])
    request = Request("images", queries[0], least=0.01)
    rows = calibrated.find_probable(request)
    catalog.delete(collection, "3")
    catalog.purge(collection, catalog.revision(collection))
    assert calibrated.best_of(rows, replace(request, least=None)) is None
