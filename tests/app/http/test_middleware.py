"""Foreign host names and other sites' writes are refused."""

from __future__ import annotations

import pytest
from fastapi.routing import iter_route_contexts
from starlette.testclient import TestClient

from app.access.credentials import COOKIE
from app.engine.engine import Engine
from app.http.middleware import list_allowed_hosts
from app.main import create_app
from app.settings import Settings
from tests.stored_items import put

SEARCH = {"text": "red"}


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8000",
        "127.0.0.1:8000",
        "[::1]:8000",
        "192.168.1.5:8000",
        "photos.example",
        "a.shop.example:443",
    ],
)
def test_names_of_this_service_are_answered(settings: Settings, engine: Engine, host: str) -> None:
    names = ("photos.example", "*.shop.example")
    chosen = settings.model_copy(update={"allowed_hosts": names})
    with TestClient(create_app(chosen, engine)) as client:
        assert client.get("/readyz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8000",  # DNS rebinding: a page's own name that leads to this machine
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "shop.example",
        "evilshop.example",
        "evil@127.0.0.1",
        "127.0.0.1:8000:1",
        "[::1",
        "",
    ],
)
def test_other_names_read_and_change_nothing(settings: Settings, engine: Engine, host: str) -> None:
    chosen = settings.model_copy(update={"allowed_hosts": ("*.shop.example",)})
    put(engine, "default", [])
    with TestClient(create_app(chosen, engine)) as client:
        for method, path in (("GET", "/items"), ("DELETE", "/items/a"), ("GET", "/")):
            answer = client.request(method, path, headers={"host": host})
            assert answer.status_code == 400
            assert answer.headers["content-type"] == "application/problem+json"
            assert "TESSERA_ALLOWED_HOSTS" in answer.json()["detail"]


def test_a_star_allows_every_name(settings: Settings, engine: Engine) -> None:
    chosen = settings.model_copy(update={"allowed_hosts": ("*",)})
    with TestClient(create_app(chosen, engine)) as client:
        assert client.get("/readyz", headers={"host": "any.example"}).status_code == 200


def test_the_bound_name_is_allowed() -> None:
    assert "photos.lan" in list_allowed_hosts(Settings(host="photos.lan"))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),  # no browser
        ({"sec-fetch-site": "same-origin", "origin": "http://testserver"}, 200),
        ({"sec-fetch-site": "none"}, 200),  # a person's own doing
        ({"sec-fetch-site": "cross-site", "origin": "https://evil.example"}, 403),
        ({"sec-fetch-site": "same-site", "origin": "http://other.testserver"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"origin": "http://testserver"}, 200),  # a browser that says no more
        ({"origin": "http://testserver:81"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site", "origin": "https://shop.example"}, 200),
    ],
)
def test_writes_from_pages_of_other_sites_are_refused(
    settings: Settings, engine: Engine, headers: dict[str, str], status: int
) -> None:
    chosen = settings.model_copy(update={"cors_origins": ("https://shop.example",)})
    with TestClient(create_app(chosen, engine)) as client:
        answer = client.post("/search/text", json=SEARCH, headers=headers)
        assert answer.status_code == status, answer.text
        assert client.get("/items", headers=headers).status_code == 200
        if status == 403:
            assert answer.json()["type"] == "urn:tessera:problem:cross-site"
            assert "TESSERA_CORS_ORIGINS" in answer.json()["detail"]


def test_a_trusted_page_may_ask_first(settings: Settings, engine: Engine) -> None:
    chosen = settings.model_copy(update={"cors_origins": ("https://shop.example",)})
    asked = {"origin": "https://shop.example", "access-control-request-method": "PUT"}
    asked["access-control-request-headers"] = "authorization"
    with TestClient(create_app(chosen, engine)) as client:
        headers = client.options("/items/a", headers=asked).headers
        assert headers["access-control-allow-origin"] == "https://shop.example"
        assert headers["access-control-allow-headers"] == "authorization"


def test_a_trusted_page_may_read_what_it_needs_to_go_on(settings: Settings, engine: Engine) -> None:
    """Such as Retry-After of a busy service, and the ETag for If-Match."""
    chosen = settings.model_copy(update={"cors_origins": ("https://shop.example",)})
    with TestClient(create_app(chosen, engine)) as client:
        answer = client.get("/readyz", headers={"origin": "https://shop.example"})
        readable = answer.headers["access-control-expose-headers"].split(", ")
        assert {"ETag", "Retry-After", "X-Request-ID", "Location", "Content-Range"} == {*readable}


def test_no_route_is_changed_by_a_form_of_another_site(settings: Settings, engine: Engine) -> None:
    """Neither without keys, nor with a session's cookie."""
    app = create_app(settings, engine)
    routes = [
        (method, context.path.format(id="a", name="a"))
        for context in iter_route_contexts(app.routes)
        for method in (getattr(context, "methods", None) or ())
        if method not in ("GET", "HEAD")
    ]
    assert len(routes) > 15
    with TestClient(app, cookies={COOKIE: "stolen"}) as client:
        for method, path in routes:
            for headers in (
                {"origin": "https://evil.example"},
                {"origin": "null"},
                {"sec-fetch-site": "cross-site"},
                {"sec-fetch-site": "same-site", "origin": "http://testserver:81"},
            ):
                form = headers | {"content-type": "application/x-www-form-urlencoded"}
                answer = client.request(method, path, headers=form, content=b"a=b")
                assert (answer.status_code, method, path) == (403, method, path)
                assert answer.json()["type"] == "urn:tessera:problem:cross-site"


@pytest.mark.parametrize(
    ("origins", "policy"), [((), "same-site"), (("https://shop.example",), "cross-origin")]
)
def test_photos_are_shown_in_pages_of_this_site_and_of_allowed_origins(
    settings: Settings, engine: Engine, origins: tuple[str, ...], policy: str
) -> None:
    chosen = settings.model_copy(update={"cors_origins": origins})
    with TestClient(create_app(chosen, engine)) as client:
        for address in ("/items/absent/image", "/items", "/page/main.js"):
            assert client.get(address).headers["cross-origin-resource-policy"] == policy
