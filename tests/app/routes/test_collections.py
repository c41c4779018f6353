"""Collections are made, renamed, dropped; names move at once."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from copy import copy
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.engine.drafts import Draft
from app.engine.engine import Engine
from index.database.storage import Storage
from index.search import indexes
from index.segments import follower_process as following
from index.segments.follower_process import Followers
from tests import stored_items


def put(client: TestClient, collection: str, *items: str) -> None:
    for item in items:
        sent = {"sentences": [f"red {item}"], "collection": collection}
        assert client.put(f"/items/{item}", json=sent).status_code in (200, 201)


def listed(client: TestClient, collection: str) -> list[str]:
    answer = client.get("/items", params={"collection": collection}).json()
    return [item["id"] for item in answer["items"]]


def hits(client: TestClient, collection: str, **asked: Any) -> Any:
    answer = client.post("/search/text", json={"text": "red", "collection": collection} | asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_collection_is_made_renamed_and_dropped(client: TestClient) -> None:
    made = client.put("/collections/new%2Fshop")
    assert (made.status_code, made.json()["name"], made.json()["items"]) == (201, "new/shop", 0)
    assert client.put("/collections/new%2Fshop").status_code == 200
    put(client, "new/shop", "a")
    renamed = client.patch("/collections/new%2Fshop", json={"name": "shop"}).json()
    assert (renamed["name"], renamed["items"], renamed["aliases"]) == ("shop", 1, [])
    assert client.get("/collections/new%2Fshop").status_code == 404
    assert client.delete("/collections/shop").status_code == 204
    assert client.delete("/collections/shop").status_code == 404
    assert client.get("/collections").json() == {"collections": []}


def test_a_service_of_the_former_matcher_tells_of_what_it_serves(
    client: TestClient, engine: Engine
) -> None:
    put(client, "default", "a", "b")
    client.put("/aliases/shop", json={"collection": "default"})
    before = client.get("/collections/default").json()
    new = copy(engine)
    new.models = copy(engine.models)
    new.models.fingerprint = "another"
    new.reembed("default", lambda done, total: None, keep=True)
    stored_items.put(new, "default", [Draft("later", sentences=("red",))])
    for name in ("default", "shop"):
        assert client.get(f"/collections/{name}").json() == before
    kept = before | {"name": f"default@{engine.models.fingerprint}", "aliases": []}
    assert client.get("/collections").json() == {"collections": [before, kept]}
    assert len(hits(client, "default")["hits"]) == before["items"]
    engine.catalog.names.drop(kept["name"])
    told = client.get("/collections/default").json()
    assert (told["items"], told["model"], told["usable"]) == (3, "another", False)


def test_alias_serves_searches_lists_puts_and_deletes(client: TestClient) -> None:
    put(client, "shop-1", "a")
    put(client, "shop-2", "b")
    first = client.put("/aliases/shop", json={"collection": "shop-1"})
    assert (first.status_code, first.json()) == (201, {"name": "shop", "collection": "shop-1"})
    put(client, "shop", "c")
    assert listed(client, "shop") == listed(client, "shop-1") == ["a", "c"]
    answer = hits(client, "shop")
    assert (answer["collection"], len(answer["hits"])) == ("shop", 2)
    assert client.delete("/items/c", params={"collection": "shop"}).status_code == 204
    assert client.put("/aliases/shop", json={"collection": "shop-2"}).status_code == 200
    assert [hit["id"] for hit in hits(client, "shop")["hits"]] == ["b"]
    assert client.get("/aliases").json()["aliases"] == [{"name": "shop", "collection": "shop-2"}]
    assert client.get("/collections/shop").json()["aliases"] == ["shop"]
    assert client.delete("/aliases/shop").status_code == 204
    assert client.delete("/aliases/shop").status_code == 404


def test_cursor_of_an_alias_goes_on_in_what_it_stands_for_now(client: TestClient) -> None:
    for name in ("old", "new"):
        put(client, name, "a", "b", "c")
    client.put("/aliases/shop", json={"collection": "old"})
    page = client.get("/items", params={"collection": "shop", "limit": 1}).json()
    found = hits(client, "shop", limit=1)
    client.put("/aliases/shop", json={"collection": "new"})
    client.delete("/collections/old")
    after = client.get("/items", params={"collection": "shop", "cursor": page["cursor"]}).json()
    assert [item["id"] for item in after["items"]] == ["b", "c"]
    assert len(hits(client, "shop", cursor=found["cursor"])["hits"]) == 2


@pytest.mark.parametrize(
    ("method", "path", "sent", "status", "reason"),
    [
        ("PUT", "/aliases/a", {"collection": "b"}, 409, "'a' is a collection"),
        ("PUT", "/aliases/x", {"collection": "y"}, 404, "no collection 'y'"),
        ("PATCH", "/collections/a", {"name": "b"}, 409, "'b' is taken"),
        ("PATCH", "/collections/a", {"name": "alias"}, 409, "'alias' is taken"),
        ("PATCH", "/collections/alias", {"name": "c"}, 409, "alias of collection 'a'"),
        ("PATCH", "/collections/a", {"name": "c\n"}, 422, "printable"),
        ("PUT", "/collections/%20", None, 422, "no space at its beginning or end"),
        ("PUT", "/aliases/x%20", {"collection": "a"}, 422, "no space at its beginning or end"),
        ("PATCH", "/collections/a", {"name": " c"}, 422, "no space at its beginning or end"),
        ("PATCH", "/collections/a", {}, 422, "name: Field required"),
        ("DELETE", "/collections/alias", None, 409, "alias of collection 'a'"),
        ("DELETE", "/collections/a", None, 409, "has the alias alias"),
        ("DELETE", "/aliases/a", None, 404, "no alias 'a'"),
    ],
)
def test_odd_change_of_names_is_refused(
    client: TestClient, method: str, path: str, sent: Any, status: int, reason: str
) -> None:
    client.put("/collections/a")
    client.put("/collections/b")
    client.put("/aliases/alias", json={"collection": "a"})
    answer = client.request(method, path, json=sent)
    assert (answer.status_code, reason in answer.json()["detail"]) == (status, True), answer.text


def test_searches_never_miss_a_name_while_it_is_reloaded(client: TestClient) -> None:
    """Ten reloads under searches: each finds one of them, whole."""
    put(client, "load 0", "a", "b")
    client.put("/aliases/shop", json={"collection": "load 0"})
    stopped = threading.Event()
    answers: list[tuple[int, int]] = []

    def ask() -> None:
        asked = {"text": "red", "collection": "shop"}
        while not stopped.is_set():
            answer = client.post("/search/text", json=asked)
            found = len(answer.json()["hits"]) if answer.status_code == 200 else -1
            answers.append((answer.status_code, found))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(1, 11):
        put(client, f"load {number}", "a", "b")
        client.put("/aliases/shop", json={"collection": f"load {number}"})
        assert client.delete(f"/collections/load%20{number - 1}").status_code == 204
    stopped.set()
    for thread in threads:
        thread.join()
    assert set(answers) == {(200, 2)}


def test_dropped_collection_is_swept_in_the_background(
    client: TestClient, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = threading.Event()

    def start(storage: Storage, module: str) -> subprocess.Popen[bytes]:
        started.set()
        return subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE)

    monkeypatch.setattr(following, "start", start)
    monkeypatch.setattr(indexes, "WATCH", 0.01)
    put(client, "big", "a", "b")
    hits(client, "big")
    engine.serve()
    assert client.delete("/collections/big").status_code == 204
    assert started.wait(30)  # the process that does the work, as follows
    while engine.indexes._open:  # at the next look at the latest
        time.sleep(0.01)
    engine.indexes.close()
    assert engine.catalog.names.garbage()
    Followers(engine.catalog, tmp_path).step()
    assert not engine.catalog.names.garbage()


LINES = {"content-type": "application/x-ndjson"}
AWAY = {
    "dropped": lambda engine: (engine.catalog.names.forget("shop"), engine.catalog.names.drop("a")),
    "renamed": lambda engine: (engine.catalog.names.forget("shop"), rename(engine, "a", "c")),
    "forgotten": lambda engine: engine.catalog.names.forget("shop"),
    "moved": lambda engine: engine.catalog.names.point("shop", "b"),
}


def rename(engine: Engine, name: str, new: str) -> None:
    engine.catalog.names.rename(name, new)


def items_of(engine: Engine, name: str) -> int:
    return engine.catalog.count(engine.find(name))


@pytest.fixture
def aliased(engine: Engine) -> Engine:
    """Empty collections `a`, with the alias `shop`, and `b`."""
    for name in ("a", "b"):
        engine.open(name, create=True)
    engine.catalog.names.point("shop", "a")
    return engine


@pytest.mark.parametrize("away", AWAY)
@pytest.mark.parametrize("at", ["embed_each", "store_each"])
def test_an_import_ends_with_a_reason_once_its_collection_is_gone(
    client: TestClient, aliased: Engine, monkeypatch: pytest.MonkeyPatch, away: str, at: str
) -> None:
    work, calls = getattr(aliased, at), []

    def later(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            AWAY[away](aliased)
        return work(*given)

    monkeypatch.setattr(aliased, at, later)
    lines = (f'{{"id": "{number:02}", "sentences": ["red"]}}\n'.encode() for number in range(80))
    answer = client.post("/items?collection=shop", content=lines, headers=LINES)
    statuses = [json.loads(line) for line in answer.text.splitlines()]
    assert [status["line"] for status in statuses] == [*range(1, 81)]
    stored = [status["id"] for status in statuses if status["status"] == "stored"]
    assert 0 < len(stored) < 80
    assert {status["id"] for status in statuses[len(stored) :]} == {
        f"{number:02}" for number in range(len(stored), 80)
    }
    reasons = {status["reason"] for status in statuses[len(stored) :]}
    assert all("is not the one that it was when this began" in reason for reason in reasons)
    assert len(calls) <= 2  # nothing is embedded for what cannot be stored
    expected = {"dropped": "b", "renamed": "bc", "forgotten": "ab", "moved": "ab"}[away]
    assert "".join(home.name for home in aliased.catalog.names.all()) == expected
    assert items_of(aliased, "b") == 0
    if away != "dropped":
        assert items_of(aliased, "c" if away == "renamed" else "a") == len(stored)


def test_an_import_that_is_to_make_no_collection_makes_none(client: TestClient) -> None:
    line = b'{"id": "a", "sentences": ["red"]}'
    answer = client.post("/items?collection=new&create=false", content=line, headers=LINES)
    assert (answer.status_code, answer.json()["type"]) == (404, "urn:tessera:problem:not-found")
    assert client.get("/collections").json() == {"collections": []}


def test_every_line_has_a_status_though_the_service_fails_in_the_middle(
    client: TestClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, calls = engine.store_each, []

    def broken(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("a bug")
        return store(*given)

    monkeypatch.setattr(engine, "store_each", broken)
    lines = (f'{{"id": "{number:02}", "sentences": ["red"]}}\n'.encode() for number in range(80))
    answer = client.post("/items", content=lines, headers=LINES)
    statuses = [json.loads(line) for line in answer.text.splitlines()]
    assert [status["id"] for status in statuses] == [f"{number:02}" for number in range(80)]
    refused = [status for status in statuses if status["status"] == "refused"]
    assert len(calls) > 2
    assert 0 < len(refused) < 80
    assert all("the service failed" in status["reason"] for status in refused)


@pytest.mark.parametrize("away", AWAY)
def test_an_item_does_not_make_again_what_is_dropped_while_it_is_embedded(
    client: TestClient, aliased: Engine, monkeypatch: pytest.MonkeyPatch, away: str
) -> None:
    embed = aliased.embed

    def later(drafts: Any) -> Any:
        AWAY[away](aliased)
        return embed(drafts)

    monkeypatch.setattr(aliased, "embed", later)
    answer = client.put("/items/x", json={"sentences": ["red"], "collection": "shop"})
    if away == "moved":  # as if it had come a moment later
        assert (answer.status_code, items_of(aliased, "b")) == (201, 1)
    else:
        assert answer.status_code == 404, answer.text
        assert not aliased.knows("shop")
