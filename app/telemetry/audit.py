"""The audit: a line of JSON for each change or key."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from app.telemetry.line_files import append, write_time

logger = logging.getLogger("tessera")


@dataclass(frozen=True, slots=True)
class AuditLog:
    """The file of the audit; without one nothing is written."""

    file: Path | None

    def add(self, who: str, what: str, **facts: str | int) -> None:
        """Write a line; a failure is only logged: the change stays."""
        if self.file is None:
            return
        line = {"time": write_time(), "who": who, "what": what, **facts}
        try:
            append(self.file, [line])
        except OSError as failed:
            logger.error("the audit has no line of %s by %s: %s", what, who, failed)
