"""Files of JSON lines, appended to by several processes."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def append(path: Path, lines: Iterable[Mapping[str, Any]], *, durable: bool = False) -> None:
    """Append lines in one step, also next to other processes.

    With `durable`, they are on disk when this returns. OSError if that fails.
    """
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        data = text.encode(errors="replace")
        if os.write(handle, data) < len(data):
            raise OSError(errno.ENOSPC, "a line was cut", str(path))
        if durable:
            os.fsync(handle)
    finally:
        os.close(handle)


def write_time() -> str:
    """Write the time in UTC: 2026-05-01T12:00:00+00:00."""
    return datetime.now(UTC).isoformat(timespec="seconds")
