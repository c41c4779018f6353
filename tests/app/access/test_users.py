"""A trusted proxy names users, and no one else does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from app.access.key_file import add_key
from app.access.keys import make_key
from app.access.user_checks import check_users
from app.access.users import identify_proxied
from app.engine.engine import Engine
from app.http.errors import Unauthorized
from app.main import create_app
from app.roles import Role
from app.settings import Settings

Service = Callable[..., TestClient]
PROXY, ELSEWHERE = ("10.0.0.5", 1), ("10.0.0.6", 1)
ANNA = {"x-forwarded-user": "anna", "x-forwarded-groups": "staff, tessera-write"}


@pytest.fixture
def behind(settings: Settings, engine: Engine, tmp_path: Path) -> Service:
    """A service and its client at an address."""
    about = {"user_header": "X-Forwarded-User", "groups_header": "X-Forwarded-Groups"}
    about |= {"trusted_proxies": "10.0.0.5,192.168.0.0/24"}
    audit = {"audit": tmp_path / "audit.jsonl"}

    def make(address: tuple[str, int] = PROXY, **more: Any) -> TestClient:
        app = create_app(settings.model_copy(update=about | audit | more), engine)
        return TestClient(app, client=address, raise_server_exceptions=False)

    return make


def test_a_user_of_a_trusted_proxy_has_the_role_of_its_groups(
    behind: Service, tmp_path: Path
) -> None:
    client = behind()
    asked = ANNA | {"x-forwarded-for": "203.0.113.9"}
    assert client.put("/items/a", headers=asked, json={"sentences": ["red"]}).status_code == 201
    session = client.get("/session", headers=ANNA).json()
    assert (session["name"], session["role"], session["collections"]) == ("anna", "write", None)
    line = json.loads((tmp_path / "audit.jsonl").read_text("utf-8"))
    assert (line["who"], line["signed_in_by"]) == ("anna", "proxy")
    assert line["address"] == "203.0.113.9"
    answer = client.get("/items", headers={"x-forwarded-user": "bob"})
    assert answer.status_code == 403
    assert answer.json()["detail"] == (
        "the user 'bob' has no role here: TESSERA_USER_ROLES names none of the user's 0 groups, "
        "read from the header X-Forwarded-Groups"
    )
    without = behind(groups_header=None).get("/items", headers=ANNA)
    assert without.json()["detail"].endswith("no header, as TESSERA_GROUPS_HEADER is not set")


def test_the_header_of_anyone_else_is_refused(behind: Service) -> None:
    for more in ({}, {"x-forwarded-for": "10.0.0.5"}, {"forwarded": "for=10.0.0.5"}):
        answer = behind(ELSEWHERE).get("/items", headers=ANNA | more)
        assert answer.status_code == 401
        assert answer.json()["detail"] == (
            "X-Forwarded-User counts from a proxy that TESSERA_TRUSTED_PROXIES names, and this "
            "came from 10.0.0.6"
        )
    assert behind().get("/items").status_code == 401
    assert behind(("192.168.0.7", 1)).get("/items", headers=ANNA).status_code == 200


def test_keys_open_as_before(behind: Service, settings: Settings) -> None:
    secret, key = make_key("erp", Role.READ)
    add_key(settings.keys_file, key)
    for address in (PROXY, ELSEWHERE):
        client = behind(address)
        assert client.get("/items", headers={"x-api-key": secret}).status_code == 200
        wrong = client.get("/items", headers=ANNA | {"x-api-key": "tessera_wrong"})
        assert wrong.status_code == 401
        client.post("/session", json={"key": secret})
        assert client.get("/session").json()["name"] == "erp"
    session = behind().get("/session", headers=ANNA | {"cookie": "tessera_session=a"})
    assert session.json()["name"] == "anna", "not who used the browser before"


def test_a_user_may_be_bound_to_collections(behind: Service) -> None:
    client = behind(collections_header="X-Collections")
    client.put("/collections/shop", headers=ANNA | {"x-collections": "shop, photos"})
    session = client.get("/session", headers=ANNA | {"x-collections": "shop"}).json()
    assert session["collections"] == ["shop"]
    for named, collection, status in (
        ("shop", "shop", 200),
        ("photos", "shop", 403),
        ("", "shop", 403),
    ):
        asked = ANNA | {"x-collections": named}
        answer = client.get("/items", params={"collection": collection}, headers=asked)
        assert answer.status_code == status
    assert client.get("/items", headers=ANNA).status_code == 403, "without the header"


def test_a_header_is_read_once_and_as_utf_8(behind: Service) -> None:
    client = behind()
    twice = [("x-forwarded-user", "anna"), ("x-forwarded-user", "root")]
    answer = client.get("/items", headers=twice)
    assert (answer.status_code, "is there 2 times" in answer.json()["detail"]) == (401, True)
    groups = [*ANNA.items(), ("x-forwarded-groups", "tessera-admin")]
    assert client.get("/items", headers=groups).status_code == 401
    named = {"x-forwarded-user": "Zoë".encode(), "x-forwarded-groups": b"tessera-read"}
    assert client.get("/session", headers=named).json()["name"] == "Zoë"
    for odd in (b"", b"a" * 256):
        assert client.get("/items", headers=named | {"x-forwarded-user": odd}).status_code == 401


def test_a_header_in_another_encoding_is_refused(settings: Settings) -> None:
    headers = [(b"x-forwarded-user", b"\xff")]
    request = Request({"type": "http", "headers": headers, "state": {"proxied": True}})
    users = settings.model_copy(update={"user_header": "X-Forwarded-User"})
    with pytest.raises(Unauthorized, match="X-Forwarded-User is not in UTF-8"):
        identify_proxied(users, request)


@pytest.mark.parametrize(
    ("chosen", "mistake"),
    [
        ({"trusted_proxies": ""}, "TESSERA_USER_HEADER needs TESSERA_TRUSTED_PROXIES"),
        ({"trusted_proxies": "*"}, "names addresses and networks"),
        ({"trusted_proxies": "/run/proxy.sock"}, "for all, got '/run/proxy.sock'"),
        ({"trusted_proxies": "*,10.0.0.5"}, r"for all, got '\*'"),
        (
            {"trusted_proxies": "10.0.0.5,proxy.example"},
            "or \\* alone for all, got 'proxy.example'",
        ),
        ({"trusted_proxies": "10.0.0.0/33"}, "or \\* alone for all, got '10.0.0.0/33'"),
        ({"trusted_proxies": "proxy", "user_header": None}, "or \\* alone for all, got 'proxy'"),
        ({"trusted_proxies": "10.0.0.5,0.0.0.0/0"}, "everyone could say who they are"),
        ({"user_header": None}, "TESSERA_GROUPS_HEADER needs TESSERA_USER_HEADER"),
        ({"user_header": "Authorization"}, "cannot be Authorization"),
        ({"open": True}, "--open would let everyone in"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    behind: Service, chosen: dict[str, Any], mistake: str
) -> None:
    with pytest.raises(ValueError, match=mistake):
        behind(**chosen)


def test_hosts_that_are_trusted_by_default_name_no_users(settings: Settings) -> None:
    chosen = {"user_header": "X-Forwarded-User"}
    with pytest.raises(ValueError, match="TESSERA_USER_HEADER needs TESSERA_TRUSTED_PROXIES"):
        check_users(settings.model_copy(update=chosen))


def test_uvicorns_variable_names_proxies_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "10.0.0.5")
    assert Settings().trusted_proxies == "10.0.0.5"
    monkeypatch.setenv("TESSERA_TRUSTED_PROXIES", "10.0.0.6")
    assert Settings().trusted_proxies == "10.0.0.6"
    monkeypatch.delenv("TESSERA_TRUSTED_PROXIES")
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "")
    assert Settings().trusted_proxies == ""
