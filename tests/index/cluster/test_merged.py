"""Search over shards of one catalog, equal to one index."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from index.bags import pack_vectors
from index.catalog.catalog import Catalog
from index.cluster import server as shard_server
from index.cluster.connections import pack, unpack
from index.cluster.merged import Gathered, ShardedIndex, ShardedIndexes
from index.cluster.server import ShardServer, storage_of
from index.database.errors import NotReady
from index.database.storage import ALL, BUCKETS, Buckets, cut
from index.database.tables import bags, items
from index.items import Collection, bucket_of
from index.search.index import Index
from index.search.requests import Request
from index.segments import reader as snapshot
from index.segments.follower import Follower
from index.segments.segment import BROKEN
from models.text.queries import Query
from tests.index.conftest import TINY
from tests.index.searches import CALIBRATION, pages, requests_of, stored

ROOT = Path(__file__).parents[3]


@pytest.mark.system
@pytest.mark.timeout(300)  # a new process imports torch
def test_a_process_that_serves_a_shard_does_not_import_what_parses_texts() -> None:
    script = "import sys, index.cluster.server; print({'spacy', 'thinc'} & set(sys.modules))"
    ended = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ended.stdout == "set()\n"


class Here:
    """The servers of all shards in this process; some can be away."""

    def __init__(self, servers: list[ShardServer]) -> None:
        self.servers, self.away = servers, set[int]()

    def ask(self, method: str, *arguments: Any) -> Gathered:
        there = [one for number, one in enumerate(self.servers) if number not in self.away]
        question = pack((method, arguments))
        answers = tuple(unpack(one.answer(question)) for one in there)
        return Gathered(answers, len(there) / len(self.servers))

    def tell(self, method: str, *arguments: Any) -> None:
        self.ask(method, *arguments)

    def ready(self) -> list[int]:
        return [int(number not in self.away) for number in range(len(self.servers))]

    def close(self) -> None:
        self.away = set(range(len(self.servers)))


@pytest.fixture
def servers(catalog):
    made = [
        ShardServer(storage_of(catalog.storage, buckets), "model-a", CALIBRATION)
        for buckets in cut(3)
    ]
    yield Here(made)
    for one in made:
        one.close()


@pytest.fixture
def whole(catalog, collection, segments_folder):
    index = Index(catalog, collection, segments_folder, calibration=CALIBRATION)
    yield index
    index.close()


@pytest.fixture
def sharded(servers, catalog, collection, tmp_path):
    return ShardedIndex(servers, catalog, collection, tmp_path, calibration=CALIBRATION)


def test_shards_find_the_same_probable_photos(
    catalog, collection, whole, sharded, servers, entry, sentence_bag
):
    catalog.put_many(collection, stored(entry, 60))
    for request in (
        Request("images", Query.of(sentence_bag(3)), least=0.2),
        Request("images", Query.of(sentence_bag(3)), least=0.2, where={"n": [1, 2]}),
        Request("images", Query((), ())),
    ):
        one, several = whole.find_probable(request), sharded.find_probable(request)
        assert one.items.tolist() == several.items.tolist()
        assert (one.rows, several.coverage) == (several.rows, 1.0)
    servers.away = {1}
    assert sharded.find_probable(request).coverage == pytest.approx(2 / 3)


@pytest.fixture
def requests(sentence_bag, image_bag):
    return requests_of(sentence_bag, image_bag)


def test_ranges_hold_every_bucket_once():
    for shards in (1, 2, 3, 7, 64):
        ranges = cut(shards)
        assert [one.first for one in ranges[1:]] == [one.end for one in ranges[:-1]]
        assert (ranges[0].first, ranges[-1].end) == (0, BUCKETS)
        assert sum(one.share for one in ranges) == pytest.approx(1.0)
    assert cut(1) == [ALL]
    with pytest.raises(ValueError, match=r"1 to 65,536 shards, got 0"):
        cut(0)
    with pytest.raises(ValueError, match="no range"):
        Buckets(7, 7)


def test_shards_of_a_catalog_answer_as_one_index(
    catalog, collection, entry, whole, sharded, requests
):
    catalog.put_many(collection, stored(entry, 40))
    catalog.delete(collection, "007")
    for request in requests:
        truth, about = pages(whole, request)
        assert pages(sharded, request) == (truth, about)
        assert truth
    explained = [
        index.explain("images", requests[0].query, [(1, -1)])[1] for index in (whole, sharded)
    ]
    assert explained[0].links == explained[1].links != ()


def test_shards_promise_what_one_index_does(catalog, collection, entry, whole, sharded, requests):
    catalog.put_many(collection, stored(entry, 40))
    for side in ("images", "sentences"):
        one, several = (
            index.shortlist(side, requests[0].query, 1000) for index in (whole, sharded)
        )
        rows = [
            sorted(
                zip(
                    found.revisions.tolist(),
                    found.positions.tolist(),
                    found.probabilities.round(5).tolist(),
                    strict=True,
                )
            )
            for found in (one, several)
        ]
        assert rows[0] == rows[1]
        assert several.coverage == 1.0


def publish(catalog: Catalog, collection: Collection, buckets: Buckets) -> Path:
    """Build the segments of a shard; gives their folder."""
    storage = storage_of(catalog.storage, buckets)
    folder = storage.folder / "segments" / collection.token
    with closing(Catalog(storage)) as own:
        follower = Follower(own, collection, folder, TINY)
        while follower.step(flush=True):
            pass
    return folder


def test_a_row_that_disagrees_is_reported_to_the_shard_that_holds_it(
    catalog, collection, entry, servers, sharded
):
    catalog.put_many(collection, stored(entry, 40))
    folders = [publish(catalog, collection, buckets) for buckets in cut(3)]
    request = Request("images", Query.of(entry("q").bags[0]), limit=100)
    answer = sharded.best(request)
    assert [list(folder.rglob(BROKEN)) for folder in folders] == [[], [], []]
    hit = answer.hits[0]
    item = catalog.get(collection, hit.item)
    other = pack_vectors(replace(hit.bag, vectors=hit.bag.vectors + 7))
    with catalog.writer.begin() as connection:
        changed = bags.update().where(bags.c.revision == item.revision)
        connection.execute(changed.values(vectors=other))
        older = items.update().where(items.c.revision == item.revision)
        connection.execute(older.values(checksums=None))
    sharded.best(request)
    marked = [bool(list(folder.rglob(BROKEN))) for folder in folders]
    home = [one.first <= bucket_of(hit.item) < one.end for one in cut(3)]
    assert marked == home


def test_each_shard_maps_segments_of_its_own_buckets(catalog, collection, entry, servers, sharded):
    catalog.put_many(collection, stored(entry, 40))
    items = Counter[int]()
    for number, buckets in enumerate(cut(3)):
        publish(catalog, collection, buckets)
        overview = servers.servers[number].overview(collection)
        assert overview.images.in_memory == 0
        items[number] = overview.images.rows
        there = [one.id for one in catalog.list_items(collection)]
        assert items[number] == sum(buckets.first <= bucket_of(one) < buckets.end for one in there)
    together = sharded.overview()
    assert items.total() == together.images.rows == 50
    assert (together.unpublished, together.revision, together.coverage) == (0, 50, 1.0)


def test_a_shard_that_is_away_is_told_and_the_others_answer(
    catalog, collection, entry, whole, servers, sharded, requests
):
    catalog.put_many(collection, stored(entry, 40))
    servers.away = {1}
    buckets = cut(3)[1]
    for request in requests:
        truth = whole.best(replace(request, limit=100)).hits
        there = [one for one in truth if not buckets.first <= bucket_of(one.item) < buckets.end]
        answer = sharded.best(request)
        assert not answer.complete
        assert answer.coverage == pytest.approx(2 / 3)
        assert [one.key for one in answer.hits] == [one.key for one in there][:7]
    servers.away = {0, 1, 2}
    answer = sharded.best(requests[0])
    assert (answer.hits, answer.coverage, answer.complete) == ((), 0.0, False)
    assert sharded.shortlist("images", requests[0].query, 10).coverage == 0.0


def test_all_shards_answer_as_of_one_revision(catalog, collection, entry, servers, sharded, right):
    """One shard is ahead of the others, and does not show it."""
    catalog.put_many(collection, [entry(f"{i:03}") for i in range(30)])
    request = Request("images", Query.of(entry("q").bags[0]), limit=30)
    assert len(sharded.best(request).hits) == 30
    revision = catalog.revision(collection)
    catalog.put_many(collection, [entry(f"new {i}") for i in range(30)])
    parts = servers.ask("best", collection, replace(request, limit=60), revision).answers
    assert {one.revision for one in parts} == {revision}
    assert not any(one.gone for one in parts)
    assert all((one.contenders.revisions <= revision).all() for one in parts)
    assert sum(len(one.contenders) for one in parts) == 30
    right(replace(request, limit=60), sharded.best(replace(request, limit=60)))
    catalog.delete(collection, "003")
    parts = servers.ask("best", collection, request, revision + 30).answers
    servers.ask("best", collection, request, revision + 31)
    parts = servers.ask("best", collection, request, revision + 30).answers
    assert all(one.gone for one in parts), "what is gone was there at that revision"
    assert "003" not in {hit.item for hit in sharded.best(replace(request, limit=60)).hits}


def test_what_a_shard_has_not_taken_in_no_shard_shows(
    catalog, collection, entry, sharded, monkeypatch
):
    catalog.put_many(collection, [entry(f"{i:03}") for i in range(30)])
    request = Request("images", Query.of(entry("q").bags[0]), limit=100)
    assert len(sharded.best(request).hits) == 30
    at = ShardServer.best
    monkeypatch.setattr(
        ShardServer,
        "best",
        lambda self, home, request, revision: at(self, home, request, min(revision, late(self))),
    )

    def late(server: ShardServer) -> int:
        return 31 if server._storage.buckets.first == 0 else 10**6

    catalog.put_many(collection, [entry(f"new {i}") for i in range(20)])
    answer = sharded.best(request)
    assert (len(answer.hits), answer.behind, answer.complete) == (31, 19, True)


def test_indexes_over_shards_build_nothing_here(catalog, collection, entry, servers, tmp_path):
    catalog.put_many(collection, stored(entry, 40))
    indexes = ShardedIndexes(servers, catalog, tmp_path / "web", CALIBRATION)
    indexes.build()
    indexes.follow()
    assert indexes.of(collection).best(Request("images", Query.of(entry("q").bags[0]))).hits
    assert indexes.of(collection).unpublished == 50
    servers.away = {2}
    with pytest.raises(NotReady, match="2 of 3 shards of the cluster answer"):
        indexes.check()
    servers.away = set()
    assert indexes.check() == {"shards": "3 of 3"}
    servers.away = {2}
    assert indexes.check() == {"shards": "2 of 3"}
    indexes.close()
    assert not (tmp_path / "web").exists()


def test_a_server_is_ready_once_it_has_caught_up(catalog, collection, entry, servers, monkeypatch):
    monkeypatch.setattr(snapshot, "STEP", 4)
    monkeypatch.setattr(shard_server, "STEP", 4)
    monkeypatch.setattr(snapshot, "POLL", 3600)
    catalog.put_many(collection, [entry(f"{i:03}") for i in range(40)])
    server = servers.servers[0]
    indexes = server._open()
    monkeypatch.setattr(indexes.of(collection)._reader, "advance", lambda: False)
    assert not server.ready(), "it has taken in four of forty changes"
    monkeypatch.undo()
    while indexes.of(collection)._reader.advance():
        pass
    assert server.ready()
