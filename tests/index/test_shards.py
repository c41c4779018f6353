"""Shards: several answer as one would that had all their rows; audits of what they miss."""

from dataclasses import replace

import pytest

from index.catalog.catalog import Catalog
from index.items import bucket_of
from index.search.audit import Audit, audit
from index.search.index import Index
from index.search.requests import Request
from index.segments import candidates
from index.segments.builder import Follower, Sizes
from index.shards import Shards
from models.text.queries import Query


@pytest.fixture
def asked(sentence_bag, image_bag):
    query = Query((sentence_bag(3), sentence_bag(2)), (1.0, -0.4))
    return [
        Request("images", query, limit=7),
        Request("images", query, limit=7, where={"n": [1, 2]}),
        Request("sentences", Query.of(image_bag(4)), limit=7),
        Request("sentences", Query((sentence_bag(3),), (1.0,), "a text"), limit=7),
    ]


@pytest.fixture
def entries(entry):
    """Some of which are alike but for their ids."""
    new = [entry(f"{i:02}", metadata={"n": i % 4}) for i in range(40)]
    return new + [replace(one, id=f"again {one.id}") for one in new[:10]]


@pytest.fixture
def shards(tmp_path, entries):
    """Two catalogs that share the items out by their buckets."""
    catalogs, indexes = [], []
    for number in range(2):
        own = Catalog.in_folder(tmp_path / f"{number}")
        home = own.collection("default", fingerprint="m", dimension=8, score="sum_of_max")
        own.put_many(home, [one for one in entries if bucket_of(one.id) % 2 == number])
        assert own.count(home) > 10
        catalogs.append(own)
        indexes.append(Index(own, home, tmp_path / f"{number}" / "segments"))
    yield Shards(indexes)
    for own in catalogs:
        own.close()


def test_shards_answer_as_one_index_of_all_items(
    catalog, collection, index, entries, shards, asked
):
    catalog.put_many(collection, entries)
    for request in asked:
        hit, seen = None, 0
        while True:
            page = request.behind(hit, seen)
            whole, merged = index.best(page), shards.best(page)
            assert [hit.key for hit in merged.hits] == [hit.key for hit in whole.hits]
            assert (merged.more, merged.exact, merged.behind) == (whole.more, True, 0)
            assert (merged.rows, merged.candidates) == (whole.rows, whole.candidates)
            if not whole.more:
                break
            hit, seen = whole.hits[-1], seen + len(whole.hits)
        assert seen > 0


def test_no_shards_have_no_hits(asked):
    answer = Shards([]).best(asked[0])
    assert (answer.hits, answer.more, answer.exact) == ((), False, True)


def test_audit_of_a_collection_that_is_scanned_finds_nothing_missing(
    catalog, collection, index, entries, asked
):
    catalog.put_many(collection, entries)
    assert audit(index, asked) == Audit((1.0,) * len(asked))
    assert index.recent() == []  # nothing was left out of these


def test_audit_finds_what_bad_candidates_miss(
    catalog, collection, index, segments_folder, entry, asked, monkeypatch
):
    monkeypatch.setattr(candidates, "SCANNED", 10)
    monkeypatch.setattr(candidates, "wanted", lambda *_: 8)
    nearest = candidates.Structure.nearest
    monkeypatch.setattr(
        candidates.Structure,
        "nearest",
        lambda self, query, count, allowed: nearest(self, -query, count, allowed),
    )
    catalog.put_many(collection, [entry(f"{i:03}", metadata={"n": i % 4}) for i in range(120)])
    follower = Follower(
        catalog, collection, segments_folder / collection.token, Sizes(chunk=200, largest=1000)
    )
    while follower.step(flush=True):
        pass
    found = audit(index, asked[:3])
    assert found.worst <= found.recall < 0.5
    assert len(found.recalls) == 3
    assert [(one.side, one.where) for one in index.recent()] == [
        (one.side, one.where) for one in asked[:3]
    ]
    assert audit(Shards([index]), asked[3:]).recall == 1  # texts among texts are scanned


def test_audit_of_nothing_measures_nothing(index, asked):
    assert audit(index, []).recall is audit(index, []).worst is None
    assert audit(index, asked).recall == 1
