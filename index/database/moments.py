"""Names and revisions are read once at a moment.

The steps of a search ask for the same ones again and again. What was stored before the search began
is in its answer whichever step asks first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

Read = TypeVar("Read")

_READ = ContextVar[dict[Hashable, Any] | None]("read", default=None)


@contextmanager
def moment() -> Iterator[None]:
    """Read each thing once within the block, and on its thread."""
    token = _READ.set({})
    try:
        yield
    finally:
        _READ.reset(token)


def read_once(key: Hashable, read: Callable[[], Read]) -> Read:
    """Return what was read for a key at this moment; read it if nothing was."""
    answers = _READ.get()
    if answers is None:  # outside of a moment
        return read()
    if key not in answers:
        answers[key] = read()
    answer: Read = answers[key]
    return answer


def forget() -> None:
    """Read everything again at this moment."""
    if (answers := _READ.get()) is not None:
        answers.clear()
