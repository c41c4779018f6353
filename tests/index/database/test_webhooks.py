"""Deliveries wait in the database until one process has an outcome."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from index.catalog.catalog import Catalog
from index.database import setting_rows, webhooks
from index.database.storage import Storage
from index.database.webhook_rows import HOOKS, Delivery, DeliveryOutcome, Status, Webhook
from index.items import Collection

HOOK = Webhook("h", "", "https://shop.example/a", ("import.finished",), "whsec_", 1.0)


@pytest.fixture
def shared(database: str, tmp_path: Path) -> Iterator[tuple[Catalog, Catalog]]:
    """Two catalogs of one database, as two services have them."""
    with (
        closing(Catalog(Storage(tmp_path, database=database))) as first,
        closing(Catalog(Storage(tmp_path, database=database))) as second,
    ):
        yield first, second


@pytest.fixture
def home(shared: tuple[Catalog, Catalog]) -> Collection:
    shop = shared[0].names.make("shop", fingerprint="f", dimension=2, score="sum_of_max")
    webhooks.add(shared[0].writer, shop, HOOK)
    return shop


def enqueue(catalog: Catalog, home: Collection, message: str, now: float = 10.0) -> int:
    return webhooks.enqueue(catalog.writer, home, "import.finished", message, "{}", now)


def outcome(delivery: Delivery, status: Status) -> DeliveryOutcome:
    return DeliveryOutcome(delivery.id, delivery.event, 11.0, status, delivery.attempts, "")


def claimed(catalog: Catalog, now: float) -> Delivery | None:
    claim = webhooks.claim(catalog.writer, now, 60.0)
    return None if claim is None else claim[1]


def test_a_delivery_is_claimed_by_one_process_until_its_claim_ends(
    shared: tuple[Catalog, Catalog], home: Collection
) -> None:
    here, there = shared
    assert enqueue(here, home, "a") == 1
    assert not webhooks.has_due(there.reader, 9.0)
    assert webhooks.has_due(there.reader, 10.0)
    first = claimed(there, 10.0)
    assert first is not None
    assert claimed(here, 69.0) is None
    again = claimed(here, 70.0)
    assert again is not None
    assert (again.id, again.attempts) == ("a", 2)
    webhooks.settle(here.writer, again, outcome(again, "delivered"))
    assert claimed(there, 1_000.0) is None


def test_a_webhook_has_one_delivery_on_its_way(
    shared: tuple[Catalog, Catalog], home: Collection
) -> None:
    here, there = shared
    enqueue(here, home, "a", 10.0)
    enqueue(here, home, "b", 11.0)
    first = claimed(here, 20.0)
    assert first is not None
    assert first.id == "a"
    assert claimed(there, 20.0) is None
    webhooks.retry(here.writer, first, outcome(first, "failed"), 30.0)
    second = claimed(there, 30.0)
    assert second is not None
    assert second.id == "b", "the one that failed comes after it"
    [(hook, waiting)] = webhooks.list_webhooks(there.reader, home)
    assert hook.last == outcome(first, "failed")
    assert waiting == 2


def test_a_damaged_webhook_is_removed_with_its_deliveries(
    shared: tuple[Catalog, Catalog], home: Collection
) -> None:
    here, there = shared
    enqueue(here, home, "a")
    with here.writer.begin() as connection:
        setting_rows.put(connection, HOOKS + HOOK.id, '{"id": "h"')
    webhooks.remove(there.writer, home, HOOK.id)
    with pytest.raises(LookupError, match="'shop' has no webhook 'h'"):
        webhooks.remove(here.writer, home, HOOK.id)
    webhooks.add(here.writer, home, HOOK)
    assert claimed(here, 10.0) is None


def test_a_webhook_of_a_newer_version_is_removed_from_its_own_collection_alone(
    shared: tuple[Catalog, Catalog], home: Collection
) -> None:
    here, there = shared
    other = here.names.make("other", fingerprint="f", dimension=2, score="sum_of_max")
    row = {"id": "h", "collection": "shop", "address": "https://shop.example/a"}
    with here.writer.begin() as connection:
        setting_rows.put(connection, HOOKS + HOOK.id, json.dumps(row))
    with pytest.raises(LookupError, match="'other' has no webhook 'h'"):
        webhooks.remove(there.writer, other, HOOK.id)
    here.names.rename("shop", "store")
    with here.reader.begin() as connection:
        stored = setting_rows.read(connection, HOOKS + HOOK.id)
    assert stored == json.dumps(row | {"collection": "store"})
    webhooks.remove(there.writer, there.names.find("store"), HOOK.id)


def test_a_dropped_collection_takes_its_damaged_webhooks_along(
    shared: tuple[Catalog, Catalog], home: Collection
) -> None:
    here, _ = shared
    with here.writer.begin() as connection:
        setting_rows.put(connection, HOOKS + HOOK.id, '{"collection": "shop"}')
    here.names.drop("shop")
    with here.reader.begin() as connection:
        assert setting_rows.read(connection, HOOKS + HOOK.id) is None


@pytest.mark.parametrize("damaged", ['{"id": "h"', "[]", "{}", '{"collection": 7}'])
def test_a_webhook_without_a_legible_collection_is_removed_from_any(
    shared: tuple[Catalog, Catalog], home: Collection, damaged: str
) -> None:
    here, _ = shared
    other = here.names.make("other", fingerprint="f", dimension=2, score="sum_of_max")
    with here.writer.begin() as connection:
        setting_rows.put(connection, HOOKS + HOOK.id, damaged)
    webhooks.remove(here.writer, other, HOOK.id)


def test_the_oldest_of_too_many_is_given_up_and_counted(
    shared: tuple[Catalog, Catalog], home: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "MOST_WAITING", 2)
    for number, message in enumerate("abc"):
        enqueue(shared[0], home, message, 10.0 + number)
    [(hook, waiting)] = webhooks.list_webhooks(shared[0].reader, home)
    assert (waiting, hook.lost) == (2, 1)
    assert hook.last is not None
    assert (hook.last.delivery, hook.last.status) == ("a", "given_up")


def test_a_renamed_collection_keeps_webhooks_and_deliveries(
    shared: tuple[Catalog, Catalog], home: Collection
) -> None:
    here, there = shared
    enqueue(here, home, "a")
    here.names.rename("shop", "store")
    renamed = there.names.find("store")
    [(hook, waiting)] = webhooks.list_webhooks(there.reader, renamed)
    assert (hook, waiting) == (replace(HOOK, collection="store"), 1)
    assert enqueue(here, home, "b") == 1, "of an import that began before"
    here.names.drop("store")
    assert claimed(there, 10.0) is None
    assert not webhooks.has_due(there.reader, 10.0)


def test_a_delivery_whose_webhook_is_gone_ends(
    shared: tuple[Catalog, Catalog], home: Collection
) -> None:
    """A removal meanwhile, and a restored snapshot."""
    here, there = shared
    enqueue(here, home, "a")
    first = claimed(here, 10.0)
    assert first is not None
    webhooks.remove(there.writer, home, "h")
    webhooks.retry(here.writer, first, outcome(first, "failed"), 20.0)
    assert not webhooks.has_due(here.reader, 1_000.0)
    webhooks.add(here.writer, home, HOOK)
    enqueue(here, home, "b")
    with there.reader.begin() as source, here.writer.begin() as target:
        webhooks.transfer(source, target)
    assert claimed(here, 10.0) is not None, "its webhook is there"


def test_a_gone_receiver_ends_all_that_waits(
    shared: tuple[Catalog, Catalog], home: Collection
) -> None:
    here, _ = shared
    enqueue(here, home, "a")
    enqueue(here, home, "b")
    first = claimed(here, 10.0)
    assert first is not None
    webhooks.settle(here.writer, first, outcome(first, "given_up"), gone=True)
    assert not webhooks.has_due(here.reader, 1_000.0)
    assert not webhooks.listens(here.reader, home)
    assert enqueue(here, home, "c") == 0


def fail(catalog: Catalog, delivery: Delivery, due: float) -> None:
    webhooks.retry(catalog.writer, delivery, outcome(delivery, "failed"), due)


def test_failing_webhooks_come_after_those_of_others(
    shared: tuple[Catalog, Catalog], home: Collection
) -> None:
    here, _ = shared
    webhooks.add(here.writer, home, replace(HOOK, id="dead", url="https://dead.example/a"))
    for message in "abc":
        enqueue(here, home, message)
    while (claim := webhooks.claim(here.writer, 10.0, 60.0)) is not None:
        hook, delivery = claim
        if hook.id == "dead":
            fail(here, delivery, 20.0)
        else:
            webhooks.settle(here.writer, delivery, outcome(delivery, "delivered"))
    other = here.names.make("other", fingerprint="f", dimension=2, score="sum_of_max")
    webhooks.add(here.writer, other, replace(HOOK, id="fresh"))
    enqueue(here, other, "d", 30.0)
    for webhook in ("fresh", "dead"):
        claim = webhooks.claim(here.writer, 30.0, 60.0)
        assert claim is not None
        assert claim[0].id == webhook
    assert claim[1].id == "b", "the first due"


def test_what_waits_is_sent_no_earlier_than_what_failed(
    shared: tuple[Catalog, Catalog], home: Collection
) -> None:
    here, there = shared
    for message in "abc":
        enqueue(here, home, message)
    first = claimed(here, 10.0)
    assert first is not None
    fail(here, first, 90_000.0)
    assert claimed(here, 89_999.0) is None
    assert not webhooks.has_due(there.reader, 89_999.0)
    enqueue(there, home, "d", 20.0)
    second = claimed(here, 20.0)
    assert second is not None, "a new delivery finds out whether the receiver is back"
    webhooks.settle(here.writer, second, outcome(second, "delivered"))
    assert [claimed(here, time) is not None for time in (20.0, 21.0)] == [True, False]


def test_a_delivery_whose_outcome_is_never_stored_is_given_up(
    shared: tuple[Catalog, Catalog], home: Collection
) -> None:
    here, _ = shared
    enqueue(here, home, "a")
    claims = [claimed(here, 60.0 * number) for number in range(1, 100)]
    assert len([delivery for delivery in claims if delivery]) == webhooks.MOST_CLAIMS
    [(hook, waiting)] = webhooks.list_webhooks(here.reader, home)
    assert (waiting, hook.lost) == (0, 1)


def test_a_restored_snapshot_ends_deliveries_of_other_webhooks(
    shared: tuple[Catalog, Catalog], home: Collection, tmp_path: Path
) -> None:
    here, _ = shared
    enqueue(here, home, "a")
    with (
        closing(Catalog(Storage(tmp_path / "restored"))) as restored,
        restored.reader.begin() as source,
        here.writer.begin() as target,
    ):
        webhooks.transfer(source, target)
    assert webhooks.list_webhooks(here.reader, home) == []
    webhooks.add(here.writer, home, HOOK)
    assert claimed(here, 10.0) is None
