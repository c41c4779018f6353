"""Refusals: reasons why one item of many is not stored."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from app.engine.bugs import is_bug
from index.database.errors import Busy
from index.items import NoSpace, Replaced

LONGEST_REASON = 1_000  # characters: what failed may quote what was sent
MISTAKES = (ValueError, LookupError, OSError)

Part = TypeVar("Part")
Result = TypeVar("Result")

log = logging.getLogger(__name__)


def reason_of(failed: Exception) -> str:
    """Return the reason of a refusal; log it unless the sender's mistake."""
    if isinstance(failed, MISTAKES) and not is_bug(failed):
        return f"{failed!s:.{LONGEST_REASON}}" or type(failed).__name__
    log.error("an item failed, and the others go on", exc_info=failed)
    return f"the service failed on it ({type(failed).__name__}); its log says why"


def each(
    work: Callable[[Sequence[Part]], Sequence[Result]],
    parts: Sequence[Part],
    refusing: type[Exception] = ValueError,
) -> list[Result | str]:
    """Work on many parts together, or on each alone.

    Each alone if together they are refused; what is refused alone gives its reason.
    """
    if not parts:
        return []
    try:
        return list(work(parts))
    except refusing as refused:
        # What is wrong with the collection is no item's fault.
        if len(parts) == 1 or isinstance(refused, Replaced):
            return [reason_of(refused)] * len(parts)
        return [result for part in parts for result in each(work, [part], refusing)]


def write_each(
    work: Callable[[Sequence[Part]], Sequence[Result]], parts: Sequence[Part]
) -> list[Result | str]:
    """Write many parts like `each`; a full disk refuses all.

    So does a busy database.
    """
    try:
        return each(work, parts)
    except (Busy, NoSpace) as failed:
        return [str(failed)] * len(parts)
