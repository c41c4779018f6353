"""Announcements of finished imports: deliveries, stored before the import is answered."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal
from uuid import uuid4

from index.catalog.catalog import Catalog
from index.database import webhooks
from index.items import Collection

FINISHED, FAILED = "import.finished", "import.failed"
LONGEST_REASON = 500  # characters


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
        """Write the body of the event of a collection."""
        data = {
            "collection": collection,
            "source": self.source,
            "began": write_time(self.began),
            "ended": write_time(ended),
            "counts": dict(self.counts),
        }
        if self.reason is not None:
            data["reason"] = self.reason[:LONGEST_REASON]
        event = {"type": self.event, "timestamp": write_time(ended), "data": data}
        return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def announce(catalog: Catalog, collection: Collection, announcement: ImportAnnouncement) -> int:
    """Store a delivery for each webhook; return their number."""
    now, message = time.time(), f"msg_{uuid4().hex}"
    body = announcement.write(collection.name, now)
    return webhooks.enqueue(catalog.writer, collection, announcement.event, message, body, now)


def write_time(seconds: float) -> str:
    """Write seconds since 1970 as a time in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
