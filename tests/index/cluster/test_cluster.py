"""Shards on a real Ray cluster: exact, and restored after kills."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from index.catalog.catalog import Catalog
from index.cluster.merged import ShardedIndex
from index.database.storage import Storage
from index.search.index import Index
from index.search.requests import Request
from models.text.queries import Query
from tests.index.searches import CALIBRATION, pages, requests_of, stored
from tests.processes.clusters import actors, kill, running
from tests.processes.waiting import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore::ResourceWarning")]
STARTING = 240.0  # seconds, of a machine that does other work too
ACTOR, NODE = 60.0, 90.0  # within which all answer again, on a machine that does other work too


@pytest.fixture(scope="module")
def nodes():
    pytest.importorskip("ray")
    with running(3) as started:
        yield started


@pytest.fixture
def catalog(postgresql, tmp_path):
    with postgresql.database() as url:
        made = Catalog(Storage(tmp_path / "data", database=url, shared=True))
        yield made
        made.close()


@pytest.fixture
def cluster(nodes, catalog, collection) -> Iterator[object]:
    from index.cluster.cluster import Cluster, ClusterLayout

    made = Cluster(
        nodes.address,
        catalog.storage,
        ClusterLayout(shards=2, cpus=1.0, patience=20.0),
        collection.fingerprint,
        CALIBRATION,
        secret=catalog.secret,
    )
    assert made.wait(STARTING), made.ready()
    eventually(lambda: made.ready() == [2, 2], STARTING)
    yield made
    made.remove()


@pytest.fixture
def sharded(cluster, catalog, collection, tmp_path):
    return ShardedIndex(cluster, catalog, collection, tmp_path, calibration=CALIBRATION)


@pytest.fixture
def whole(catalog, collection, segments_folder):
    index = Index(catalog, collection, segments_folder, calibration=CALIBRATION)
    yield index
    index.close()


@pytest.fixture
def requests(sentence_bag, image_bag):
    return requests_of(sentence_bag, image_bag)


class Asking:
    """A repeated search during a test; errors come at the end."""

    def __init__(self, index: ShardedIndex, request: Request) -> None:
        self._index, self._request = index, request
        self._stopped = threading.Event()
        self.coverages: list[tuple[float, float]] = []  # with their times
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Asking:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def _ask(self) -> None:
        try:
            while not self._stopped.wait(0.02):
                answer = self._index.best(self._request)
                assert answer.complete == (answer.coverage == 1.0)
                self.coverages.append((time.monotonic(), answer.coverage))
        except BaseException as failed:  # noqa: BLE001 - raised in the test's own thread
            self.failure = failed


def test_a_cluster_answers_as_one_machine(
    cluster, catalog, collection, entry, whole, sharded, requests, sentence_bag
):
    catalog.put_many(collection, stored(entry, 60))
    catalog.delete(collection, "007")
    for request in requests:
        truth, _ = pages(whole, request)
        assert pages(sharded, request)[0] == truth
        assert truth
    with pytest.raises(ValueError, match="vectors have 5 numbers, collection 'default'"):
        sharded.best(Request("images", Query.of(sentence_bag(2, 5))))
    catalog.replace(collection, entry("at once"))
    found = sharded.best(Request("images", requests[0].query, limit=100)).hits
    assert "at once" in {hit.item for hit in found}, "a search includes what was acknowledged"
    placed = actors(cluster.group)
    for shard in range(2):
        at = {placed[f"{cluster.group}/{shard}/{replica}"][1] for replica in range(2)}
        assert len(at) == 2, "the replicas of a shard are on different nodes"


def test_killed_actors_are_told_and_come_back(
    cluster, catalog, collection, entry, whole, sharded, requests
):
    catalog.put_many(collection, stored(entry, 60))
    request = requests[0]
    truth, _ = pages(whole, request)
    with Asking(sharded, request) as asking:
        placed = actors(cluster.group)
        kill(placed[f"{cluster.group}/0/0"][0])
        asked = len(asking.coverages)
        eventually(lambda: len(asking.coverages) > asked + 3, ACTOR)
        assert {one for _, one in asking.coverages} == {1.0}, "the other replica answers"
        eventually(lambda: cluster.ready() == [2, 2], ACTOR)
        placed = actors(cluster.group)
        for replica in range(2):
            kill(placed[f"{cluster.group}/0/{replica}"][0])
        eventually(lambda: 0.5 in {one for _, one in asking.coverages}, ACTOR)
        catalog.replace(collection, entry("meanwhile"))
        eventually(lambda: asking.coverages[-1][1] == 1.0, ACTOR)
    catalog.delete(collection, "meanwhile")
    assert pages(sharded, request)[0] == truth


def test_a_killed_node_is_made_up_for(
    nodes, cluster, catalog, collection, entry, whole, sharded, requests
):
    catalog.put_many(collection, stored(entry, 60))
    truth, _ = pages(whole, requests[4])
    placed = actors(cluster.group)
    node = placed[f"{cluster.group}/1/0"][1]
    lost = next(one for one in nodes.worker_nodes if one.node_id == node)
    with Asking(sharded, requests[4]) as asking:
        began = time.monotonic()
        nodes.remove_node(lost, allow_graceful=False)
        eventually(lambda: cluster.ready() != [2, 2], NODE)
        eventually(lambda: cluster.ready() == [2, 2], NODE)
    late = [at - began for at, coverage in asking.coverages if coverage < 1.0]
    assert max(late, default=0.0) < NODE
    assert pages(sharded, requests[4])[0] == truth
    assert node not in {at for _, at in actors(cluster.group).values()}
    nodes.add_node(num_cpus=4, object_store_memory=80 * 2**20)


def test_no_other_file_imports_ray():
    modules = "tessera, app.main, app.cli, index.cluster.merged"
    program = f"import sys, {modules}; assert 'ray' not in sys.modules"
    subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[3]
    )


def test_a_cluster_that_is_not_there_is_told(tmp_path):
    pytest.importorskip("ray")
    from index.cluster.cluster import connect

    program = "from index.cluster.cluster import connect; connect('127.0.0.1:1')"
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert connect is not None
    assert "OSError: no Ray cluster answers at '127.0.0.1:1'" in done.stderr
