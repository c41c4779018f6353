"""Announcements of finished imports: deliveries, stored before the import is answered."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal
from uuid import uuid4

from anyio import CancelScope, to_thread

from index.catalog.catalog import Catalog
from index.database import webhooks
from index.items import Collection

FINISHED, FAILED = "import.finished", "import.failed"
LONGEST_REASON = 500  # characters

log = logging.getLogger("tessera.webhooks")


@dataclass(slots=True)
class ImportAnnouncement:
    """The news of an import; with a `reason` it failed."""

    source: Literal["request", "command"]
    counts: Mapping[str, int] = field(default_factory=dict)  # by status
    reason: str | None = None
    began: float = field(default_factory=time.time)  # seconds since 1970

    @property
    def event(self) -> str:
        """The type of the event."""
        return FINISHED if self.reason is None else FAILED

    def write(self, collection: str, ended: float) -> str:
        """Write the body of the event of a collection, in ASCII."""
        data = {
            "collection": collection,
            "source": self.source,
            "began": write_time(self.began),
            "ended": write_time(ended),
            "counts": dict(self.counts),
        }
        if self.reason is not None:
            # Names of files may be no Unicode, which some readers of JSON refuse.
            reason = self.reason.encode(errors="backslashreplace").decode()
            data["reason"] = reason[:LONGEST_REASON]
        event = {"type": self.event, "timestamp": write_time(ended), "data": data}
        return json.dumps(event, separators=(",", ":"))


def announce(catalog: Catalog, collection: Collection, announcement: ImportAnnouncement) -> int:
    """Store a delivery for each webhook; return their number."""
    now, message = time.time(), f"msg_{uuid4().hex}"
    body = announcement.write(collection.name, now)
    return webhooks.enqueue(catalog.writer, collection, announcement.event, message, body, now)


async def store_uncancelled(store: Callable[[], object]) -> None:
    """Store what a cancelled request announces, on a thread, or log why not."""
    try:
        with CancelScope(shield=True):
            await to_thread.run_sync(store)
    except Exception as failed:  # noqa: BLE001 - the cancellation goes on
        log.warning("webhooks are not told of an import that was cut off: %s", failed)


def write_time(seconds: float) -> str:
    """Write seconds since 1970 as a time in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
