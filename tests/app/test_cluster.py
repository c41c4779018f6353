"""Services and imports on a real Ray cluster, some of whose processes are killed."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from typer.testing import CliRunner

from app.cli import app as command
from app.engine import Engine
from app.settings import Settings
from tests.clusters import actors, eventually, kill, running

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore::ResourceWarning")]
STARTING = 300.0  # seconds, of a machine that does other work too
COMMAND = "import tessera; tessera.main()"  # as the installed command does
COLOURS = ("red", "green", "blue", "white", "black", "yellow", "purple", "orange")


class Site:
    """A database, a data folder, and a cluster that searches and imports."""

    def __init__(self, folder: Path, url: str, matcher: Path, address: str) -> None:
        self.folder, self.address, self._processes = (
            folder,
            address,
            list[subprocess.Popen[bytes]](),
        )
        self.settings = Settings(
            data=folder / "data",
            database=url,
            matcher=matcher,
            captioner=None,
            region_captioner=None,
            grounder=None,
        )
        about = {"DATA": folder / "data", "DATABASE": url, "MATCHER": matcher, "BATCH": 4}
        about |= {"CAPTIONER": "none", "GROUNDER": "none", "CLUSTER": address}
        about |= {"SHARDS": 2, "SHARD_CPUS": 0.5, "SHARD_SECONDS": 20, "THREADS": 1}
        self._environment = os.environ | {f"TESSERA_{key}": str(of) for key, of in about.items()}

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command of Tessera's."""
        process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-c", COMMAND, *arguments],
            env=self._environment,
            cwd=Path(__file__).parents[2],
            stderr=(self.folder / "log").open("ab"),
            start_new_session=True,
        )
        self._processes.append(process)
        return process

    def serve(self) -> tuple[subprocess.Popen[bytes], httpx.Client]:
        """A web process and a client of it, once it is ready."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        process = self.start("serve", "--no-sample", "--port", str(port))
        client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)

        def ready() -> bool:
            assert process.poll() is None, (self.folder / "log").read_text()
            try:
                return client.get("/readyz").status_code == 200
            except httpx.TransportError:
                return False

        eventually(ready, STARTING, every=0.5)
        return process, client

    def end(self) -> None:
        """End what was started."""
        for process in self._processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    pytest.importorskip("ray")
    with running(2) as started:
        yield started


@pytest.fixture
def site(nodes, postgresql, tmp_path, small_matcher) -> Iterator[Site]:
    with postgresql.database() as url:
        made = Site(tmp_path, url, small_matcher, nodes.address)
        yield made
        made.end()


@pytest.fixture
def engine(site) -> Iterator[Engine]:
    """One machine's engine on the site's database."""
    made = Engine.load(site.settings)
    yield made
    made.close()


@pytest.fixture
def photos(tmp_path, png) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(40):
        colours = random.Random(number).sample(COLOURS, 3)
        (folder / f"{number:02}.png").write_bytes(png(*colours, size=(90, 60)))
    (folder / "broken.png").write_bytes(b"no photo")
    return folder


def test_an_import_goes_on_after_any_of_its_processes_was_killed(site, engine, photos):
    def count() -> int:
        return engine.catalog.count(engine.open("default"))

    first = site.start("index", str(photos))
    eventually(count, STARTING)
    kill(first.pid)
    first.wait()
    stored = {one.id: one.revision for one in engine.catalog.list_items(engine.open("default"))}
    assert 0 < len(stored) < 40
    second = site.start("index", str(photos))
    eventually(lambda: second.poll() is not None or count() > len(stored), STARTING)
    assert second.wait(STARTING) == 0
    told = (site.folder / "log").read_text().splitlines()
    assert any("broken.png: " in line for line in told)
    assert any("items a second" in line for line in told)
    now = {one.id: one.revision for one in engine.catalog.list_items(engine.open("default"))}
    assert set(now) == {f"photos/{number:02}.png" for number in range(40)}
    assert site.start("index", str(photos)).wait(STARTING) == 0
    assert "0 stored, 40 skipped, 1 refused" in (site.folder / "log").read_text()
    again = {one.id: one.revision for one in engine.catalog.list_items(engine.open("default"))}
    assert again == now, "what is known is not stored again"


def test_services_of_a_cluster_answer_as_one_machine_and_for_each_other(site, engine):
    texts = [f"{one} {other}" for one in COLOURS for other in COLOURS]
    first, client = site.serve()
    for number, text in enumerate(texts):
        body = {"sentences": [text], "metadata": {"n": number % 3}}
        assert client.put(f"/items/{number}", json=body).status_code == 201
    assert client.get("/readyz").json() == {"status": "ready", "shards": "2 of 2"}
    asked = {"text": "red blue", "limit": 7, "filter": {"n": [0, 2]}}
    expected = engine_answers(engine, asked)
    assert pages(client, asked) == expected
    other = site.serve()[1]
    from index.cluster import groups

    (group,) = groups()  # both use the same actors
    kill(first.pid)
    assert pages(other, asked) == expected, "what was acknowledged is found by the other"
    placed = actors(group)
    for name, (process, _) in placed.items():
        if "/0/" in name:
            kill(process)
    began, incomplete = time.monotonic(), 0
    while True:
        answer = other.post("/search/text", json=asked).raise_for_status().json()
        if not answer["searched"]["complete"]:
            incomplete += 1
            assert answer["searched"]["coverage"] == 0.5
        elif incomplete or time.monotonic() - began > 5:
            break
        assert time.monotonic() - began < STARTING
    assert incomplete
    assert pages(other, asked) == expected


def pages(client: httpx.Client, asked: dict[str, Any]) -> list[tuple[str, float]]:
    """All pages of a search: ids and scores."""
    found: list[tuple[str, float]] = []
    cursor = None
    while True:
        answer = client.post("/search/text", json=asked | {"cursor": cursor}).raise_for_status()
        page = answer.json()
        assert page["searched"]["complete"]
        found += [(hit["id"], round(hit["score"], 4)) for hit in page["hits"]]
        if (cursor := page["cursor"]) is None:
            return found


def engine_answers(engine: Engine, asked: dict[str, Any]) -> list[tuple[str, float]]:
    """What one machine answers."""
    from index.requests import Request

    query = engine.models.query(asked["text"])
    request = Request("sentences", query, limit=100, where=asked["filter"])
    hits = engine.search("default", request).hits
    return [(hit.item, round(hit.score, 4)) for hit in hits]


def test_a_cluster_needs_a_database_that_its_nodes_share(tmp_path, photos):
    pytest.importorskip("ray")
    arguments = ["index", str(photos), "--data", str(tmp_path / "d"), "--cluster", "127.0.0.1:1"]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 1
    assert "a cluster's nodes share a database: set TESSERA_DATABASE" in done.output
