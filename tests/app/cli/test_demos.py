"""Demonstrations are indexed next to the service, and resume later."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import Any

import pytest
from pydantic import SecretStr
from starlette.testclient import TestClient

from app.access.key_file import add_key
from app.access.keyring import Keyring
from app.access.keys import ApiKey, hash_key
from app.cli import demos as demonstrating
from app.cli.demos import choose_demo, index_meanwhile, list_missing
from app.cli.serve import is_set_up
from app.demos import PHOTOS
from app.engine.engine import Engine
from app.imports import progress
from app.imports.sources import ImportOutcome, ItemSource
from app.roles import Role
from app.settings import Settings

USERS = {"user_header": "X-Forwarded-User", "trusted_proxies": "10.0.0.5"}
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


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, False),
        ({"open": True, "host": "0.0.0.0"}, False),  # noqa: S104 - as in the image
        ({"admin_key": SecretStr("a" * 32)}, True),
        (USERS, True),
        ({"oidc_issuer": "https://login.example", "oidc_audience": "tessera"}, True),
        ({"database": "postgresql://tessera@db/tessera"}, True),
    ],
)
def test_services_of_others_get_no_sample_photos(
    settings: Settings, chosen: dict[str, Any], expected: bool
) -> None:
    service = settings.model_copy(update=chosen)
    assert is_set_up(service, Keyring.of(service)) is expected


def test_a_file_of_keys_leaves_out_sample_photos(settings: Settings) -> None:
    settings.data.mkdir(exist_ok=True)
    add_key(settings.keys_file, ApiKey(name="me", role=Role.READ, sha256=hash_key("a" * 32)))
    assert is_set_up(settings, Keyring.of(settings))


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
