"""Clients: the service's calls, at once or asynchronously, with retries and pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx2
from tenacity import AsyncRetrying, Retrying

from tessera_client import calls
from tessera_client.calls import Call
from tessera_client.endpoints import Endpoints
from tessera_client.errors import read_answer, report_failures
from tessera_client.items import NewItem, batches
from tessera_client.local import AsyncLocalTransport, LocalTransport
from tessera_client.models import ImageHit, ImportStatus, Item, ProductHit, RegionHit, SentenceHit
from tessera_client.products import AsyncProductSync, ProductSync
from tessera_client.reading import Items, read_batches
from tessera_client.retries import TIMEOUT, Patience, check_timeout

Answer = TypeVar("Answer")


class Client(Endpoints):
    """Tessera at an address, or a data folder in this process; thread-safe.

    `Client("http://localhost:8000", key="…")` asks a service; `Client(path="data")` needs none, but
    the package tessera; `settings` are then those of the service, such as matcher. Busy answers
    (429, 503) are repeated after the time they ask for, and refused connections for a minute;
    other failures raise TesseraError. Within `timeout` seconds the answer begins, retries and
    pauses included, and each next part of it comes.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        path: str | Path | None = None,
        key: str | None = None,
        collection: str = "default",
        settings: Mapping[str, Any] | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        address = _choose_address(url, path)
        self.collection, self._timeout = collection, check_timeout(timeout)
        transport = None if path is None else LocalTransport(Path(path), dict(settings or {}))
        self._http = httpx2.Client(base_url=address, headers=_headers(key), transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close connections, or the data folder."""
        self._http.close()

    @property
    def products(self) -> ProductSync:
        """Products of the collection, kept as a shop's own list of them."""
        return ProductSync(self.send)

    def on(self, collection: str) -> Self:
        """The same client for another collection; closing either closes both."""
        other = object.__new__(type(self))
        other.collection, other._timeout, other._http = collection, self._timeout, self._http
        return other

    def send(self, call: Call[Answer]) -> Answer:
        """Send a call, again if the service is busy."""
        arguments, patience = call.arguments(self.collection), Patience(self._timeout)

        def ask() -> httpx2.Response:
            return self._http.request(call.method, call.path, timeout=patience.left(), **arguments)

        with report_failures(call.path):
            response = Retrying(**patience.retries())(ask)
        return read_answer(call, response)

    def image_hits(self, text: str | None = None, **options: Any) -> Iterator[ImageHit]:
        """Iterate over the hits of search_images; the service gives 10,000 at most."""
        for page in self._pages(lambda at: calls.search_images(text, cursor=at, **options)):
            yield from page.hits

    def region_hits(self, text: str | None = None, **options: Any) -> Iterator[RegionHit]:
        """Iterate over the hits of search_regions; the service gives 10,000 at most."""
        for page in self._pages(lambda at: calls.search_regions(text, cursor=at, **options)):
            yield from page.hits

    def sentence_hits(self, text: str | None = None, **options: Any) -> Iterator[SentenceHit]:
        """Iterate over the hits of search_sentences; the service gives 10,000 at most."""
        for page in self._pages(lambda at: calls.search_sentences(text, cursor=at, **options)):
            yield from page.hits

    def product_hits(self, text: str | None = None, **options: Any) -> Iterator[ProductHit]:
        """Iterate over the hits of search_products; the service gives 10,000 at most."""
        for page in self._pages(lambda at: calls.search_products(text, cursor=at, **options)):
            yield from page.hits

    def items(self, **options: Any) -> Iterator[Item]:
        """Iterate over all items by id; options are those of list_items."""
        for page in self._pages(lambda at: calls.list_items(cursor=at, **options)):
            yield from page.items

    def upload(
        self, items: Iterable[NewItem], progress: Callable[[int], None] | None = None
    ) -> Iterator[ImportStatus]:
        """Store many items in batches.

        Yields a status for each.

        `line` counts the items from 1. What cannot be sent is refused, such as an item with a
        missing photo. `progress` is told how many items have a status. A collection that is dropped
        meanwhile is not made again: TesseraError of the kind not-found.
        """
        done = 0
        for batch in batches(items):
            call = calls.upload(bytes(batch.lines), create=not done)
            yield from batch.place(self.send(call) if batch.places else [])
            done += len(batch)
            if progress is not None:
                progress(done)

    def _pages(self, call: Callable[[str | None], Call[Answer]]) -> Iterator[Answer]:
        cursor: str | None = None
        while True:
            page: Any = self.send(call(cursor))
            yield page
            cursor = page.cursor
            if cursor is None:
                return


class AsyncClient(Endpoints):
    """As Client, for asyncio: its methods are awaited, its iterators are asynchronous."""

    def __init__(
        self,
        url: str | None = None,
        *,
        path: str | Path | None = None,
        key: str | None = None,
        collection: str = "default",
        settings: Mapping[str, Any] | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        address = _choose_address(url, path)
        self.collection, self._timeout = collection, check_timeout(timeout)
        transport = None if path is None else AsyncLocalTransport(Path(path), dict(settings or {}))
        self._http = httpx2.AsyncClient(
            base_url=address, headers=_headers(key), transport=transport
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close connections, or the data folder."""
        await self._http.aclose()

    @property
    def products(self) -> AsyncProductSync:
        """Products of the collection, kept as a shop's own list of them."""
        return AsyncProductSync(self.send)

    def on(self, collection: str) -> Self:
        """The same client for another collection; closing either closes both."""
        other = object.__new__(type(self))
        other.collection, other._timeout, other._http = collection, self._timeout, self._http
        return other

    async def send(self, call: Call[Answer]) -> Answer:
        """Send a call, again if the service is busy."""
        arguments, patience = call.arguments(self.collection), Patience(self._timeout)

        async def ask() -> httpx2.Response:
            left = patience.left()
            return await self._http.request(call.method, call.path, timeout=left, **arguments)

        with report_failures(call.path):
            response: httpx2.Response = await AsyncRetrying(**patience.retries())(ask)
        return read_answer(call, response)

    async def image_hits(self, text: str | None = None, **options: Any) -> AsyncIterator[ImageHit]:
        """Iterate over the hits of search_images; the service gives 10,000 at most."""
        async for page in self._pages(lambda at: calls.search_images(text, cursor=at, **options)):
            for hit in page.hits:
                yield hit

    async def region_hits(
        self, text: str | None = None, **options: Any
    ) -> AsyncIterator[RegionHit]:
        """Iterate over the hits of search_regions; the service gives 10,000 at most."""
        async for page in self._pages(lambda at: calls.search_regions(text, cursor=at, **options)):
            for hit in page.hits:
                yield hit

    async def sentence_hits(
        self, text: str | None = None, **options: Any
    ) -> AsyncIterator[SentenceHit]:
        """Iterate over the hits of search_sentences; the service gives 10,000 at most."""
        async for page in self._pages(
            lambda at: calls.search_sentences(text, cursor=at, **options)
        ):
            for hit in page.hits:
                yield hit

    async def product_hits(
        self, text: str | None = None, **options: Any
    ) -> AsyncIterator[ProductHit]:
        """Iterate over the hits of search_products; the service gives 10,000 at most."""
        async for page in self._pages(lambda at: calls.search_products(text, cursor=at, **options)):
            for hit in page.hits:
                yield hit

    async def items(self, **options: Any) -> AsyncIterator[Item]:
        """Iterate over all items by id; options are those of list_items."""
        async for page in self._pages(lambda at: calls.list_items(cursor=at, **options)):
            for item in page.items:
                yield item

    async def upload(
        self, items: Items, progress: Callable[[int], None] | None = None
    ) -> AsyncIterator[ImportStatus]:
        """Store many items in batches, also of an asynchronous generator.

        Yields a status for each.

        `line` counts the items from 1. What cannot be sent is refused, such as an item with a
        missing photo. `progress` is told how many items have a status. A collection that is dropped
        meanwhile is not made again: TesseraError of the kind not-found.
        """
        done = 0
        async with aclosing(read_batches(items)) as waiting:
            async for batch in waiting:
                call = calls.upload(bytes(batch.lines), create=not done)
                for status in batch.place(await self.send(call) if batch.places else []):
                    yield status
                done += len(batch)
                if progress is not None:
                    progress(done)

    async def _pages(self, call: Callable[[str | None], Call[Answer]]) -> AsyncIterator[Answer]:
        cursor: str | None = None
        while True:
            page: Any = await self.send(call(cursor))
            yield page
            cursor = page.cursor
            if cursor is None:
                return


def _headers(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Authorization": f"Bearer {key}"}


def _choose_address(url: str | None, path: str | Path | None) -> str:
    """Return the address to ask; ValueError for a wrong one."""
    if url is None:
        return "http://localhost"
    if path is not None:
        raise ValueError(
            f"url {url!r:.200} and path {str(path)!r:.200}: a client asks a service or a folder; "
            "leave one of them out"
        )
    if not url.lower().startswith(("http://", "https://")):
        raise ValueError(f"url: {url!r:.200} must begin with http:// or https://")
    return url
