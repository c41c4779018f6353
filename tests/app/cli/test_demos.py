"""Demonstrations are indexed next to the service, and resume later."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.cli import demos as demonstrating
from app.cli.demos import choose_demo, index_meanwhile, list_missing
from app.demos import PHOTOS
from app.engine.engine import Engine
from app.imports import progress
from app.imports.sources import ImportOutcome, ItemSource
from app.settings import Settings

FEW = 9  # of the sample, in three batches


def sources() -> Sequence[ItemSource | ImportOutcome]:
    return PHOTOS.sources()[:FEW]


class Paused:
    """An engine with a pause after some batches, until a signal."""

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch, batches: int = 1) -> None:
        self.left, self.reached, self.go_on = batches, Event(), Event()
        embed = engine.embed_each

        def later(drafts: Any) -> Any:
            if self.left == 0:
                self.reached.set()
                assert self.go_on.wait(60)
            self.left -= self.left > 0
            return embed(drafts)

        monkeypatch.setattr(engine, "embed_each", later)


def test_searches_answer_with_what_is_there_and_the_index_says_what_is_coming(
    client: TestClient, engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused, closed = Paused(engine, monkeypatch), Event()
    with index_meanwhile(engine, PHOTOS, sources(), settings, closed.set):
        assert paused.reached.wait(60)
        found = client.post("/search/image", json={"text": "a red cup", "limit": 50}).json()
        assert len(found["hits"]) == 4
        while (index := client.get("/index").json())["coming"] != FEW - 4:
            assert index["items"] == 4
        assert client.get("/collections").json()["collections"][0]["coming"] == FEW - 4
        paused.go_on.set()
        assert closed.wait(60)
        assert client.get("/index").json()["items"] == FEW
    assert list_missing(engine, PHOTOS, settings) == ()
    assert progress.count_coming(settings.data, engine.open("default").token) == 0


def test_the_end_of_the_service_stops_it_and_the_next_start_goes_on(
    engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused = Paused(engine, monkeypatch, batches=0)

    class Ending(Event):
        """The end of the service, before any embedding."""

        def set(self) -> None:
            super().set()
            paused.go_on.set()

    monkeypatch.setattr(demonstrating, "Event", Ending)
    home = engine.open("default")
    with index_meanwhile(engine, PHOTOS, sources(), settings):
        assert paused.reached.wait(60)
    assert 0 < engine.catalog.count(home) < FEW
    assert len(list_missing(engine, PHOTOS, settings)) == len(PHOTOS.sources())
    closed = Event()
    with index_meanwhile(engine, PHOTOS, sources(), settings, closed.set):
        assert closed.wait(60)
    assert engine.catalog.count(home) == FEW


def test_a_photo_that_is_deleted_later_stays_away(engine: Engine, settings: Settings) -> None:
    closed = Event()
    with index_meanwhile(engine, PHOTOS, sources(), settings, closed.set):
        assert closed.wait(60)
    first = next(one for one in sources() if isinstance(one, ItemSource))
    engine.catalog.delete(engine.open("default"), first.id)
    assert list_missing(engine, PHOTOS, settings) == ()


def test_what_ends_it_is_told_and_the_service_goes_on(
    client: TestClient,
    engine: Engine,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left on the disk")

    monkeypatch.setattr(engine, "put_each", full)
    closed = Event()
    with index_meanwhile(engine, PHOTOS, sources(), settings, closed.set):
        assert closed.wait(60)
        assert client.get("/livez").status_code == 200
    told = capfd.readouterr().err
    assert "error: sample photos are not indexed whole: no space left on the disk" in told


def test_an_unknown_demonstration_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="no demonstration 'cars'; there are photos, products"):
        choose_demo("cars")
