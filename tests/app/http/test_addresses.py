"""Addresses of a service below a path of a proxy."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx2
import pytest
from starlette.testclient import TestClient

from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.http.server import OPTIONS
from app.main import create_app
from app.settings import Settings
from tests.outside.proxies import cut_off
from tests.processes.listening import listen
from tests.stored_items import put

Png = Callable[..., bytes]
ROOT = "/shop/photos"


@pytest.fixture
def below(settings: Settings, engine: Engine, png: Png) -> Iterator[str]:
    """The address of a proxy for a service below a path."""
    put(engine, "default", [Draft("a/b red", {"n": 1}).with_photo(png("red"))])
    app = create_app(settings.model_copy(update={"root_path": ROOT}), engine)
    with listen(app, **OPTIONS) as service, cut_off(ROOT, service) as address:
        yield address


@pytest.fixture
def http() -> Iterator[httpx2.Client]:
    """A client with time for the first search, with all its imports."""
    with httpx2.Client(timeout=60) as client:
        yield client


def at_host(below: str, path: str) -> str:
    """A path's address at the proxy's host, as a browser resolves it."""
    return below.removesuffix(ROOT) + path


def test_addresses_of_photos_lead_through_the_proxy(below: str, http: httpx2.Client) -> None:
    hit = http.post(f"{below}/search/image", json={"text": "red"}).json()["hits"][0]
    part = http.post(f"{below}/search/regions", json={"text": "red"}).json()["hits"][0]
    listed = http.get(f"{below}/items").json()["items"][0]
    for path in (hit["image"], part["crop"], listed["image"], listed["images"][0]["image"]):
        answer = http.get(at_host(below, path))
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/jpeg")


@pytest.mark.parametrize(
    "path", ["", "page/main.js", "docs", "docs/viewer/swagger-ui.css", "livez"]
)
def test_the_page_and_its_files_are_below_the_path(
    below: str, http: httpx2.Client, path: str
) -> None:
    assert http.get(f"{below}/{path}").status_code == 200


def test_redirects_and_problems_name_the_whole_path(below: str, http: httpx2.Client) -> None:
    moved = http.get(f"{below}/items/", follow_redirects=False)
    assert moved.headers["location"] == f"{moved.url}".rstrip("/")
    missing = http.get(f"{below}/items/none")
    assert missing.json()["instance"] == f"{ROOT}/items/none"
    wrong = http.delete(f"{below}/items")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, HEAD, POST")


def test_ids_with_slashes_are_read_below_a_path(below: str, http: httpx2.Client) -> None:
    assert http.get(f"{below}/items/a%2Fb%20red").json()["metadata"] == {"n": 1}


def test_a_snapshot_is_where_its_answer_says(below: str, http: httpx2.Client) -> None:
    made = http.post(f"{below}/snapshots")
    assert made.headers["location"] == made.json()["url"]
    assert http.head(at_host(below, made.json()["url"])).status_code == 200


def test_the_reference_sends_its_calls_below_the_path(below: str, http: httpx2.Client) -> None:
    assert http.get(f"{below}/openapi.json").json()["servers"] == [{"url": ROOT}]


def test_a_proxy_may_leave_the_path_in_place(settings: Settings, engine: Engine) -> None:
    app = create_app(settings.model_copy(update={"root_path": ROOT}), engine)
    with TestClient(app) as client:
        assert client.get(f"{ROOT}/readyz").status_code == 200
        lines = b'{"id": "a", "sentences": ["red"]}\n'
        kind = {"content-type": "application/x-ndjson"}
        sent = client.post(f"{ROOT}/items", content=lines, headers=kind)
        assert sent.json()["status"] == "stored"


def test_without_a_root_path_addresses_begin_at_the_host(
    settings: Settings, engine: Engine, png: Png
) -> None:
    put(engine, "default", [Draft("red").with_photo(png("red"))])
    with TestClient(create_app(settings, engine)) as client:
        assert client.get("/items/red").json()["image"] == "/items/red/image"
        assert "servers" not in client.get("/openapi.json").json()


@pytest.mark.parametrize("root", ["tessera", "/tessera/", "/", "/a b", "/a//b"])
def test_a_root_path_of_another_form_is_refused(root: str) -> None:
    with pytest.raises(ValueError, match="root_path"):
        Settings(root_path=root)
