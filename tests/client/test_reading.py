"""Cancelled uploads and syncs read no more; many run at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import httpx2
import pytest
from tessera_client import AsyncClient, NewItem

Send = Callable[[AsyncClient, Any], Awaitable[None]]


def make_client() -> AsyncClient:
    """A client of a service without items."""

    async def respond(request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return httpx2.Response(200, json={"collection": "default", "items": [], "cursor": None})
        count = (await request.aread()).count(b"\n")
        status = '{"line": 1, "id": "a", "status": "stored"}\n'
        headers = {"Content-Type": "application/x-ndjson"}
        return httpx2.Response(200, text=status * count, headers=headers)

    client = AsyncClient("http://test")
    transport = httpx2.MockTransport(respond)
    client._http = httpx2.AsyncClient(base_url="http://test", transport=transport)
    return client


async def upload(client: AsyncClient, items: Any) -> None:
    async for status in client.upload(items):
        assert status.status == "stored"


async def sync(client: AsyncClient, items: Any) -> None:
    await client.products.sync(items)


class Source:
    """Endless items, slow ones, with their number and end."""

    def __init__(self) -> None:
        self.taken, self.closed = 0, False

    async def awaited(self) -> AsyncIterator[NewItem]:
        try:
            while True:
                await asyncio.sleep(0.01)
                self.taken += 1
                yield NewItem(f"{self.taken}", sentences=("red",))
        finally:
            await asyncio.sleep(0)
            self.closed = True

    def plain(self) -> Iterator[NewItem]:
        while True:
            threading.Event().wait(0.01)
            self.taken += 1
            yield NewItem(f"{self.taken}", sentences=("red",))


@pytest.mark.parametrize("send", [upload, sync])
def test_a_cancelled_call_takes_no_more_items_and_closes_their_source(send: Send) -> None:
    async def use() -> None:
        source = Source()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(send(make_client(), source.awaited()), 0.3)
        assert source.closed
        taken = source.taken
        assert taken > 0
        await asyncio.sleep(0.2)
        assert source.taken == taken

    asyncio.run(use())


@pytest.mark.parametrize("send", [upload, sync])
def test_a_cancelled_call_ends_an_iterator_in_its_thread(send: Send) -> None:
    async def use() -> None:
        source = Source()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(send(make_client(), source.plain()), 0.3)
        taken = source.taken
        assert taken > 0
        await asyncio.sleep(0.2)
        assert source.taken <= taken + 1  # the one that was awaited

    asyncio.run(use())


def test_an_upload_that_is_left_early_closes_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tessera_client.items.BATCH_LINES", 2)

    async def use() -> None:
        source = Source()
        statuses = make_client().upload(source.awaited())
        await anext(statuses)
        await statuses.aclose()  # type: ignore[attr-defined]
        assert (source.taken, source.closed) == (3, True)

    asyncio.run(use())


@pytest.mark.parametrize("send", [upload, sync])
def test_many_calls_at_once_leave_threads_to_their_sources(send: Send) -> None:
    async def items() -> AsyncIterator[NewItem]:
        for number in range(3):
            yield await asyncio.to_thread(NewItem, f"{number}", sentences=("red",))

    async def use() -> None:
        calls = [send(make_client(), items()) for _ in range(40)]
        await asyncio.wait_for(asyncio.gather(*calls), 30)

    asyncio.run(use())
