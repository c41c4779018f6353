"""Webhooks of collections and their waiting deliveries, in the table of settings.

A webhook's row holds the name of its collection, so that it survives a re-embedding. A delivery's
row is named by the webhook's id and its own. It stays until the delivery has an outcome.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from sqlalchemy import Connection, Engine, delete, func, insert, select

from index.database import setting_rows
from index.database.tables import collections, settings
from index.items import Collection, Replaced

HOOKS, DELIVERIES = "webhooks/", "deliveries/"
MOST_HOOKS = 10  # of a collection
MOST_WAITING = 1_000  # deliveries of a webhook; beyond, the oldest one is given up

Status = Literal["delivered", "failed", "given_up"]


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """The outcome of an attempt to deliver."""

    delivery: str
    event: str
    time: float  # seconds since 1970
    status: Status
    attempts: int
    detail: str


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address for events of a collection, with its secret."""

    id: str
    collection: str
    url: str
    events: tuple[str, ...]
    secret: str
    created: float  # seconds since 1970
    enabled: bool = True  # until the receiver says that it is gone
    lost: int = 0  # deliveries that were given up
    last: DeliveryOutcome | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """A waiting delivery; `sending` until `due` once a process claimed it."""

    id: str
    webhook: str
    event: str
    body: str
    due: float  # seconds since 1970
    attempts: int = 0
    sending: bool = False


def add(writer: Engine, collection: Collection, webhook: Webhook) -> Webhook:
    """Add a webhook to a collection; on disk when this returns.

    Raises Replaced if the collection was dropped or re-embedded meanwhile, and ValueError beyond
    `MOST_HOOKS`, or for an address that is there.
    """
    with writer.begin() as connection:
        name = _lock_name(connection, collection)
        if name is None:
            raise Replaced(f"collection {collection.name!r} was dropped or replaced")
        others = _list_hooks(connection, name)
        if len(others) >= MOST_HOOKS:
            raise ValueError(f"{name!r} has {MOST_HOOKS} webhooks already; delete one first")
        for other in others:
            if other.url == webhook.url:
                raise ValueError(f"url: {webhook.url!r:.220} is there as webhook {other.id}")
        added = replace(webhook, collection=name)
        _put_hook(connection, added)
    return added


def list_webhooks(reader: Engine, collection: Collection) -> list[tuple[Webhook, int]]:
    """List a collection's webhooks, oldest first, with the number of waiting deliveries."""
    with reader.begin() as connection:
        hooks = _list_hooks(connection, collection.name)
        return [(hook, len(_list_deliveries(connection, hook.id))) for hook in hooks]


def remove(writer: Engine, collection: Collection, webhook: str) -> None:
    """Remove a webhook and its waiting deliveries; LookupError without it."""
    with writer.begin() as connection:
        hook = _read_hook(connection, webhook)
        if hook is None or hook.collection != collection.name:
            raise LookupError(f"{collection.name!r} has no webhook {webhook!r:.100}")
        _discard_hook(connection, webhook)


def listens(reader: Engine, collection: Collection) -> bool:
    """Return whether a collection has an enabled webhook."""
    with reader.begin() as connection:
        return any(hook.enabled for hook in _list_hooks(connection, collection.name))


def enqueue(
    writer: Engine, collection: Collection, event: str, message: str, body: str, now: float
) -> int:
    """Store a due delivery for each webhook; return their number."""
    with writer.begin() as connection:
        name = _lock_name(connection, collection) or collection.name
        hooks = [hook for hook in _list_hooks(connection, name) if hook.enabled]
        hooks = [hook for hook in hooks if event in hook.events]
        for hook in hooks:
            _drop_oldest(connection, _list_deliveries(connection, hook.id), now)
            _put_delivery(connection, Delivery(message, hook.id, event, body, now))
    return len(hooks)


def has_due(reader: Engine, now: float) -> bool:
    """Return whether a delivery is due."""
    with reader.begin() as connection:
        return any(delivery.due <= now for delivery in _list_deliveries(connection))


def claim(writer: Engine, now: float, seconds: float) -> tuple[Webhook, Delivery] | None:
    """Claim the delivery due first, for so many seconds.

    Its webhook has no other one on its way. If the process ends meanwhile, it is due again.
    """
    with writer.begin() as connection:
        waiting = _list_deliveries(connection, lock=True)
        busy = {one.webhook for one in waiting if one.sending and one.due > now}
        for delivery in waiting:
            if delivery.due > now or delivery.webhook in busy:
                continue
            hook = _read_hook(connection, delivery.webhook)
            if hook is None:  # a snapshot without it was restored
                _delete_row(connection, delivery)
                continue
            attempts = delivery.attempts + 1
            taken = replace(delivery, due=now + seconds, attempts=attempts, sending=True)
            _put_delivery(connection, taken)
            return hook, taken
    return None


def retry(writer: Engine, delivery: Delivery, outcome: DeliveryOutcome, due: float) -> None:
    """Store the outcome of a claimed delivery, due again."""
    with writer.begin() as connection:
        hook = _read_hook(connection, delivery.webhook)
        if hook is not None:  # it may have been removed meanwhile
            _put_delivery(connection, replace(delivery, due=due, sending=False))
            _put_hook(connection, replace(hook, last=outcome))


def settle(
    writer: Engine, delivery: Delivery, outcome: DeliveryOutcome, *, gone: bool = False
) -> None:
    """Store the last outcome of a delivery; with `gone`, disable its webhook."""
    with writer.begin() as connection:
        _settle(connection, delivery, outcome)
        hook = _read_hook(connection, delivery.webhook) if gone else None
        if hook is not None:
            _put_hook(connection, replace(hook, enabled=False))
            connection.execute(delete(settings).where(_begins(f"{DELIVERIES}{hook.id}/")))


def rename(connection: Connection, name: str, new: str) -> None:
    """Move the webhooks of a collection to its new name."""
    for hook in _list_hooks(connection, name):
        _put_hook(connection, replace(hook, collection=new))


def discard(connection: Connection, name: str) -> None:
    """Forget the webhooks of a collection."""
    for hook in _list_hooks(connection, name):
        _discard_hook(connection, hook.id)


def transfer(source: Connection, target: Connection) -> None:
    """Replace all webhooks of another database by these, secrets included.

    Deliveries are not copied; those of the other database stay if their webhook does.
    """
    rows = [dict(row) for row in source.execute(select(settings).where(_begins(HOOKS))).mappings()]
    target.execute(delete(settings).where(_begins(HOOKS)))
    if rows:
        target.execute(insert(settings), rows)


def _lock_name(connection: Connection, collection: Collection) -> str | None:
    """Read a collection's name, and lock it for a change."""
    named = select(collections.c.name).where(collections.c.key == collection.key).with_for_update()
    name: str | None = connection.execute(named).scalar_one_or_none()
    return name


def _list_hooks(connection: Connection, name: str) -> list[Webhook]:
    rows = connection.execute(select(settings.c.value).where(_begins(HOOKS))).scalars()
    hooks = [hook for hook in map(_parse_hook, rows) if hook.collection == name]
    return sorted(hooks, key=lambda hook: (hook.created, hook.id))


def _read_hook(connection: Connection, webhook: str) -> Webhook | None:
    """Read a webhook, locked for a change."""
    row = select(settings.c.value).where(settings.c.name == HOOKS + webhook).with_for_update()
    value: str | None = connection.execute(row).scalar_one_or_none()
    return None if value is None else _parse_hook(value)


def _parse_hook(value: str) -> Webhook:
    fields: dict[str, Any] = json.loads(value)
    last = fields.pop("last")
    outcome = None if last is None else DeliveryOutcome(**last)
    return Webhook(**fields | {"events": tuple(fields["events"]), "last": outcome})


def _put_hook(connection: Connection, hook: Webhook) -> None:
    setting_rows.put(connection, HOOKS + hook.id, json.dumps(asdict(hook)))


def _discard_hook(connection: Connection, webhook: str) -> None:
    connection.execute(delete(settings).where(settings.c.name == HOOKS + webhook))
    connection.execute(delete(settings).where(_begins(f"{DELIVERIES}{webhook}/")))


def _list_deliveries(
    connection: Connection, webhook: str | None = None, *, lock: bool = False
) -> list[Delivery]:
    """List waiting deliveries, of a webhook or all, the first due first.

    With `lock`, leaves out those that another process is about to claim.
    """
    prefix = DELIVERIES if webhook is None else f"{DELIVERIES}{webhook}/"
    rows = select(settings.c.value).where(_begins(prefix))
    if lock:
        rows = rows.with_for_update(skip_locked=True)
    waiting = [Delivery(**json.loads(value)) for value in connection.execute(rows).scalars()]
    return sorted(waiting, key=lambda delivery: (delivery.due, delivery.id))


def _drop_oldest(connection: Connection, waiting: Sequence[Delivery], now: float) -> None:
    """Give up the oldest of too many waiting deliveries."""
    for delivery in waiting[: max(0, len(waiting) - MOST_WAITING + 1)]:
        reason = f"more than {MOST_WAITING:,} deliveries waited"
        outcome = DeliveryOutcome(
            delivery.id, delivery.event, now, "given_up", delivery.attempts, reason
        )
        _settle(connection, delivery, outcome)


def _name_row(delivery: Delivery) -> str:
    return f"{DELIVERIES}{delivery.webhook}/{delivery.id}"


def _put_delivery(connection: Connection, delivery: Delivery) -> None:
    setting_rows.put(connection, _name_row(delivery), json.dumps(asdict(delivery)))


def _delete_row(connection: Connection, delivery: Delivery) -> None:
    connection.execute(delete(settings).where(settings.c.name == _name_row(delivery)))


def _settle(connection: Connection, delivery: Delivery, outcome: DeliveryOutcome) -> None:
    """Delete a delivery with a final outcome, and note it."""
    _delete_row(connection, delivery)
    hook = _read_hook(connection, delivery.webhook)
    if hook is not None:  # it may have been removed meanwhile
        lost = hook.lost + (outcome.status == "given_up")
        _put_hook(connection, replace(hook, last=outcome, lost=lost))


def _begins(prefix: str) -> Any:
    return func.substr(settings.c.name, 1, len(prefix)) == prefix
