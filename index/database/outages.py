"""Outages: failures of work in the background, logged once until it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from logging import Logger

from index.database.errors import Busy, NotReady
from index.items import ModelMismatch

EXPECTED = (Busy, NotReady)  # which say all in a line


class Outages:
    """Failures of one piece of work, which tries again. Used by one thread."""

    def __init__(self, log: Logger, work: str) -> None:
        """`work` is the subject of the lines, such as "the index"."""
        self._log, self._work = log, work
        self._former = ""

    @contextmanager
    def survive(self) -> Iterator[None]:
        """Do the work; log another failure than the last one, or its end.

        ModelMismatch passes: trying again would not help.
        """
        try:
            yield
        except ModelMismatch:
            raise
        except Exception as failure:  # noqa: BLE001 - the next try may fare better
            self._note(failure)
        else:
            if self._former:
                self._log.warning("%s goes on", self._work)
            self._former = ""

    def _note(self, failure: Exception) -> None:
        reason = "; ".join((str(failure), *getattr(failure, "__notes__", ())))
        former, self._former = self._former, f"{type(failure).__name__}: {reason}"
        if self._former != former:
            trace = None if isinstance(failure, EXPECTED) else failure
            message = "%s waits, and tries again: %s"
            level = self._log.error if trace else self._log.warning
            level(message, self._work, reason, exc_info=trace)
