"""How many requests compute at once, and how many may wait for it."""

from __future__ import annotations

from threading import BoundedSemaphore
from types import TracebackType

from app.errors import Unavailable


class Gate:
    """Lets `running` threads in at a time; beyond `waiting` more, it refuses: `with gate: ...`.

    `with gate.turns: ...` waits however long it takes: for imports, where nobody waits.
    """

    def __init__(self, running: int, waiting: int) -> None:
        self._places = BoundedSemaphore(running + waiting)
        self.turns = BoundedSemaphore(running)

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
