"""Imports on a real Ray cluster under kills of any process."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from typer.testing import CliRunner

from app.cli import app as command
from app.engine.engine import Engine
from app.imports import folder, storing
from index.search.requests import Request
from tests.processes.clusters import kill
from tests.processes.sites import STARTING
from tests.processes.waiting import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore::ResourceWarning")]
WANTED = {f"photos/{number:02}.png" for number in range(40)}
TEXTS = ("red blue", "a white photo", "purple and orange beside green")
Answers = list[dict[str, float]]  # of each text, scores by id


@pytest.fixture
def one_machine(site, photos, tmp_path) -> Iterator[Engine]:
    """An engine with the photos, imported into its own database."""
    changes = {"data": tmp_path / "one machine", "database": ""}
    with closing(Engine.load(site.settings.model_copy(update=changes))) as made:
        list(
            storing.import_sources(
                made, "default", folder.find([photos]), batch=4, most_bytes=10**6
            )
        )
        yield made


def kill_import(importing: subprocess.Popen[bytes], _nodes: Any) -> None:
    """Kill the command's process, the source of work."""
    kill(importing.pid)
    importing.wait()


def kill_embedder(_importing: subprocess.Popen[bytes], _nodes: Any) -> None:
    """Kill a process at embedding and storing."""
    process, _home = embedders()[0]
    kill(process)


def kill_node(_importing: subprocess.Popen[bytes], nodes: Any) -> None:
    """Kill the raylet of an embedding node, with all on it."""
    _process, home = embedders()[0]
    lost = next(worker for worker in nodes.worker_nodes if worker.node_id == home)
    nodes.remove_node(lost, allow_graceful=False)


# That of a node is last: it is not there any more.
@pytest.mark.parametrize("kill_part", [kill_embedder, kill_import, kill_node])
def test_an_import_that_is_killed_loses_nothing_and_stores_each_photo_once(
    kill_part: Callable[[subprocess.Popen[bytes], Any], None],
    site,
    nodes,
    engine,
    photos,
    one_machine,
):
    importing = site.start("index", str(photos))
    eventually(lambda: revisions(engine), STARTING, every=0.01)
    before = revisions(engine)
    kill_part(importing, nodes)
    assert 0 < len(revisions(engine)) < 40, "it was killed in the middle"
    if importing.poll() is not None:
        importing = site.start("index", str(photos))
    assert importing.wait(STARTING) == 0, site.log
    now = revisions(engine)
    assert now.keys() == WANTED
    assert engine.catalog.count(engine.open("default")) == 40
    assert before.items() <= now.items(), "what was stored is not stored again"
    assert "broken.png: " in site.log
    for found, expected in zip(answers(engine), answers(one_machine), strict=True):
        assert found == pytest.approx(expected, rel=1e-3, abs=1e-7)
    (photos / "broken.png").unlink()
    assert site.start("index", str(photos)).wait(STARTING) == 0
    assert "0 stored, 40 skipped, 0 refused" in site.log
    assert revisions(engine) == now, "what is known is not stored again"


def embedders() -> list[tuple[int, str]]:
    """The process and node of each running, embedding actor."""
    from ray._private import state  # ray.util.state needs the dashboard

    return [
        (actor["Pid"], actor["Address"]["NodeID"])
        for actor in state.actors().values()
        if actor["State"] == "ALIVE" and "Storer" in actor["ActorClassName"]
    ]


def revisions(engine: Engine) -> dict[str, int]:
    """The stored items, by id."""
    items = engine.catalog.list_items(engine.open("default"))
    return {item.id: item.revision for item in items}


def answers(engine: Engine) -> Answers:
    """The hits of searches of all photos."""
    found = []
    for text in TEXTS:
        request = Request("images", engine.models.query(text), limit=100)
        hits = engine.search("default", request)[0].hits
        found.append({hit.item: hit.score for hit in hits})
    return found


def test_a_cluster_needs_a_database_that_its_nodes_share(tmp_path, photos):
    pytest.importorskip("ray")
    arguments = ["index", str(photos), "--data", str(tmp_path / "d"), "--cluster", "127.0.0.1:1"]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 1
    assert "a cluster's nodes share a database: set TESSERA_DATABASE" in done.output
