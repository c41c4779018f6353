"""Webhooks of collections and their waiting deliveries, in the table of settings.

A webhook's row holds the name of its collection, so that it survives a re-embedding. A delivery's
row is named by the webhook's id and its own. It stays until the delivery has an outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, Engine, select

from index.database import setting_rows
from index.database.tables import settings
from index.database.webhook_rows import (
    DELIVERIES,
    HOOKS,
    Delivery,
    DeliveryOutcome,
    Webhook,
    discard_deliveries,
    discard_hook,
    list_deliveries,
    list_hooks,
    list_owned,
    name_row,
    parse_deliveries,
    parse_webhook_id,
    put_delivery,
    put_hook,
    read_hook,
    read_owner,
    rename_owner,
    sort_by_due,
)
from index.items import Collection

MOST_HOOKS = 10  # of a collection
MOST_WAITING = 1_000  # deliveries of a webhook; beyond, the oldest one is given up
MOST_CLAIMS = 20  # of a delivery, for one whose outcome can never be stored


def add(writer: Engine, collection: Collection, webhook: Webhook) -> Webhook:
    """Add a webhook to a collection; on disk when this returns.

    Raises Replaced if the collection was dropped or re-embedded meanwhile, and ValueError beyond
    `MOST_HOOKS`, or for an address that is there.
    """
    with writer.begin() as connection:
        name = setting_rows.require_name(connection, collection)
        others = list_hooks(connection, name)
        if len(others) >= MOST_HOOKS:
            raise ValueError(f"{name!r} has {MOST_HOOKS} webhooks already; delete one first")
        for other in others:
            if other.url == webhook.url:
                raise ValueError(f"url: {webhook.url!r:.220} is there as webhook {other.id}")
        added = replace(webhook, collection=name)
        put_hook(connection, added)
    return added


def list_webhooks(reader: Engine, collection: Collection) -> list[tuple[Webhook, int]]:
    """List a collection's webhooks, oldest first, with the number of waiting deliveries."""
    with reader.begin() as connection:
        hooks = list_hooks(connection, collection.name)
        return [(hook, len(list_deliveries(connection, hook.id))) for hook in hooks]


def remove(writer: Engine, collection: Collection, webhook: str) -> None:
    """Remove a webhook and its waiting deliveries; LookupError without it.

    Where a damaged row does not tell its collection, a writer of any one may remove it.
    """
    with writer.begin() as connection:
        is_foreign = read_owner(connection, webhook) not in (None, collection.name)
        if is_foreign or not discard_hook(connection, webhook):
            raise LookupError(f"{collection.name!r} has no webhook {webhook!r:.100}")


def listens(reader: Engine, collection: Collection) -> bool:
    """Return whether a collection has an enabled webhook."""
    with reader.begin() as connection:
        return any(hook.enabled for hook in list_hooks(connection, collection.name))


def enqueue(
    writer: Engine, collection: Collection, event: str, message: str, body: str, now: float
) -> int:
    """Store a due delivery for each webhook, which ends its rest; return their number."""
    with writer.begin() as connection:
        name = setting_rows.lock_name(connection, collection) or collection.name
        hooks = [hook for hook in list_hooks(connection, name, lock=True) if hook.enabled]
        hooks = [hook for hook in hooks if event in hook.events]
        for hook in hooks:
            put_hook(connection, replace(hook, rests=0.0))
            _drop_oldest(connection, list_deliveries(connection, hook.id), now)
            put_delivery(connection, Delivery(message, hook.id, event, body, now))
    return len(hooks)


def has_due(reader: Engine, now: float) -> bool:
    """Return whether a delivery is due."""
    with reader.begin() as connection:
        return bool(_list_ready(connection, now))


def claim(writer: Engine, now: float, seconds: float) -> tuple[Webhook, Delivery] | None:
    """Claim the delivery due first, for so many seconds.

    Those of webhooks whose last one failed come last. Its webhook has no other one on its way. If
    the process ends meanwhile, it is due again.
    """
    with writer.begin() as connection:
        for webhook in _list_ready(connection, now):
            # A webhook that another process has locked is skipped.
            hook = read_hook(connection, webhook, skip=True)
            first = None if hook is None else _find_due(connection, hook, now)
            if hook is None or first is None:  # another process was faster
                continue
            if first.attempts >= MOST_CLAIMS:
                _give_up(connection, first, now, "its outcome could never be stored")
                continue
            attempts = first.attempts + 1
            taken = replace(first, due=now + seconds, attempts=attempts, sending=True)
            put_delivery(connection, taken)
            return hook, taken
    return None


def retry(writer: Engine, delivery: Delivery, outcome: DeliveryOutcome, due: float) -> None:
    """Store the outcome of a claimed delivery, due again.

    Until then its webhook rests, unless a new delivery comes.
    """
    with writer.begin() as connection:
        hook = read_hook(connection, delivery.webhook)
        if hook is not None:  # it may have been removed meanwhile
            put_hook(connection, replace(hook, last=outcome, rests=due))
            put_delivery(connection, replace(delivery, due=due, sending=False))


def settle(
    writer: Engine, delivery: Delivery, outcome: DeliveryOutcome, *, gone: bool = False
) -> None:
    """Store the last outcome of a delivery; with `gone`, disable its webhook."""
    with writer.begin() as connection:
        _settle(connection, delivery, outcome)
        hook = read_hook(connection, delivery.webhook) if gone else None
        if hook is not None:
            put_hook(connection, replace(hook, enabled=False))
            discard_deliveries(connection, hook.id)


def rename(connection: Connection, name: str, new: str) -> None:
    """Move the webhooks of a collection to its new name."""
    for webhook in list_owned(connection, name):
        rename_owner(connection, webhook, new)


def discard(connection: Connection, name: str) -> None:
    """Forget the webhooks of a collection."""
    for webhook in list_owned(connection, name):
        discard_hook(connection, webhook)


def transfer(source: Connection, target: Connection) -> None:
    """Replace all webhooks of another database by these, secrets included.

    Deliveries are not copied; those of the other database stay if their webhook does.
    """
    hooks = {name.removeprefix(HOOKS) for name in setting_rows.transfer(source, target, HOOKS)}
    begun = select(settings.c.name).where(setting_rows.begins(DELIVERIES))
    waiting = target.execute(begun).scalars().all()
    for webhook in {parse_webhook_id(name) for name in waiting} - hooks:
        discard_deliveries(target, webhook)


def _list_ready(connection: Connection, now: float) -> list[str]:
    """List webhooks with a due delivery and none on its way, the next one first.

    Deliveries of a resting webhook are not parsed.
    """
    ready = {hook.id: hook for hook in list_hooks(connection) if hook.rests <= now}
    rows = (
        connection.execute(select(settings).where(setting_rows.begins(DELIVERIES))) if ready else ()
    )
    waiting: dict[str, list[Delivery]] = {}
    for name, value in rows:
        if (webhook := parse_webhook_id(name)) in ready:
            waiting.setdefault(webhook, []).extend(parse_deliveries([value]))
    chosen = {webhook: _choose(deliveries, now) for webhook, deliveries in waiting.items()}
    due = {webhook: delivery.due for webhook, delivery in chosen.items() if delivery}
    return sorted(due, key=lambda webhook: (ready[webhook].fails, due[webhook]))


def _find_due(connection: Connection, hook: Webhook, now: float) -> Delivery | None:
    """Find the first due delivery of a webhook that does not rest."""
    if hook.rests > now:
        return None
    return _choose(list_deliveries(connection, hook.id), now)


def _choose(waiting: Sequence[Delivery], now: float) -> Delivery | None:
    """Choose the first due delivery of a webhook, unless one is on its way."""
    if any(delivery.sending and delivery.due > now for delivery in waiting):
        return None
    return next((delivery for delivery in sort_by_due(waiting) if delivery.due <= now), None)


def _drop_oldest(connection: Connection, waiting: Sequence[Delivery], now: float) -> None:
    """Give up the oldest of too many waiting deliveries."""
    for delivery in waiting[: max(0, len(waiting) - MOST_WAITING + 1)]:
        _give_up(connection, delivery, now, f"more than {MOST_WAITING:,} deliveries waited")


def _give_up(connection: Connection, delivery: Delivery, now: float, reason: str) -> None:
    about = delivery.id, delivery.event, now
    outcome = DeliveryOutcome(*about, "given_up", delivery.attempts, reason)
    _settle(connection, delivery, outcome)


def _settle(connection: Connection, delivery: Delivery, outcome: DeliveryOutcome) -> None:
    """Delete a delivery with a final outcome, and note it."""
    hook = read_hook(connection, delivery.webhook)  # locked before its deliveries
    if hook is not None:  # it may have been removed meanwhile
        lost = hook.lost + (outcome.status == "given_up")
        put_hook(connection, replace(hook, last=outcome, lost=lost, rests=0.0))
    setting_rows.discard(connection, name_row(delivery))
