"""Deliveries begin until the deliverer closes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.webhooks import deliverer
from app.webhooks.deliverer import Deliverer
from app.webhooks.posting import Poster, PostResult
from index.catalog.catalog import Catalog
from index.database import webhooks
from index.database.errors import Busy
from index.database.storage import Storage
from index.database.webhook_rows import Delivery, Webhook
from tests.processes.waiting import eventually


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """A catalog with six webhooks, and a delivery for each."""
    with closing(Catalog(Storage(tmp_path))) as opened:
        home = opened.names.make("shop", fingerprint="f", dimension=2, score="sum_of_max")
        for name in "abcdef":
            hook = Webhook(name, "", f"https://{name}.example", ("import.finished",), "s", 1.0)
            webhooks.add(opened.writer, home, hook)
        webhooks.enqueue(opened.writer, home, "import.finished", "m", "{}", 1.0)
        yield opened


class Slow:
    """Receivers without an answer until it is permitted."""

    def __init__(self) -> None:
        self.may, self.posted = threading.Event(), threading.Semaphore(0)
        self.hooks: list[str] = []

    def post(self, webhook: Webhook, _delivery: Delivery, _now: datetime) -> PostResult:
        """Wait for the permission to answer."""
        self.hooks.append(webhook.id)
        self.posted.release()
        self.may.wait(60)
        return PostResult(204, "answered 204")


def test_nothing_is_posted_once_it_closes(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of six wait for a place until then."""
    monkeypatch.setattr(deliverer, "FIRST", 0.0)
    slow = Slow()
    work = Deliverer(lambda: cast("Any", SimpleNamespace(catalog=catalog)), cast("Poster", slow))
    work.start()
    for _ in range(deliverer.TOGETHER):
        assert slow.posted.acquire(timeout=60)
    ending = threading.Thread(target=work.close)
    ending.start()
    assert work._ended.wait(60)
    slow.may.set()
    ending.join(60)
    assert not ending.is_alive()
    assert len(slow.hooks) == deliverer.TOGETHER
    assert webhooks.has_due(catalog.reader, time.time()), "by the next service"


def test_it_closes_in_time_while_receivers_are_slow(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliverer, "FIRST", 0.0)
    monkeypatch.setattr(deliverer, "CLOSING", 0.5)
    monkeypatch.setattr(deliverer, "POLLED", 60.0)
    slow = Slow()
    work = Deliverer(lambda: cast("Any", SimpleNamespace(catalog=catalog)), cast("Poster", slow))
    work.start()
    for _ in range(deliverer.TOGETHER):
        assert slow.posted.acquire(timeout=60)
    ending = threading.Thread(target=work.close)
    ending.start()
    ending.join(30)
    ended = not ending.is_alive()
    slow.may.set()
    assert ended
    ending.join(60)
    for _ in range(deliverer.TOGETHER):  # or their outcomes are stored, and logged, in later tests
        assert work._places.acquire(timeout=60)


def test_a_database_that_is_away_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(deliverer, "FIRST", 0.0)
    monkeypatch.setattr(deliverer, "POLLED", 0.0)
    looks: list[str] = []

    def find() -> None:
        looks.append("")
        if len(looks) < 5:
            raise Busy("another process is writing")

    with closing(Deliverer(find, cast("Poster", Slow()))) as work:
        work.start()
        eventually(lambda: len(looks) > 6, 60)
    of_webhooks = [record for record in caplog.records if record.name == "tessera.webhooks"]
    assert [record.getMessage() for record in of_webhooks] == [
        "the delivery of webhooks waits, and tries again: another process is writing",
        "the delivery of webhooks goes on",
    ]
