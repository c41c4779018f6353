"""Lanes: queues and threads by kind of work, with fairly shared places."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv6Address, ip_address
from threading import Thread
from time import perf_counter
from typing import Any, ParamSpec, TypeVar

from app import memory, priority
from app.http.errors import TooManyRequests, Unavailable
from app.settings import Settings
from app.telemetry.metrics import STAGE_SECONDS, LaneGauges

# A caller takes another place only while it has fewer than so many for each one that would be left
# free, as queues share a switch's memory (Choudhury & Hahne 1998): one alone gets three quarters,
# two get three sevenths each. Who has a place never takes the last one.
GREED = 3
LARGE = 2**20  # bytes of a body that take their turn to be in memory: texts are shorter
REST = 10.0  # seconds without large work until networks keep no memory for it

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Places:
    """`count` places for `thing`, `taken` by callers. Used by one event loop."""

    def __init__(self, thing: str, count: int) -> None:
        self.thing, self.count = thing, count
        self.taken: Counter[str] = Counter()

    @contextmanager
    def take(self, caller: str = "") -> Iterator[None]:
        """Take a place; errors are those of `check_share`."""
        check_share(self.thing, self.count, self.taken.total(), self.taken[caller], caller)
        self.taken[caller] += 1
        try:
            yield
        finally:
            self.taken[caller] -= 1
            if not self.taken[caller]:
                del self.taken[caller]


def check_share(thing: str, count: int, taken: int, held: int, caller: str) -> None:
    """Check one more place for a caller with `held` of `taken`.

    Unavailable if none is free, TooManyRequests if the caller has its share.
    """
    free = count - taken
    if free <= 0:
        raise Unavailable(f"all {count} places for {thing} are taken; try again in a second")
    if held and held >= GREED * (free - 1):
        raise TooManyRequests(
            f"{caller or 'this caller'} has {held} of the {count} places for {thing}, and those "
            "that are left are for others; try again in a second"
        )


def network(address: str) -> str:
    """Reduce an IPv6 address to its /64, of one host.

    >>> network("10.0.0.1"), network("2001:db8::1"), network("2001:db8::2")
    ('10.0.0.1', '2001:db8::/64', '2001:db8::/64')
    """
    try:
        host = ip_address(address)
    except ValueError:
        return address
    if not isinstance(host, IPv6Address) or host.is_loopback:
        return address
    if host.ipv4_mapped:
        return str(host.ipv4_mapped)
    return f"{IPv6Address(int(host) >> 64 << 64)}/64"


class Turns:
    """`count` turns at once, given to callers one after the other.

    Who asks for many waits behind whoever asks for few. One caller has `share` of them at most.
    Used by one event loop.
    """

    def __init__(self, count: int, share: int | None = None) -> None:
        self._free, self._share = count, share or count
        self._taken: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # the next caller first

    async def take(self, caller: str) -> None:
        """Wait for a turn."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(turn)
        self._give()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._leave(caller, turn)
            else:  # it was given at the same moment
                self.give_back(caller)
            raise

    def give_back(self, caller: str) -> None:
        """End a turn, and give it to the next caller."""
        self._free += 1
        self._taken[caller] -= 1
        if not self._taken[caller]:
            del self._taken[caller]
        self._give()

    def _give(self) -> None:
        """Give free turns to whoever waits."""
        while self._free and (caller := self._next()) is not None:
            turns = self._waiting.pop(caller)
            turn = turns.popleft()
            if turns:
                self._waiting[caller] = turns  # behind the others
            if not turn.cancelled():
                self._free -= 1
                self._taken[caller] += 1
                turn.set_result(None)

    def close(self) -> None:
        """Give no more turns, and let no one wait."""
        waiting, self._waiting = self._waiting, {}
        for turns in waiting.values():
            for turn in turns:
                turn.cancel()

    def _leave(self, caller: str, turn: asyncio.Future[None]) -> None:
        """Wait no longer for a turn."""
        turns = self._waiting.get(caller, deque())
        with suppress(ValueError):
            turns.remove(turn)
        if not turns:
            self._waiting.pop(caller, None)

    def _next(self) -> str | None:
        """The caller to have the next turn, if any may."""
        return next((name for name in self._waiting if self._taken[name] < self._share), None)


class LargeWork:
    """Work on photos of all lanes, after which networks give memory back.

    Used by one event loop.
    """

    def __init__(self) -> None:
        self._running, self._closed = 0, False
        self._rest: asyncio.TimerHandle | None = None

    def count(self, future: Future[Any]) -> None:
        """Count work until its thread is done, whoever still waits for it."""
        self._running += 1
        self._cancel()
        call_when_done(future, self._end)

    def _end(self) -> None:
        self._running -= 1
        if not self._running and not self._closed:
            loop = asyncio.get_running_loop()
            self._rest = loop.call_later(REST, Thread(target=memory.rest).start)

    def close(self) -> None:
        """Give nothing back any more."""
        self._closed = True
        self._cancel()

    def _cancel(self) -> None:
        if self._rest is not None:
            self._rest.cancel()


def call_when_done(future: Future[Any], call: Callable[[], object]) -> None:
    """Call in this event loop once work is done or cancelled."""
    loop = asyncio.get_running_loop()

    def tell(_: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(call)

    future.add_done_callback(tell)


class Lane:
    """A queue for work of one kind, with `running` threads.

    `waiting` requests more may have a place, from when their body is there until they have
    computed; the next is refused. `patience` is how many seconds work may wait for its turn. Turns
    go from caller to caller, `share` of them at once to one. What `large` work leaves free of
    memory goes back to the system.
    """

    def __init__(
        self,
        name: str,
        running: int,
        waiting: int,
        patience: float | None,
        nice: int = 0,
        *,
        share: int | None = None,
        large: LargeWork | None = None,
    ) -> None:
        self.places, self.patience, self.large = Places(name, running + waiting), patience, large
        self.gauges = LaneGauges(name, self.places.count)
        self._room = asyncio.Semaphore(running)
        # One more than there are threads, so that none waits for the event loop.
        self._turns = Turns(running + 1, share)
        self._threads = ThreadPoolExecutor(
            running, f"lane-{name}", initializer=priority.lower, initargs=(nice,)
        )

    @contextmanager
    def place(self, caller: str = "") -> Iterator[None]:
        """Take a place for a caller; errors are those of `check_share`."""
        with ExitStack() as taken:
            try:
                taken.enter_context(self.places.take(caller))
            except (TooManyRequests, Unavailable):
                self.gauges.refused.inc()
                raise
            with self.gauges.requests.track_inprogress():
                yield

    @asynccontextmanager
    async def room(self, size: int) -> AsyncIterator[None]:
        """Wait for room in memory for a body; large bodies take turns."""
        if size <= LARGE:
            yield
            return
        try:
            async with asyncio.timeout(self.patience):
                await self._room.acquire()
        except TimeoutError as late:
            self.gauges.refused.inc()
            raise Unavailable("the service is busy; try again in a moment") from late
        try:
            yield
        finally:
            self._room.release()

    async def run(
        self,
        work: Callable[Arguments, Result],
        *args: Arguments.args,
        **options: Arguments.kwargs,
    ) -> Result:
        """Do work in its turn, as `run_for` without a caller does."""
        return await self.run_for("", work, *args, **options)

    async def run_for(
        self,
        caller: str,
        work: Callable[Arguments, Result],
        *args: Arguments.args,
        **options: Arguments.kwargs,
    ) -> Result:
        """Do work in the caller's turn.

        It is skipped if the task is cancelled before it begins.
        """
        asked, future = perf_counter(), None
        self.gauges.waiting.inc()
        try:
            await self._take_turn(caller)
            future = self._submit(
                caller, partial(self._compute, partial(work, *args, **options), asked)
            )
            turn = asyncio.wrap_future(future)
            await asyncio.wait({turn}, timeout=self._left(asked))
            if not turn.done() and future.cancel():
                raise self._refuse()
            return await turn
        finally:
            if future is None or future.cancel():
                self.gauges.waiting.dec()

    async def _take_turn(self, caller: str) -> None:
        try:
            async with asyncio.timeout(self.patience):
                await self._turns.take(caller)
        except TimeoutError as late:
            raise self._refuse() from late

    def _submit(self, caller: str, work: Callable[[], Result]) -> Future[Result]:
        """Give work to a thread; the turn ends with it, whoever still waits for it."""
        try:
            future = self._threads.submit(copy_context().run, work)
        except RuntimeError as closed:  # or there are too many threads
            self._turns.give_back(caller)
            raise self._refuse() from closed
        call_when_done(future, lambda: self._turns.give_back(caller))
        if self.large:
            self.large.count(future)
        return future

    def _left(self, asked: float) -> float | None:
        """The seconds of patience that are left."""
        return None if self.patience is None else self.patience - (perf_counter() - asked)

    def _refuse(self) -> Unavailable:
        self.gauges.refused.inc()
        return Unavailable("the service is busy; try again in a moment")

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
        """Cancel waiting work."""
        if self.large:
            self.large.close()
        self._turns.close()
        self._threads.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of a service, and places for incoming bodies."""

    searches: Lane  # by text, phrases or a stored item
    photos: Lane  # work on photos, and embedding of items
    batches: Lane  # imports, which take turns a batch at a time, and audits
    writes: Lane  # waiting for the database and the disk
    fetches: Lane  # waiting for other hosts' photos
    bodies: Places

    @classmethod
    def of(cls, settings: Settings) -> Lanes:
        """Make the lanes of the settings."""
        running, patience, large = settings.running, settings.patience, LargeWork()
        return cls(
            searches=Lane("searches", running, settings.waiting, patience),
            photos=Lane("photos", running, settings.photos_waiting, patience, nice=5, large=large),
            batches=Lane(
                "batches", 1, settings.imports, None, nice=priority.BACKGROUND, large=large
            ),
            writes=Lane("writes", 8, settings.photos_waiting, patience),
            fetches=Lane("fetches", 10, settings.photos_waiting, None, share=8),
            bodies=Places("bodies that are still coming", settings.bodies),
        )

    def close(self) -> None:
        """Cancel waiting work."""
        for lane in (self.searches, self.photos, self.batches, self.writes, self.fetches):
            lane.close()
