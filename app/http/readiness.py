"""Readiness: a shared check of searches and changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import monotonic

from app.http.errors import Unavailable
from index.database.errors import NotReady

PATIENCE = 0.5  # seconds that who asks waits for a new check, where there is an older one
STALE = 30.0  # seconds after which an older one says nothing any more
FAILED = 1.0  # seconds until what failed is tried again
Check = Callable[[], Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of a check, or its failure, and its time."""

    about: Mapping[str, object] = field(default_factory=dict)
    failure: Exception | None = None
    done: float = field(default_factory=monotonic)

    @property
    def age(self) -> float:
        """In seconds."""
        return monotonic() - self.done


class Readiness:
    """Runs a check in its own thread, at most every `seconds`.

    For one event loop.

    A check writes to the disk; shared checks keep callers from waiting for each other.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._thread = ThreadPoolExecutor(1, "readiness")
        self._report: CheckReport | None = None
        self._running: asyncio.Future[CheckReport] | None = None

    async def report(self, check: Check) -> dict[str, object]:
        """Return the result of the newest check, and its age in seconds.

        Its exception where it failed; NotReady for a disk that fails, or a check that hangs.
        """
        report = self._report
        if report is None or report.age >= self._choose_lifetime(report):
            report = await self._renew(check)
        if report is None or report.age >= STALE + self.seconds:
            raise Unavailable("the disk, the database or the picture store does not answer in time")
        if isinstance(report.failure, NotReady):
            raise Unavailable(str(report.failure)) from report.failure
        if isinstance(report.failure, OSError):
            raise Unavailable(f"nothing can be stored: {report.failure}") from report.failure
        if report.failure is not None:
            raise report.failure.with_traceback(None)
        return {**report.about, "checked": round(report.age, 1)}

    async def _renew(self, check: Check) -> CheckReport | None:
        """Start a check; return its report, or the last one if slow."""
        if self._running is None:
            loop = asyncio.get_running_loop()
            self._running = loop.run_in_executor(self._thread, _try, check)
            self._running.add_done_callback(self._keep)
        # One that is asked for the first time takes as long as it may.
        patience = STALE if self._report is None else PATIENCE
        await asyncio.wait({self._running}, timeout=patience)
        return self._report

    def _keep(self, done: asyncio.Future[CheckReport]) -> None:
        self._running = None
        if not done.cancelled():
            self._report = done.result()

    def _choose_lifetime(self, report: CheckReport) -> float:
        return self.seconds if report.failure is None else min(FAILED, self.seconds)

    def close(self) -> None:
        """Begin no more checks."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _try(check: Check) -> CheckReport:
    try:
        return CheckReport(check())
    except Exception as failure:  # noqa: BLE001 - the callers get any failure
        return CheckReport(failure=failure)
