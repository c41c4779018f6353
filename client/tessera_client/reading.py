"""Items for AsyncClient; a cancelled call reads no more of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import asynccontextmanager
from threading import Lock
from typing import Any

from tessera_client.items import Batch, NewItem, batches, write_line

Items = Iterable[NewItem] | AsyncIterable[NewItem]
END = object()


async def read_batches(items: Items) -> AsyncGenerator[Batch, None]:
    """Join items into batches, as `batches` does; threads read photos."""
    if isinstance(items, AsyncIterable):
        async with _closing(aiter(items)) as source:
            batch, place = Batch(), 0
            async for item in source:
                place += 1
                line = await asyncio.to_thread(write_line, place, item)
                if batch.is_full(line):
                    yield batch
                    batch = Batch()
                batch.add(place, line)
        if batch:
            yield batch
        return
    async with give_to_thread(items) as source:
        waiting = batches(source)
        while full := await asyncio.to_thread(next, waiting, None):
            yield full


@asynccontextmanager
async def give_to_thread(items: Items) -> AsyncIterator[Iterable[NewItem]]:
    """Give items to a worker thread; asynchronous ones run in this loop.

    Once the context is left, no more are taken: the thread then gets CancelledError. A thread for
    asynchronous items must not be one of the default executor, as these may wait for that.
    """
    if not isinstance(items, AsyncIterable):
        stoppable = _Stoppable(items)
        try:
            yield stoppable
        finally:
            stoppable.stop()
        return
    async with _closing(aiter(items)) as source:
        awaited = _Awaited(source)
        try:
            yield awaited
        finally:
            await awaited.stop()


class _Stoppable:
    """Items until stopped; the reader gets CancelledError then."""

    def __init__(self, items: Iterable[NewItem]) -> None:
        self._items, self._stopped = items, False

    def __iter__(self) -> Iterator[NewItem]:
        source = iter(self._items)
        while not self._stopped:
            if (item := next(source, END)) is END:
                return
            yield item  # type: ignore[misc]
        raise CancelledError

    def stop(self) -> None:
        """Take no more items."""
        self._stopped = True


class _Awaited:
    """Asynchronous items for a thread; this loop reads them."""

    def __init__(self, source: AsyncIterator[NewItem]) -> None:
        self._source, self._loop = source, asyncio.get_running_loop()
        self._lock, self._stopped = Lock(), False
        self._asked: Future[Any] | None = None
        self._reading: asyncio.Task[Any] | None = None

    def __iter__(self) -> Iterator[NewItem]:
        while (item := self._ask().result()) is not END:
            yield item

    async def stop(self) -> None:
        """Take no more items, and end the wait for one."""
        with self._lock:
            self._stopped = True
        if self._asked is not None:
            self._asked.cancel()
        if self._reading is not None and not self._reading.done():
            self._reading.cancel()
            await asyncio.wait([self._reading])

    def _ask(self) -> Future[Any]:
        with self._lock:  # after a stop, the loop may run no more
            if self._stopped:
                raise CancelledError
            self._asked = asyncio.run_coroutine_threadsafe(self._read(), self._loop)
            return self._asked

    async def _read(self) -> Any:
        if self._stopped:
            raise asyncio.CancelledError
        self._reading = asyncio.current_task()
        return await anext(self._source, END)


@asynccontextmanager
async def _closing(source: AsyncIterator[NewItem]) -> AsyncIterator[AsyncIterator[NewItem]]:
    """Close an asynchronous generator in the end."""
    try:
        yield source
    finally:
        if (close := getattr(source, "aclose", None)) is not None:
            await close()
