"""Rows of webhooks and of waiting deliveries, in the table of settings."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

from sqlalchemy import Connection, select

from index.database import setting_rows
from index.database.tables import settings

HOOKS, DELIVERIES = "webhooks/", "deliveries/"

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
    rests: float = 0.0  # after a failure nothing is sent until then, seconds since 1970

    @property
    def fails(self) -> bool:
        """Return whether the last outcome was a failure."""
        return self.last is not None and self.last.status != "delivered"


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


def list_hooks(
    connection: Connection, name: str | None = None, *, lock: bool = False
) -> list[Webhook]:
    """List webhooks, of a collection or all; with `lock`, locked for a change."""
    hooks = [hook for hook in _read_hooks(connection) if name in (None, hook.collection)]
    if lock:
        # In one order, and before their deliveries: or two changes could wait for each other.
        locked = [read_hook(connection, webhook) for webhook in sorted(hook.id for hook in hooks)]
        hooks = [hook for hook in locked if hook is not None]
    return sorted(hooks, key=lambda hook: (hook.created, hook.id))


def _read_hooks(connection: Connection) -> list[Webhook]:
    rows = setting_rows.read_all(connection, HOOKS)
    hooks = (setting_rows.parse(value, Webhook) for value in rows)
    return [hook for hook in hooks if hook is not None]


def read_hook(connection: Connection, webhook: str, *, skip: bool = False) -> Webhook | None:
    """Read a webhook, locked for a change; None for a damaged one.

    With `skip`, also if another process has it.
    """
    value = _lock_row(connection, webhook, skip=skip)
    return None if value is None else setting_rows.parse(value, Webhook)


def read_owner(connection: Connection, webhook: str) -> str | None:
    """Read the collection of a webhook, locked for a change; None if illegible.

    It is legible in a row of a newer version, and in some damaged ones.
    """
    value = _lock_row(connection, webhook)
    return None if value is None else _parse_owner(value)


def list_owned(connection: Connection, name: str) -> list[str]:
    """List ids of a collection's webhooks, sorted; damaged ones if legible."""
    rows = connection.execute(select(settings).where(setting_rows.begins(HOOKS)))
    return sorted(row.removeprefix(HOOKS) for row, value in rows if _parse_owner(value) == name)


def _lock_row(connection: Connection, webhook: str, *, skip: bool = False) -> str | None:
    row = select(settings.c.value).where(settings.c.name == HOOKS + webhook)
    locked = row.with_for_update(skip_locked=skip)
    value: str | None = connection.execute(locked).scalar_one_or_none()
    return value


def _parse_owner(value: str) -> str | None:
    try:
        row = json.loads(value)
    except (ValueError, RecursionError):
        return None
    owner = row.get("collection") if isinstance(row, dict) else None
    return owner if isinstance(owner, str) else None


def parse_deliveries(values: Iterable[str]) -> list[Delivery]:
    """Parse the rows of deliveries, without damaged ones."""
    deliveries = (setting_rows.parse(value, Delivery) for value in values)
    return [delivery for delivery in deliveries if delivery is not None]


def put_hook(connection: Connection, hook: Webhook) -> None:
    """Write a webhook."""
    setting_rows.put(connection, HOOKS + hook.id, json.dumps(asdict(hook)))


def rename_owner(connection: Connection, webhook: str, name: str) -> None:
    """Change the collection of a webhook whose row is legible, and nothing else."""
    value = _lock_row(connection, webhook)
    if value is not None:  # it may have been removed meanwhile
        row = json.loads(value) | {"collection": name}
        setting_rows.put(connection, HOOKS + webhook, json.dumps(row))


def discard_hook(connection: Connection, webhook: str) -> bool:
    """Delete a webhook, damaged or not, and its deliveries; False without it."""
    discarded = setting_rows.discard(connection, HOOKS + webhook)
    discard_deliveries(connection, webhook)
    return discarded > 0


def list_deliveries(connection: Connection, webhook: str) -> list[Delivery]:
    """List waiting deliveries of a webhook, the first due first."""
    rows = setting_rows.read_all(connection, name_deliveries(webhook))
    return sort_by_due(parse_deliveries(rows))


def discard_deliveries(connection: Connection, webhook: str) -> None:
    """Delete the waiting deliveries of a webhook."""
    setting_rows.discard_all(connection, name_deliveries(webhook))


def sort_by_due(waiting: Iterable[Delivery]) -> list[Delivery]:
    """Sort deliveries, the first due first."""
    return sorted(waiting, key=lambda delivery: (delivery.due, delivery.id))


def name_deliveries(webhook: str) -> str:
    """Return what the rows of a webhook's deliveries begin with."""
    return f"{DELIVERIES}{webhook}/"


def name_row(delivery: Delivery) -> str:
    """Name the row of a delivery."""
    return name_deliveries(delivery.webhook) + delivery.id


def parse_webhook_id(row: str) -> str:
    """Return the webhook in the name of a delivery's row."""
    return row.split("/")[1]


def put_delivery(connection: Connection, delivery: Delivery) -> None:
    """Write a waiting delivery."""
    setting_rows.put(connection, name_row(delivery), json.dumps(asdict(delivery)))
