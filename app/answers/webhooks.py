"""Webhooks of collections as JSON, and changes of them."""

from __future__ import annotations

import time
from dataclasses import asdict
from uuid import uuid4

from app.engine.engine import Engine
from app.schemas.webhooks import DeliveryOut, NewWebhookOut, WebhookIn, WebhookOut, WebhooksOut
from app.settings import WebhookReach
from app.webhooks.announcing import write_time
from app.webhooks.posting import check_secret, check_url, make_secret
from index.database import webhooks as rows
from index.database.webhook_rows import Webhook


def webhooks(engine: Engine, name: str) -> WebhooksOut:
    """The webhooks of a collection."""
    listed = engine.read(name, lambda home: rows.list_webhooks(engine.catalog.reader, home))
    return WebhooksOut(webhooks=[_out(*hook) for hook in listed])


def add(engine: Engine, name: str, sent: WebhookIn, reach: WebhookReach) -> NewWebhookOut:
    """Add a webhook; ValueError for a refused address or secret."""
    url, secret = check_url(sent.url, reach), sent.secret or make_secret()
    check_secret(secret)
    events = tuple(dict.fromkeys(sent.events))
    hook = Webhook(uuid4().hex, name, url, events, secret, time.time())
    added = engine.write(name, lambda home: rows.add(engine.catalog.writer, home, hook))
    return NewWebhookOut(**_out(added, 0).model_dump(), secret=secret)


def remove(engine: Engine, name: str, webhook: str) -> None:
    """Remove a webhook and its waiting deliveries; LookupError without it."""
    engine.write(name, lambda home: rows.remove(engine.catalog.writer, home, webhook))


def _out(hook: Webhook, waiting: int) -> WebhookOut:
    last = None
    if hook.last is not None:
        fields = asdict(hook.last)
        last = DeliveryOut(id=fields.pop("delivery"), time=write_time(fields.pop("time")), **fields)
    return WebhookOut(
        id=hook.id,
        url=hook.url,
        events=list(hook.events),
        created=write_time(hook.created),
        enabled=hook.enabled,
        waiting=waiting,
        lost=hook.lost,
        last=last,
    )
