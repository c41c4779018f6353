"""Webhooks are told of finished imports, again after failures."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from app.engine.engine import Engine
from app.imports.fetching import refuse
from app.main import create_app
from app.routes.bulk import Import
from app.settings import Settings
from app.webhooks import deliverer
from index.backup import snapshots as backup
from index.database import webhooks
from index.database.errors import Busy
from index.items import Replaced
from tests.catalogs import Catalogs
from tests.outside.receivers import Receiver
from tests.processes.waiting import eventually

HOOKS = "/collections/shop/webhooks"
NDJSON = {"content-type": "application/x-ndjson"}
LINES = '{"id": "a", "sentences": ["a red bus"]}\n{"id": "b"}\n'


@pytest.fixture
def delivering(settings: Settings, engine: Engine) -> Iterator[TestClient]:
    """A service with webhooks to any address."""
    reaching = settings.model_copy(update={"webhooks": "any"})
    with TestClient(create_app(reaching, engine), raise_server_exceptions=False) as client:
        client.put("/collections/shop")
        yield client


def add(client: TestClient, url: str, **more: Any) -> dict[str, Any]:
    answer = client.post(HOOKS, json={"url": url, **more})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def import_lines(client: TestClient, lines: str = LINES) -> list[dict[str, Any]]:
    answer = client.post("/items?collection=shop", content=lines, headers=NDJSON)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def wait_for(client: TestClient, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The one webhook once something holds of it."""

    def show() -> dict[str, Any]:
        return dict(client.get(HOOKS).json()["webhooks"][0])

    eventually(lambda: holds(show()), 60, every=0.01)
    return show()


class Sending:
    """A client in the middle of its lines."""

    async def stream(self) -> AsyncIterator[bytes]:
        yield LINES.encode()
        await asyncio.Event().wait()


def test_a_finished_import_is_told_signed(delivering: TestClient, receiver: Receiver) -> None:
    hook = add(delivering, receiver.url)
    assert [line["status"] for line in import_lines(delivering)] == ["stored", "refused"]
    message, content = receiver.take(hook["secret"])
    assert message.startswith("msg_")
    assert content["type"] == "import.finished"
    assert content["data"]["collection"] == "shop"
    assert content["data"]["counts"] == {"stored": 1, "refused": 1}
    shown = wait_for(delivering, lambda hook: hook["last"] is not None)
    assert "secret" not in shown
    assert shown["last"] | {"time": ""} == {
        "id": message,
        "event": "import.finished",
        "time": "",
        "status": "delivered",
        "attempts": 1,
        "detail": "answered 204",
    }
    assert (shown["waiting"], shown["lost"], shown["enabled"]) == (0, 0, True)


def test_an_import_that_breaks_off_is_told_as_failed(
    delivering: TestClient, engine: Engine, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = add(delivering, receiver.url, events=["import.failed"])
    import_lines(delivering)  # which is finished

    def refuse(*_: object) -> None:
        raise Replaced("collection 'shop' is not the one that it was when this began")

    monkeypatch.setattr(engine.catalog.names, "check", refuse)
    import_lines(delivering)
    content = receiver.take(hook["secret"])[1]
    assert (content["type"], content["data"]["counts"]) == ("import.failed", {"refused": 2})
    assert content["data"]["reason"].startswith("collection 'shop' is not the one")
    assert receiver.came.empty(), "of what it did not ask for"


def test_a_failure_is_tried_again_with_the_same_id(
    delivering: TestClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliverer, "SCHEDULE", (0, 0, 86_400))
    monkeypatch.setattr(deliverer, "POLLED", 0.05)
    receiver.statuses = [500, 429, 302]
    hook = add(delivering, receiver.url)
    import_lines(delivering)
    messages = {receiver.take(hook["secret"])[0] for _ in range(3)}
    assert len(messages) == 1
    shown = wait_for(delivering, lambda hook: hook["last"] and hook["last"]["attempts"] == 3)
    assert shown["waiting"] == 1
    assert (shown["last"]["status"], shown["last"]["detail"]) == ("failed", "answered 302")


def test_a_receiver_that_is_gone_is_told_nothing_more(
    delivering: TestClient, receiver: Receiver
) -> None:
    receiver.statuses = [410]
    hook = add(delivering, receiver.url)
    import_lines(delivering)
    receiver.take(hook["secret"])
    shown = wait_for(delivering, lambda hook: not hook["enabled"])
    assert (shown["last"]["status"], shown["waiting"], shown["lost"]) == ("given_up", 0, 1)
    import_lines(delivering)
    assert delivering.get(HOOKS).json()["webhooks"][0]["waiting"] == 0


def test_what_is_due_is_delivered_by_the_next_service(
    settings: Settings, engine: Engine, receiver: Receiver
) -> None:
    reaching = settings.model_copy(update={"webhooks": "any"})
    silent = TestClient(create_app(reaching, engine))  # not started, so it delivers nothing
    silent.put("/collections/shop")
    hook = add(silent, receiver.url)
    import_lines(silent)
    assert silent.get(HOOKS).json()["webhooks"][0]["waiting"] == 1
    app = create_app(reaching, engine)
    with TestClient(app) as client:
        assert receiver.take(hook["secret"])[1]["data"]["counts"]["stored"] == 1
        wait_for(client, lambda hook: hook["waiting"] == 0)
    import_lines(silent)
    with TestClient(app):  # started again
        receiver.take(hook["secret"])


def test_an_import_whose_webhooks_cannot_be_told_says_so(
    delivering: TestClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(delivering, receiver.url)

    def refuse(*_: object) -> None:
        raise Busy("another process is writing")

    monkeypatch.setattr(webhooks, "enqueue", refuse)
    last = import_lines(delivering)[-1]
    assert (last["line"], last["status"]) == (3, "refused")
    assert last["reason"].startswith("webhooks are not told: another process is writing")


def test_other_services_of_this_network_are_refused_by_default(client: TestClient) -> None:
    client.put("/collections/shop")
    for url, mistake in {
        "https://127.0.0.1/a": "'127.0.0.1' is not an address of the public internet",
        "https://0x7f.1/a": "'127.0.0.1' is not an address of the public internet",
        "https://[::1]/": "not an address of the public internet",
        "https://169.254.169.254/latest": "TESSERA_WEBHOOKS=any allows it",
        "https://localhost/": "'localhost' is not an address",
        "http://shop.example/a": "an address of a webhook is https://",
        "ftp://shop.example/a": "an address of a webhook is http:// or https://",
        "https://me:pw@shop.example/": "has no user, no password",
    }.items():
        answer = client.post(HOOKS, json={"url": url})
        assert answer.status_code == 422, url
        assert mistake in answer.json()["detail"]
    assert client.get(HOOKS).json() == {"webhooks": []}


def test_a_name_of_this_network_is_refused_when_it_is_posted_to(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its addresses are known only then, and may have changed."""
    asked: list[str] = []

    def resolve(host: str, *_: Any, **__: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 443))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    client.put("/collections/shop")
    add(client, "https://shop.example/hook")
    assert asked == []
    import_lines(client)
    shown = wait_for(client, lambda hook: hook["last"] is not None)
    assert shown["last"]["status"] == "failed"
    assert "'shop.example' is not an address of the public internet" in shown["last"]["detail"]
    assert asked == ["shop.example"]


@pytest.mark.parametrize(
    ("sent", "mistake"),
    [
        ({}, "url"),
        ({"events": ["item.stored"]}, "import.finished"),
        ({"events": []}, "at least 1"),
        ({"secret": "abc"}, "secret: it is whsec_ and 24 to 64 bytes in base64"),
        ({"secret": "whsec_YWJj"}, "got 3 bytes"),
        ({"secret": "whsec_!"}, "24 to 64 bytes in base64"),
        ({"url": "https://shop.example/" + "a" * 2_000}, "2000"),
    ],
)
def test_mistakes_are_explained(client: TestClient, sent: dict[str, Any], mistake: str) -> None:
    client.put("/collections/shop")
    body = ({"url": "https://shop.example/a"} if sent else {}) | sent
    answer = client.post(HOOKS, json=body)
    assert answer.status_code == 422
    assert mistake in answer.json()["detail"]


def test_a_collection_has_ten_at_most_and_an_address_once(client: TestClient) -> None:
    client.put("/collections/shop")
    hooks = [add(client, f"https://shop.example/{number}") for number in range(10)]
    for number, mistake in ((11, "has 10 webhooks already"), (3, "has 10 webhooks")):
        answer = client.post(HOOKS, json={"url": f"https://shop.example/{number}"})
        assert answer.status_code == 422
        assert mistake in answer.json()["detail"]
    assert client.delete(f"{HOOKS}/{hooks[0]['id']}").status_code == 204
    again = client.post(HOOKS, json={"url": "https://shop.example/3"})
    assert f"is there as webhook {hooks[3]['id']}" in again.json()["detail"]
    assert len(client.get(HOOKS).json()["webhooks"]) == 9
    assert client.delete(f"{HOOKS}/{hooks[0]['id']}").status_code == 404
    client.put("/collections/other")
    other = f"/collections/other/webhooks/{hooks[1]['id']}"
    assert client.delete(other).status_code == 404, "a webhook of another collection"


def test_they_may_be_switched_off(settings: Settings, engine: Engine) -> None:
    off = settings.model_copy(update={"webhooks": "none"})
    with TestClient(create_app(off, engine)) as client:
        client.put("/collections/shop")
        answer = client.post(HOOKS, json={"url": "https://shop.example/a"})
        assert answer.status_code == 422
        assert "TESSERA_WEBHOOKS=public" in answer.json()["detail"]


def test_snapshots_have_webhooks_with_their_secrets(
    delivering: TestClient, engine: Engine, catalogs: Catalogs, tmp_path: Path
) -> None:
    hook = add(delivering, "https://shop.example/a")
    file = tmp_path / "a.tar"
    backup.snapshot(engine.catalog, file, lambda *_: None)
    (tmp_path / "new").mkdir()
    with catalogs.in_folder(tmp_path / "new") as catalog:
        backup.restore(catalog, file, tmp_path / "new", lambda *_: None, force=True)
        home = catalog.names.find("shop")
        [(restored, waiting)] = webhooks.list_webhooks(catalog.reader, home)
        assert (restored.id, restored.secret, waiting) == (hook["id"], hook["secret"], 0)


def test_an_import_whose_answer_is_cut_off_is_told_as_failed(
    delivering: TestClient, engine: Engine, receiver: Receiver
) -> None:
    hook = add(delivering, receiver.url)
    state: Any = delivering.app.state  # type: ignore[attr-defined]  # of FastAPI
    home = engine.open("shop")
    work = Import(engine, state.lanes, state.decoders, refuse, state.settings, "shop", home)

    async def break_off() -> None:
        answer = work.announce(state.deliverer, cast("Request", Sending()))
        assert json.loads(await anext(answer))["status"] == "stored"
        await answer.aclose()

    asyncio.run(break_off())
    state.deliverer.wake()
    content = receiver.take(hook["secret"])[1]
    assert (content["type"], content["data"]["counts"]) == ("import.failed", {"stored": 1})
    assert content["data"]["reason"].startswith("the answer was cut off")


def test_a_cancelled_import_keeps_no_other_request_waiting(
    delivering: TestClient, engine: Engine, receiver: Receiver
) -> None:
    """Its announcement waits for the database on a thread."""
    add(delivering, receiver.url)
    state: Any = delivering.app.state  # type: ignore[attr-defined]  # of FastAPI
    home = engine.open("shop")
    work = Import(engine, state.lanes, state.decoders, refuse, state.settings, "shop", home)
    began, released = threading.Event(), threading.Event()

    answered: list[bool] = []

    def store(*_: object) -> None:
        began.set()
        answered.append(released.wait(10))
        raise Busy("another process is writing")

    async def read(cut: asyncio.Event) -> None:
        async for _ in work.announce(state.deliverer, cast("Request", Sending())):
            cut.set()

    async def cancel() -> None:
        cut = asyncio.Event()
        reading = asyncio.create_task(read(cut))
        await cut.wait()
        reading.cancel()
        await asyncio.sleep(0)
        async with asyncio.timeout(60):
            while not began.is_set():
                await asyncio.sleep(0.01)
        released.set()  # by the same loop
        with pytest.raises(asyncio.CancelledError):
            await reading

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(webhooks, "enqueue", store)
        asyncio.run(cancel())
    assert answered == [True], "the loop went on while it waited"
