"""Readiness is checked once for all callers, without long waits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from threading import Event

import pytest
from starlette.testclient import TestClient

from app.defaults import DEFAULT_COLLECTION
from app.engine.engine import Engine
from app.http import readiness
from app.http.errors import Unavailable
from app.http.readiness import Readiness
from app.main import create_app
from app.settings import Settings
from index.items import Entry


class Counted:
    """A check with a count, a gate and failures on demand."""

    def __init__(self) -> None:
        self.count, self.may, self.failure = 0, Event(), list[Exception]()
        self.may.set()

    def __call__(self) -> Mapping[str, object]:
        self.count += 1
        assert self.may.wait(60)
        if self.failure:
            raise self.failure[0]
        return {}


def test_all_who_ask_at_once_share_a_check() -> None:
    check = Counted()

    async def ask() -> None:
        shared = Readiness(60)
        reports = await asyncio.gather(*(shared.report(check) for _ in range(48)))
        assert all(report.keys() == {"checked"} for report in reports)
        await shared.report(check)
        shared.close()

    asyncio.run(ask())
    assert check.count == 1


def test_a_check_that_hangs_is_not_waited_for_and_counts_as_a_failure_at_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check = Counted()
    monkeypatch.setattr(readiness, "PATIENCE", 0.01)

    async def ask() -> None:
        shared = Readiness(0)
        await shared.report(check)
        check.may.clear()
        for _ in range(3):
            assert (await shared.report(check)).keys() == {"checked"}  # of the check before
        monkeypatch.setattr(readiness, "STALE", 0)
        with pytest.raises(Unavailable, match="does not answer in time"):
            await shared.report(check)
        check.may.set()
        shared.close()

    asyncio.run(ask())
    assert check.count == 2


def test_what_failed_is_tried_again_before_what_works() -> None:
    check = Counted()

    async def ask() -> None:
        shared = Readiness(0.01)
        check.failure.append(OSError("no disk"))
        with pytest.raises(Unavailable, match="nothing can be stored: no disk"):
            await shared.report(check)
        check.failure.clear()
        await asyncio.sleep(0.02)
        await shared.report(check)
        shared.close()

    asyncio.run(ask())


def test_liveness_asks_neither_the_disk_nor_the_database(
    client: TestClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr("app.engine.health.try_writing", fail)
    monkeypatch.setattr(engine.catalog.names, "all", fail)
    for path in ("/livez", "/healthz"):
        assert client.get(path).json() == {"status": "alive"}


def of_another_model(engine: Engine, name: str, entry: Entry | None = None) -> None:
    """Make a collection as if another model had."""
    made = {**engine.models.makes, "fingerprint": "0" * 16}
    home = engine.catalog.names.make(name, **made)
    if entry is not None:
        engine.catalog.replace(home, entry)


def test_a_default_collection_whose_searches_are_refused_is_not_ready(
    client: TestClient, engine: Engine
) -> None:
    client.put("/items/a", json={"sentences": ["red"], "collection": "shop"})
    of_another_model(engine, DEFAULT_COLLECTION)
    assert client.post("/search/text", json={"text": "red"}).status_code == 409
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "another model made the collection 'default'" in answer.json()["detail"]
    assert "--reembed" in answer.json()["detail"]


def test_other_collections_of_another_model_are_counted_and_not_named(
    client: TestClient, engine: Engine
) -> None:
    of_another_model(engine, "secret")
    answer = client.get("/readyz")
    assert answer.status_code == 503, "there is none that can be searched"
    assert "secret" not in answer.text
    client.put("/items/a", json={"sentences": ["red"]})
    answer = client.get("/readyz")
    assert answer.json()["collections"] == {"searched": 1, "refused": 1}
    assert "secret" not in answer.text


def test_a_service_writes_to_its_disk_once_for_many_probes(
    settings: Settings, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = list[object]()
    monkeypatch.setattr("app.engine.health.try_writing", writes.append)
    chosen = settings.model_copy(update={"ready_seconds": 60.0})
    with TestClient(create_app(chosen, engine)) as client:
        ages = [client.get("/readyz").json()["checked"] for _ in range(20)]
    assert len(writes) == 1
    assert ages == sorted(ages)
