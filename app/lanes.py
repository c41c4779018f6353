"""Lanes: kinds of work that wait and compute apart, so that text never waits for photos."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, fields
from functools import partial
from time import perf_counter
from typing import ParamSpec, TypeVar

from app import memory, priority
from app.errors import Unavailable
from app.metrics import STAGE_SECONDS, LaneGauges
from app.settings import Settings

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Lane:
    """Work of one kind: `running` at a time on threads of its own, beyond that it waits in order.

    `waiting` requests more may have a place, from before their body is read until they are
    answered; the next is refused. `patience` is how many seconds work may wait for its turn. What
    `large` work leaves free of memory goes back to the system.
    """

    def __init__(
        self,
        name: str,
        running: int,
        waiting: int,
        patience: float | None,
        nice: int = 0,
        *,
        large: bool = False,
    ) -> None:
        self.places, self.patience, self.large = running + waiting, patience, large
        self.taken = 0  # places; changed by the event loop's thread only
        self.gauges = LaneGauges(name, self.places)
        self._threads = ThreadPoolExecutor(running, initializer=priority.lower, initargs=(nice,))

    @contextmanager
    def place(self) -> Iterator[None]:
        """Take a place; Unavailable if there is none."""
        if self.taken >= self.places:
            self.gauges.refused.inc()
            raise Unavailable("too many requests are waiting; try again in a second")
        self.taken += 1
        try:
            with self.gauges.requests.track_inprogress():
                yield
        finally:
            self.taken -= 1

    async def run(
        self,
        work: Callable[Arguments, Result],
        *args: Arguments.args,
        **options: Arguments.kwargs,
    ) -> Result:
        """Do work in its turn. It is left undone where the task is cancelled before it begins."""
        task = partial(work, *args, **options)
        call = partial(copy_context().run, self._compute, task, perf_counter())
        self.gauges.waiting.inc()
        future: Future[Result] = self._threads.submit(call)
        turn = asyncio.wrap_future(future)
        try:
            await asyncio.wait({turn}, timeout=self.patience)
            if not turn.done() and future.cancel():
                self.gauges.refused.inc()
                raise Unavailable("the service is busy; try again in a moment")
            return await turn
        finally:
            if future.cancel():
                self.gauges.waiting.dec()

    def _compute(self, work: Callable[[], Result], submitted: float) -> Result:
        self.gauges.waiting.dec()
        STAGE_SECONDS.labels("wait").observe(perf_counter() - submitted)
        with self.gauges.running.track_inprogress():
            try:
                return work()
            finally:
                if self.large:
                    memory.give_back()

    def close(self) -> None:
        """Drop work that has not begun."""
        self._threads.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of a service."""

    searches: Lane  # by text, phrases or a stored item
    photos: Lane  # whatever looks at a photo or embeds an item
    batches: Lane  # imports, which take turns a batch at a time, and audits
    writes: Lane  # waiting for the database and the disk
    fetches: Lane  # waiting for other hosts' photos

    @classmethod
    def of(cls, settings: Settings) -> Lanes:
        """The lanes that the settings describe."""
        running, patience = settings.running, settings.patience
        return cls(
            searches=Lane("searches", running, settings.waiting, patience),
            photos=Lane("photos", running, settings.photos_waiting, patience, nice=5, large=True),
            batches=Lane(
                "batches", 1, settings.imports, None, nice=priority.BACKGROUND, large=True
            ),
            writes=Lane("writes", 8, settings.photos_waiting, patience),
            fetches=Lane("fetches", 8, settings.photos_waiting, None),
        )

    def named(self) -> dict[str, Lane]:
        """The lanes by their names."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def close(self) -> None:
        """Drop work that has not begun."""
        for lane in self.named().values():
            lane.close()
