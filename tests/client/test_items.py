"""Uploads of items: of other types, and from asynchronous generators."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tessera_client import AsyncClient, Client, NewItem, calls
from tessera_client.items import read_image
from tessera_client.models import ImportStatus

Png = Callable[..., bytes]


def upload(address: str, items: list[Any]) -> list[ImportStatus]:
    with Client(address) as client:
        return list(client.upload(items))


def upload_async(address: str, items: list[Any]) -> list[ImportStatus]:
    async def each() -> AsyncIterator[Any]:
        for item in items:
            await asyncio.sleep(0)
            yield item

    async def use() -> list[ImportStatus]:
        async with AsyncClient(address) as client:
            return [status async for status in client.upload(each())]

    return asyncio.run(use())


@pytest.mark.parametrize("send", [upload, upload_async])
def test_an_item_of_another_type_is_refused_alone(
    address: str, send: Callable[..., list[ImportStatus]]
) -> None:
    name: Any = 5
    items = [
        {"id": "a"},
        NewItem("b", sentences=("red",)),
        None,
        "c",
        NewItem(name, sentences=("red",), metadata={"n": object()}),
        NewItem("d", sentences=("blue",)),
    ]
    statuses = send(address, items)
    assert [(status.line, status.id, status.status) for status in statuses] == [
        (1, None, "refused"),
        (2, "b", "stored"),
        (3, None, "refused"),
        (4, None, "refused"),
        (5, None, "refused"),
        (6, "d", "stored"),
    ]
    assert statuses[0].reason == "an item to store is NewItem(**row), not a dict"
    assert statuses[3].reason == "an item to store is NewItem(id, …), not a str"


def test_batches_of_an_asynchronous_generator_follow_each_other(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tessera_client.items.BATCH_LINES", 2)
    items = [NewItem(f"{number}", sentences=("red",)) for number in range(5)]
    statuses = upload_async(address, items)
    assert [(status.line, status.id) for status in statuses] == [
        (number + 1, f"{number}") for number in range(5)
    ]


def test_a_failure_of_an_asynchronous_generator_is_raised(address: str) -> None:
    async def broken() -> AsyncIterator[NewItem]:
        yield NewItem("a", sentences=("red",))
        raise OSError("the list ends here")

    async def use() -> None:
        async with AsyncClient(address) as client:
            async for _ in client.upload(broken()):
                pass

    with pytest.raises(OSError, match="ends here"):
        asyncio.run(use())


def test_an_address_is_known_in_capitals_and_is_no_file() -> None:
    address = "HTTPS://test/a.jpg"
    call = calls.put_item("a", image=address)
    assert call.arguments("shop")["json"]["images"] == [address]
    for ask in (
        lambda: read_image(address),
        lambda: calls.search_images(image=address),
        lambda: calls.put_item("a", image=address, images=[b"photo"]),
    ):
        with pytest.raises(ValueError, match="give a file here, not the address 'HTTPS://test"):
            ask()


@pytest.mark.parametrize("name", [None, 5])
def test_a_name_of_another_type_is_refused(name: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} has no address of its own"):
        calls.put_item(name)
