from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from app import __version__
from app.engine.engine import Engine
from app.routes.system import exposition
from app.telemetry import metrics
from index.database.errors import Busy

DOCS = Path(__file__).parents[3] / "docs" / "use"
NAME = re.compile(r"\b(?:tessera|process)_[a-z0-9_]+\b")


def values(text: str) -> dict[str, float]:
    """The value of each series, by its name and its labels' values."""
    return {
        " ".join((sample.name, *sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def names(engine: Engine) -> set[str]:
    """The names of all possible series, of every label."""
    return {
        f"{family.name}{suffix}"
        for family in text_string_to_metric_families(exposition(engine).decode())
        for suffix in {
            "counter": ("_total",),
            "histogram": ("", "_bucket", "_sum", "_count"),
        }.get(family.type, ("",))
    }


def test_what_is_stored_is_measured(client: TestClient, engine: Engine):
    for name in ("a", "b"):
        client.put(f"/items/{name}", json={"sentences": ["red"]})
    client.put("/items/c", json={"sentences": ["red"], "collection": "other"})
    measured = values(client.get("/metrics").text)
    assert measured["tessera_items default"] == 2
    assert measured["tessera_items other"] == 1
    assert measured["tessera_index_behind_changes default"] >= 0
    assert measured["tessera_disk_free_bytes"] > 0
    assert measured["process_resident_memory_bytes"] > 0
    build = next(name for name in measured if name.startswith("tessera_build_info"))
    assert {__version__, engine.models.fingerprint} <= set(build.split())


def test_lines_of_imports_are_counted(client: TestClient):
    before = values(client.get("/metrics").text)
    lines = b'{"id": "a", "sentences": ["red"]}\n{"id": "b"}\n{\n'
    client.post("/items", content=lines, headers={"content-type": "application/x-ndjson"})
    after = values(client.get("/metrics").text)
    counted = {
        status: after[name] - before.get(name, 0)
        for status in ("stored", "refused")
        for name in [f"tessera_import_lines_total {status}"]
    }
    assert sum(counted.values()) == 3
    assert counted["stored"] >= 1
    assert counted["refused"] >= 1


def test_a_busy_database_leaves_the_other_metrics(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    def busy() -> None:
        raise Busy("locked")

    monkeypatch.setattr(engine.catalog.names, "all", busy)
    measured = values(exposition(engine).decode())
    assert measured["tessera_disk_free_bytes"] > 0
    assert not any(name.startswith("tessera_items") for name in measured)


def test_metrics_are_there_before_the_model_is():
    assert any(name.startswith("tessera_build_info") for name in values(exposition(None).decode()))


@pytest.mark.parametrize("page", ["grafana.json", "operations.md"])
def test_documents_name_metrics_that_exist(engine: Engine, page: str):
    text = (DOCS / page).read_text()
    if page.endswith("json"):
        panels = json.loads(text)["panels"]
        text = "\n".join(target["expr"] for panel in panels for target in panel["targets"])
    named = {name for name in NAME.findall(text) if not name.startswith("tessera_client")}
    assert named
    assert named - names(engine) == set()


def test_operations_describe_every_metric(engine: Engine):
    described = set(NAME.findall((DOCS / "operations.md").read_text()))
    ours = {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in text_string_to_metric_families(exposition(engine).decode())
        if family.name.startswith("tessera_")
    }
    assert ours - described == set()


def test_gauges_of_ended_workers_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(metrics.SHARED, str(tmp_path))
    ended = 2**22 + 1  # beyond the largest id of a process
    for file in (f"gauge_livesum_{ended}.db", f"counter_{ended}.db"):
        (tmp_path / file).touch()
    metrics.gather()
    assert [file.name for file in tmp_path.iterdir()] == [f"counter_{ended}.db"]
