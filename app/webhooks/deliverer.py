"""Deliveries in the background of a service, again after failures."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from threading import BoundedSemaphore, Event, Thread

from app.engine.engine import Engine
from app.webhooks.posting import Poster, PostResult
from index.database import webhooks
from index.database.outages import Outages
from index.database.webhook_rows import Delivery, DeliveryOutcome, Status, Webhook

POLLED = 5.0  # seconds until other processes' deliveries are looked for
FIRST = 1.0  # seconds until the first look
TOGETHER = 4  # deliveries on their way at a time
STEP = 0.1  # seconds of a wait for a place, until it is seen whether this ends
CLOSING = 3.0  # seconds in which what is on its way may still have an outcome
CLAIMED = 60.0  # seconds of a claim, longer than a post may take
# Seconds from an attempt to the next one: the schedule of Standard Webhooks, three days in all.
SCHEDULE = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
GONE = 410

log = logging.getLogger("tessera.webhooks")


class Deliverer:
    """Delivers due messages from `start` to `close`."""

    def __init__(self, find_engine: Callable[[], Engine | None], poster: Poster) -> None:
        self._find_engine, self._poster = find_engine, poster
        self._wake, self._ended = Event(), Event()
        self._places = BoundedSemaphore(TOGETHER)
        self._thread: Thread | None = None

    def start(self) -> None:
        """Begin to deliver."""
        self._ended.clear()
        self._thread = Thread(target=self._run, name="webhooks", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Look for due deliveries now."""
        self._wake.set()

    def close(self) -> None:
        """End; unfinished deliveries are due again after their claims."""
        self._ended.set()
        self._wake.set()
        if self._thread is None:
            return
        deadline = time.monotonic() + CLOSING
        self._thread.join(CLOSING)  # it may wait for the database
        waits = (max(0.0, deadline - time.monotonic()) for _ in range(TOGETHER))
        ended = sum(self._places.acquire(timeout=wait) for wait in waits)
        if ended:
            self._places.release(ended)

    def _run(self) -> None:
        outages, wait = Outages(log, "the delivery of webhooks"), FIRST
        while not self._ended.is_set():
            self._wake.wait(wait)
            self._wake.clear()
            wait = POLLED
            with outages.survive():
                self._send_due()

    def _send_due(self) -> None:
        """Send what is due."""
        engine = self._find_engine()
        while engine is not None and self._send_next(engine):
            pass

    def _send_next(self, engine: Engine) -> bool:
        """Send the next due delivery on a thread; False without one."""
        if self._ended.is_set() or not webhooks.has_due(engine.catalog.reader, time.time()):
            return False
        while not self._places.acquire(timeout=STEP):
            if self._ended.is_set():
                return False
        sending = None
        try:
            sending = self._claim(engine)
        finally:
            if sending is None:
                self._places.release()
        if sending is not None:
            sending.start()
        return sending is not None

    def _claim(self, engine: Engine) -> Thread | None:
        """Claim a delivery for a thread; none is begun once this ends."""
        if self._ended.is_set():
            return None
        claimed = webhooks.claim(engine.catalog.writer, time.time(), CLAIMED)
        if claimed is None or self._ended.is_set():
            return None
        return Thread(target=self._send, args=(engine, *claimed), daemon=True)

    def _send(self, engine: Engine, webhook: Webhook, delivery: Delivery) -> None:
        try:
            deliver(engine, self._poster, webhook, delivery)
        except Exception as failed:  # noqa: BLE001 - it is due again once its claim ends
            log.warning("the outcome of %s is not stored: %s", delivery.id, failed)
        finally:
            self._places.release()
            self._wake.set()  # its webhook may have more


def deliver(engine: Engine, poster: Poster, webhook: Webhook, delivery: Delivery) -> None:
    """Post a claimed delivery, and store its outcome."""
    result = poster.post(webhook, delivery, datetime.now(UTC))
    status = judge(result, delivery.attempts)
    about = delivery.id, delivery.event, time.time(), status, delivery.attempts
    outcome = DeliveryOutcome(*about, result.detail[:500])
    writer = engine.catalog.writer
    if status == "failed":
        due = time.time() + choose_wait(delivery.attempts, result.wait)
        webhooks.retry(writer, delivery, outcome, due)
    else:
        webhooks.settle(writer, delivery, outcome, gone=result.status == GONE)
    level = logging.INFO if status == "delivered" else logging.WARNING
    log.log(
        level,
        "webhook %s, attempt %d of %s: %s, %s",
        *(webhook.id, delivery.attempts, delivery.id, status, result.detail),
    )


def judge(result: PostResult, attempts: int) -> Status:
    """Return the status of a delivery after so many attempts."""
    if result.delivered:
        return "delivered"
    return "given_up" if result.status == GONE or attempts > len(SCHEDULE) else "failed"


def choose_wait(attempts: int, asked: float) -> float:
    """Choose the seconds until the next attempt, partly by chance."""
    wait = SCHEDULE[attempts - 1] * (1 + random.random() / 10)  # noqa: S311 - no secret
    return max(wait, min(asked, SCHEDULE[-1]))
