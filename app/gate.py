"""How many requests compute at once, and how many may wait for it."""

from __future__ import annotations

from threading import BoundedSemaphore
from types import TracebackType

from app.errors import Unavailable

WRITES = 8  # changes that may wait for the database at a time


class Places:
    """So many may be inside at a time; the next is refused rather than kept waiting."""

    def __init__(self, count: int) -> None:
        self._free = BoundedSemaphore(count)

    def __enter__(self) -> None:
        if not self._free.acquire(blocking=False):
            raise Unavailable("too many changes wait for the database; try again in a second")

    def __exit__(self, *_: object) -> None:
        self._free.release()


class Gate:
    """Lets `running` threads in at a time; beyond `waiting` more, it refuses: `with gate: ...`.

    `with gate.turns: ...` waits however long it takes: for imports, where nobody waits.
    `with gate.writes: ...` is for who may have to wait for the database, which holds no turn.
    """

    def __init__(self, running: int, waiting: int) -> None:
        self._places = BoundedSemaphore(running + waiting)
        self.turns = BoundedSemaphore(running)
        self.writes = Places(WRITES)

    def __enter__(self) -> None:
        if not self._places.acquire(blocking=False):
            raise Unavailable("too many requests are waiting; try again in a second")
        self.turns.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.turns.release()
        self._places.release()
