"""Routes need roles, and keys open no more than theirs."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from app.access.credentials import COOKIE
from app.access.door import Door
from app.access.key_file import add_key, remove_key
from app.access.keyring import Keyring
from app.access.keys import make_key
from app.access.sessions import LONGEST, Sessions
from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.http.server import OPTIONS
from app.main import create_app
from app.roles import Role
from app.settings import Settings
from index.catalog.catalog import Catalog
from index.database.ended_sessions import EndedSessions
from index.database.errors import Busy
from tests.processes.listening import listen
from tests.stored_items import put

Png = Callable[..., bytes]

# Which role each operation needs; None for those that need none.
ROLES = {
    "get /healthz": None,
    "get /livez": None,
    "get /readyz": None,
    "get /session": None,
    "post /session": None,
    "delete /session": None,
    "post /search/image": "read",
    "post /search/text": "read",
    "post /search/regions": "read",
    "get /items/{id}/crop": "read",
    "get /items/{id}/magnitudes": "read",
    "post /search/products": "read",
    "get /suggest": "read",
    "post /events/clicks": "read",
    "post /align": "read",
    "post /ground": "read",
    "post /caption": "read",
    "get /items": "read",
    "get /items/{id}": "read",
    "get /items/{id}/image": "read",
    "get /items/{id}/original": "read",
    "get /duplicates": "read",
    "get /collections": "read",
    "get /model": "read",
    "get /index": "read",
    "get /examples": "read",
    "get /metrics": "read, unbound",
    "put /items/{id}": "write",
    "delete /items/{id}": "write",
    "patch /items/{id}": "write",
    "post /items": "write",
    "post /items/delete": "write",
    "post /items/restore": "write",
    "get /collections/{name}": "read",
    "get /collections/{name}/imports": "write",
    "put /collections/{name}": "write",
    "get /collections/{name}/synonyms": "read",
    "put /collections/{name}/synonyms": "admin",
    "get /collections/{name}/pins": "read",
    "put /collections/{name}/pins": "admin",
    "get /collections/{name}/language": "read",
    "put /collections/{name}/language": "admin",
    "get /collections/{name}/webhooks": "write",
    "post /collections/{name}/webhooks": "write",
    "delete /collections/{name}/webhooks/{id}": "write",
    "patch /collections/{name}": "admin, unbound",
    "delete /collections/{name}": "admin, unbound",
    "get /aliases": "read, unbound",
    "put /aliases/{name}": "admin, unbound",
    "delete /aliases/{name}": "admin, unbound",
    "post /index/audit": "admin",
    "get /snapshots": "admin, unbound",
    "post /snapshots": "admin, unbound",
    "get /snapshots/{name}": "admin, unbound",
    "delete /snapshots/{name}": "admin, unbound",
}


@pytest.fixture
def keys(settings: Settings) -> dict[str, str]:
    """A key of each role, and keys of the collection `shop`."""
    made = {role.value: make_key(role.value, role) for role in Role}
    made["shop"] = make_key("shop", Role.ADMIN, collections=("shop",))
    for _, key in made.values():
        add_key(settings.keys_file, key)
    return {name: secret for name, (secret, _) in made.items()}


@pytest.fixture
def locked(keys: dict[str, str], engine: Engine, client: TestClient, png: Png) -> TestClient:
    """A service with keys and two collections, one of them secret."""
    for name in ("shop", "secret"):
        put(engine, name, [Draft("a", sentences=("red",)).with_photo(png("red"))])
    return client


def operations(app: FastAPI) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in app.openapi()["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_every_route_declares_the_role_it_needs(app: FastAPI) -> None:
    declared: dict[str, str | None] = {}
    for method, path, operation in operations(app):
        names = {
            ", ".join(roles) for way in operation.get("security", []) for roles in way.values()
        }
        assert len(names - {""}) <= 1
        declared[f"{method} {path}"] = ", ".join(names - {""}) or None
    assert declared == ROLES


def test_the_reference_says_how_keys_are_sent(app: FastAPI) -> None:
    schemes = app.openapi()["components"]["securitySchemes"]
    assert {(one["type"], one.get("in"), one.get("name")) for one in schemes.values()} == {
        ("http", None, None),
        ("apiKey", "header", "X-API-Key"),
        ("apiKey", "cookie", COOKIE),
    }


def test_without_a_key_every_route_that_needs_one_is_closed(locked: TestClient) -> None:
    for operation, role in ROLES.items():
        method, path = operation.split()
        for headers in ({}, bearer("tessera_wrong"), {"x-api-key": ""}, {"cookie": f"{COOKIE}=a"}):
            answer = locked.request(
                method, path.replace("{id}", "a").replace("{name}", "a"), headers=headers
            )
            assert (answer.status_code == 401) == (role is not None), operation
            if role is not None:
                assert answer.headers["www-authenticate"] == 'Bearer realm="Tessera"'
                assert answer.json()["type"] == "urn:tessera:problem:unauthorized"
                detail = f"this needs a key with the role {role.partition(',')[0]}:"
                assert headers or answer.json()["detail"].startswith(detail)


@pytest.mark.parametrize("role", ["read", "write", "admin"])
def test_a_role_opens_what_it_includes(locked: TestClient, keys: dict[str, str], role: str) -> None:
    for operation, needed in ROLES.items():
        method, path = operation.split()
        answer = locked.request(
            method, path.replace("{id}", "zzz").replace("{name}", "a"), headers=bearer(keys[role])
        )
        if operation == "post /session":
            continue
        least = Role((needed or "read").partition(",")[0])
        allowed = Role(role).includes(least)
        assert (answer.status_code not in (401, 403)) == allowed, operation
        if not allowed:
            assert answer.json()["detail"] == (
                f"the key {role!r} has the role {role}, and this needs the role {least}"
            )


def test_keys_are_taken_from_either_header(locked: TestClient, keys: dict[str, str]) -> None:
    for headers in (bearer(keys["read"]), {"x-api-key": keys["read"]}):
        assert locked.get("/items", headers=headers).status_code == 200
    behind_a_proxy = {"authorization": "Basic YTpi", "x-api-key": keys["read"]}
    assert locked.get("/items", headers=behind_a_proxy).status_code == 200


def test_a_key_that_is_removed_is_refused_from_then_on(
    locked: TestClient, keys: dict[str, str], settings: Settings
) -> None:
    assert locked.get("/items", headers=bearer(keys["read"])).status_code == 200
    remove_key(settings.keys_file, "read")
    assert locked.get("/items", headers=bearer(keys["read"])).status_code == 401


def test_a_bound_key_reaches_no_other_collection_by_any_route(
    locked: TestClient, app: FastAPI, keys: dict[str, str], png: Png
) -> None:
    body = {
        "/search/image": {"text": "red"},
        "/search/text": {"text": "red"},
        "/search/regions": {"text": "red"},
        "/search/products": {"text": "red"},
        "/align": {"text": "red", "id": "a"},
        "/ground": {"text": "red", "id": "a"},
        "/caption": {"id": "a"},
        "/items/{id}": {"sentences": ["red"]},
        "/index/audit": {"queries": ["red"]},
    }
    needed = {"/suggest": {"text": "re"}, "/items/{id}/crop": {"box": "0,0,1,1"}}
    reached = set()
    for method, path, operation in operations(app):
        parameters = {one["name"] for one in operation.get("parameters", [])}
        if not ("collection" in parameters or (path in body and method in ("post", "put"))):
            continue
        reached.add(path)
        for collection, status in (("shop", 200), ("secret", 403), ("nowhere", 403)):
            sent: dict[str, Any] = {"params": {"collection": collection}}
            sent["params"] |= needed.get(path, {})
            if path == "/items" and method == "post":
                sent |= {"content": b"", "headers": {"content-type": "application/x-ndjson"}}
            elif method == "patch":
                sent |= {"content": b"{}", "headers": {"content-type": "application/json"}}
            elif "collection" not in parameters:
                sent = {"json": body[path] | {"collection": collection}}
            sent["headers"] = sent.get("headers", {}) | bearer(keys["shop"])
            url = path.replace("{id}", "a").replace("{name}", "a")
            answer = locked.request(method, url, **sent)
            allowed = (404, 204) if status == 200 else ()
            assert answer.status_code in (status, *allowed), (method, path, answer.text)
            assert "secret" not in answer.text
    assert reached >= {*body, "/items", "/items/{id}/image", "/index"}


def test_a_bound_key_sees_no_sign_of_other_collections(
    locked: TestClient, keys: dict[str, str]
) -> None:
    names = [
        one["name"]
        for one in locked.get("/collections", headers=bearer(keys["shop"])).json()["collections"]
    ]
    assert names == ["shop"]
    everywhere = locked.get("/collections", headers=bearer(keys["read"])).json()["collections"]
    assert [one["name"] for one in everywhere] == ["secret", "shop"]
    refused = locked.get("/metrics", headers=bearer(keys["shop"]))
    assert refused.status_code == 403
    assert "a key with the role read that is bound to no collection" in refused.json()["detail"]


def test_a_bound_key_is_not_told_of_others_where_its_collection_is_gone(
    locked: TestClient, keys: dict[str, str]
) -> None:
    assert locked.delete("/collections/shop", headers=bearer(keys["admin"])).status_code == 204
    for path in ("/items?collection=shop", "/collections/shop"):
        answer = locked.get(path, headers=bearer(keys["shop"]))
        assert (answer.status_code, answer.json()["detail"]) == (404, "no collection 'shop'")


def test_a_key_that_is_bound_to_an_alias_sees_the_collection_by_that_name_alone(
    locked: TestClient, settings: Settings, keys: dict[str, str]
) -> None:
    admin = bearer(keys["admin"])
    for alias in ("front", "other-alias"):
        locked.put(f"/aliases/{alias}", json={"collection": "secret"}, headers=admin)
    secret, made = make_key("page", Role.WRITE, collections=("front",))
    add_key(settings.keys_file, made)
    key = bearer(secret)
    (listed,) = locked.get("/collections", headers=key).json()["collections"]
    assert (listed["name"], listed["aliases"]) == ("front", [])
    assert listed["items"] > 0
    assert locked.get("/collections/front", headers=key).json() == listed
    assert locked.put("/collections/front", headers=key).status_code == 200
    missing = locked.get("/items/nowhere?collection=front", headers=key)
    assert missing.json()["detail"] == "no item 'nowhere' in collection 'front'"
    both = locked.get("/collections/secret", headers=admin).json()
    assert both["aliases"] == ["front", "other-alias"]


def test_metrics_are_open_where_the_setting_says_so(
    settings: Settings, engine: Engine, keys: dict[str, str]
) -> None:
    chosen = settings.model_copy(update={"open_metrics": True})
    with TestClient(create_app(chosen, engine)) as client:
        assert client.get("/metrics").status_code == 200
        assert client.get("/model").status_code == 401


def test_a_session_stands_for_its_key_until_that_is_taken_back(
    locked: TestClient, keys: dict[str, str], settings: Settings
) -> None:
    none = {"key_needed": True, "name": None, "role": None, "collections": None, "originals": False}
    assert locked.get("/session").json() == none
    answer = locked.post("/session", json={"key": keys["shop"]})
    assert answer.json() == none | {"name": "shop", "role": "admin", "collections": ["shop"]}
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert keys["shop"] not in cookie
    assert locked.get("/items/a/image", params={"collection": "shop"}).status_code == 200
    assert locked.get("/session").json()["name"] == "shop"
    remove_key(settings.keys_file, "shop")
    assert locked.get("/items", params={"collection": "shop"}).status_code == 401
    assert locked.get("/session").json() == none


def test_a_session_ends_by_signing_out_for_whoever_has_its_cookie(
    locked: TestClient, keys: dict[str, str], settings: Settings, engine: Engine
) -> None:
    answer = locked.post("/session", json={"key": keys["read"]})
    copied = {"cookie": answer.headers["set-cookie"].partition(";")[0]}
    assert locked.get("/items").status_code == 200
    locked.cookies.clear()
    with closing(Catalog(settings.storage)) as catalog:  # as another process has it open
        others = TestClient(create_app(settings, Engine(engine.models, catalog, settings.data)))
        assert others.get("/items", headers=copied).status_code == 200
        ended = locked.delete("/session", headers=copied)
        assert ended.status_code == 204
        for client in (locked, others):
            refused = client.get("/items", headers=copied)
            assert refused.status_code == 401
            assert "this session is over" in refused.json()["detail"]
            assert client.get("/session", headers=copied).json()["role"] is None
    assert ended.headers["set-cookie"].count("Max-Age=0") == 2, "with each name it may have"
    assert locked.delete("/session", headers=copied).status_code == 204
    assert locked.delete("/session").status_code == 204


def test_signing_in_begins_another_session_and_ends_the_one_before(
    locked: TestClient, keys: dict[str, str]
) -> None:
    """A cookie known to others opens nothing afterwards."""
    sent = {"json": {"key": keys["read"]}}
    first, second = (locked.post("/session", **sent).headers["set-cookie"] for _ in range(2))
    cookies = [cookie.partition(";")[0] for cookie in (first, second)]
    assert cookies[0] != cookies[1]
    locked.cookies.clear()
    statuses = [locked.get("/items", headers={"cookie": one}).status_code for one in cookies]
    assert statuses == [401, 200]


def test_a_session_is_over_for_a_key_that_was_made_again_under_its_name(
    locked: TestClient, keys: dict[str, str], settings: Settings
) -> None:
    locked.post("/session", json={"key": keys["read"]})
    remove_key(settings.keys_file, "read")
    add_key(settings.keys_file, make_key("read", Role.ADMIN)[1])
    assert locked.get("/items").status_code == 401


def test_a_sign_out_that_cannot_be_stored_is_told(
    locked: TestClient, keys: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    locked.post("/session", json={"key": keys["read"]})

    def refuse(*_: object) -> None:
        raise Busy("another process is writing")

    monkeypatch.setattr(EndedSessions, "end", refuse)
    answer = locked.delete("/session")
    assert (answer.status_code, answer.json()["type"][-13:]) == (503, "database-busy")
    assert "set-cookie" not in answer.headers
    assert locked.get("/items").status_code == 200, "it goes on, and its browser shows so"


def test_a_session_over_https_is_set_by_this_host_alone(
    locked: TestClient, keys: dict[str, str]
) -> None:
    answer = locked.post("https://testserver/session", json={"key": keys["read"]})
    name, _, rest = answer.headers["set-cookie"].partition("=")
    session, *attributes = rest.split("; ")
    assert name == f"__Host-{COOKIE}"
    assert {*attributes} == {
        "HttpOnly",
        f"Max-Age={LONGEST}",
        "Path=/",
        "SameSite=strict",
        "Secure",
    }
    assert locked.get("https://testserver/items").status_code == 200
    locked.cookies.clear()
    tossed = {"cookie": f"{COOKIE}={session}; __Secure-{COOKIE}={session}"}
    assert locked.get("https://testserver/items", headers=tossed).status_code == 401


def test_a_session_is_found_among_the_long_cookies_of_other_services(
    locked: TestClient, keys: dict[str, str]
) -> None:
    answer = locked.post("/session", json={"key": keys["read"]})
    own = answer.headers["set-cookie"].partition(";")[0]
    for others in ("sso=" + "a" * 12_000, 'odd="' + "\\a" * 6_000 + '"', "; =; novalue"):
        brought = {"cookie": f"{others}; {own}; last=1"}
        assert locked.get("/items", headers=brought).status_code == 200, others[:10]
        assert locked.get("/items", headers={"cookie": f"{others}x; last=1"}).status_code == 401


def test_a_session_behind_a_proxy_that_ends_https_is_secure_too(
    locked: TestClient, keys: dict[str, str]
) -> None:
    origin = {"origin": "https://testserver"}
    answer = locked.post("/session", json={"key": keys["read"]}, headers=origin)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"__Host-{COOKIE}=")
    assert "; Secure" in cookie
    sent = {"cookie": cookie.partition(";")[0]}
    assert locked.get("/items", headers=sent).status_code == 200


def test_sessions_are_signed_and_grow_old(monkeypatch: pytest.MonkeyPatch, engine: Engine) -> None:
    _, key = make_key("anna", Role.READ)
    keyring = Keyring(None, [key])
    ended = EndedSessions(engine.catalog.reader, engine.catalog.writer, LONGEST)
    sessions = Sessions(b"s" * 32, keyring, ended)
    text = sessions.begin(key)
    assert sessions.read(text) == key
    assert Sessions(b"t" * 32, keyring, ended).read(text) is None, "after the secret was changed"
    for damaged in (text[:-2], text.partition(".")[2], key.mark, f"{key.mark}.", "", ".", "é.é"):
        assert sessions.read(damaged) is None, damaged
    twins = Keyring(None, [key.model_copy(update={"name": "first"}), key])
    assert Sessions(b"s" * 32, twins, ended).read(text) == key, "the one that `find` finds"
    renamed = Keyring(None, [key.model_copy(update={"name": "anne"})])
    assert Sessions(b"s" * 32, renamed, ended).read(text) is None
    now = time.time()
    monkeypatch.setattr("itsdangerous.timed.time.time", lambda: now + LONGEST + 2)
    assert sessions.read(text) is None


def test_no_session_is_made_from_what_the_database_holds(engine: Engine) -> None:
    """A snapshot has the secret, and marks of keys of ended sessions."""
    _, key = make_key("anna", Role.ADMIN)
    ended = EndedSessions(engine.catalog.reader, engine.catalog.writer, LONGEST)
    sessions = Sessions(engine.catalog.secret, Keyring(None, [key]), ended)
    sessions.end(sessions.begin(key))
    with engine.catalog.reader.begin() as connection:
        rows = connection.exec_driver_sql("SELECT name FROM settings").scalars().all()
    assert any(key.mark in name for name in rows)
    assert not any(key.sha256 in name for name in rows)
    for known in ("", key.mark, key.mark * 4):
        guess = key.model_copy(update={"sha256": known.ljust(64, "0")})
        forged = Sessions(engine.catalog.secret, Keyring(None, [guess]), ended).begin(guess)
        assert sessions.read(f"{key.mark}.{forged.partition('.')[2]}") is None, known


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "photos.lan", ""])  # noqa: S104
def test_an_address_that_others_reach_needs_keys_or_open(settings: Settings, host: str) -> None:
    reachable = settings.model_copy(update={"host": host})
    with pytest.raises(ValueError, match=r"tessera keys add NAME --role admin.*--open"):
        Door.of(reachable)
    Door.of(reachable.model_copy(update={"open": True}))
    add_key(settings.keys_file, make_key("anna", Role.ADMIN)[1])
    Door.of(reachable)
    with pytest.raises(ValueError, match="there are keys"):
        Door.of(reachable.model_copy(update={"open": True}))
    remove_key(settings.keys_file, "anna")
    with pytest.raises(ValueError, match="no one could get in"):
        Door.of(reachable)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.0.1"])
def test_this_machine_alone_needs_no_keys(settings: Settings, host: str) -> None:
    assert not Door.of(settings.model_copy(update={"host": host})).keyring.required


def test_a_service_without_keys_lets_everyone_do_everything(client: TestClient) -> None:
    assert client.put("/items/a", json={"sentences": ["red"]}).status_code == 201
    assert client.get("/items", headers=bearer("anything")).status_code == 200
    assert client.get("/session").json() == {
        "key_needed": False,
        "name": None,
        "role": "admin",
        "collections": None,
        "originals": False,
    }


def test_no_body_is_read_that_is_too_long_nor_one_without_a_key(
    locked: TestClient, keys: dict[str, str]
) -> None:
    for path in ("/session", "/index/audit"):
        body, json = b" " * (2**20 + 1), {"content-type": "application/json"}
        answer = locked.post(path, content=body, headers=json | bearer(keys["admin"]))
        assert answer.status_code == 413
        assert answer.headers["content-type"] == "application/problem+json"
    assert locked.post("/index/audit", content=body, headers=json).status_code == 401


def test_an_import_ends_with_its_key(settings: Settings, engine: Engine) -> None:
    file = settings.keys_file
    assert file is not None
    for name in ("admin", "shop"):
        secret, key = make_key(name, Role.WRITE)
        add_key(file, key)
    with listen(create_app(settings, engine), **OPTIONS) as address:
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
        connection.putrequest("POST", "/items")
        connection.putheader("Content-Type", "application/x-ndjson")
        connection.putheader("Authorization", f"Bearer {secret}")
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()

        def send(id_: str) -> None:
            line = json.dumps({"id": id_, "sentences": ["red"]}).encode() + b"\n"
            connection.send(b"%x\r\n%s\r\n" % (len(line), line))

        send("a")
        answer = connection.getresponse()
        assert json.loads(answer.readline())["status"] == "stored"
        remove_key(file, "shop")
        for id_ in "bc":
            send(id_)
            status = json.loads(answer.readline())
            assert (status["status"], "taken back" in status["reason"]) == ("refused", True)
        connection.close()
    assert engine.catalog.count(engine.open("default")) == 1
