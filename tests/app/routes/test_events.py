"""Searches and clicks are written only on request, for judging."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.main import create_app
from app.settings import Settings
from app.telemetry.events import EventLog
from index import trec
from tests.stored_items import put
from training.data.catalogue import read_queries


@pytest.fixture
def shop(settings: Settings, engine: Engine) -> Iterator[TestClient]:
    put(engine, "a/shop", [Draft(f"sofa {n}", {"title": f"sofa {n}"}) for n in range(3)])
    app = create_app(settings.model_copy(update={"events": True}), engine)
    with TestClient(app) as client:
        yield client


def lines(folder: Path, kind: str) -> list[dict[str, Any]]:
    file = EventLog(folder / "events").path("a/shop", kind)  # type: ignore[arg-type]
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def click(client: TestClient, **fields: Any) -> int:
    sent = {"query": "sofa", "id": "sofa 1", "collection": "a/shop", **fields}
    return client.post("/events/clicks", json=sent).status_code


def search(client: TestClient, **fields: Any) -> Any:
    return client.post("/search/products", json={"collection": "a/shop", **fields}).json()


def test_first_pages_of_texts_are_runs_and_clicks_are_judgements(
    shop: TestClient, tmp_path: Path
) -> None:
    page = search(shop, text="sofa", limit=2)
    search(shop, text="sofa", limit=2, cursor=page["cursor"])
    search(shop, limit=2)
    search(shop, text="zebra")
    ids = [hit["id"] for hit in page["hits"]]
    assert [line["id"] for line in lines(tmp_path, "searches")] == [*ids, None]
    assert [click(shop), click(shop, kind="cart", weight=3)] == [204, 204]
    log = EventLog(tmp_path / "events")
    run = trec.by_query(trec.read(log.path("a/shop", "searches")))
    assert list(run) == ["sofa"]
    assert list(run["sofa"]) == ids
    clicks = log.path("a/shop", "clicks")
    assert trec.by_query(trec.read(clicks)) == {"sofa": {"sofa 1": 3.0}}
    assert read_queries(clicks, {"sofa 1"}) == {"sofa 1": [("sofa", 4.0)]}


def test_clicks_of_what_is_not_there_are_refused(shop: TestClient, tmp_path: Path) -> None:
    assert click(shop, id="gone") == 404
    assert click(shop, collection="gone") == 404
    assert click(shop, weight=0) == 422
    assert not (tmp_path / "events").exists()


def test_nothing_is_written_unless_it_is_asked_for(
    client: TestClient, engine: Engine, tmp_path: Path
) -> None:
    put(engine, "a/shop", [Draft("sofa 1", {"title": "sofa"})])
    search(client, text="sofa")
    answer = client.post(
        "/events/clicks", json={"query": "x", "id": "sofa 1", "collection": "a/shop"}
    )
    assert answer.status_code == 422
    assert "TESSERA_EVENTS=true" in answer.json()["detail"]
    assert not (tmp_path / "events").exists()


def test_a_search_is_answered_though_its_event_cannot_be_written(
    shop: TestClient, tmp_path: Path
) -> None:
    (tmp_path / "events").write_text("a file in the way")
    assert search(shop, text="sofa")["total"] == 3


def test_long_names_of_collections_have_files_of_their_own(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    names = ["é" * 200, "é" * 199 + "e"]
    files = {log.path(name, "clicks").name for name in names}
    assert len(files) == 2
    assert all(len(file) < 255 for file in files)
