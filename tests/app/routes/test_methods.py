"""Methods: HEAD next to every GET, and Allow of each path."""

from __future__ import annotations

from collections.abc import Callable
from http.client import HTTPConnection

import pytest
from starlette.testclient import TestClient

Png = Callable[..., bytes]


@pytest.fixture
def stored(client: TestClient, png: Png) -> TestClient:
    """A client of a service with the item `coffee`."""
    client.put("/items/coffee", files={"image": png("red")})
    return client


PATHS = """/ /docs /page/main.js /livez /metrics /openapi.json /items /items/coffee /items/tea
/items/coffee/image /collections/default /suggest?text=a"""


@pytest.mark.parametrize("path", PATHS.split())
def test_head_has_the_headers_of_get_and_no_body(stored: TestClient, path: str) -> None:
    whole, head = stored.get(path), stored.head(path)
    changing = {"x-request-id", "content-length"} if path == "/metrics" else {"x-request-id"}
    assert head.status_code == whole.status_code
    assert head.headers.keys() == whole.headers.keys()
    for name in whole.headers.keys() - changing:
        assert head.headers[name] == whole.headers[name]
    assert head.content == b""
    assert "head" not in stored.get("/openapi.json").json()["paths"].get(path, {})


@pytest.mark.parametrize("path", ["/", "/docs", "/page/main.js"])
def test_browsers_ask_for_changes_of_the_page(client: TestClient, path: str) -> None:
    assert client.get(path).headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/", "/page/main.js"])
def test_a_file_of_the_page_without_changes_is_not_sent_again(
    client: TestClient, path: str
) -> None:
    asked = {"If-None-Match": client.get(path).headers["etag"]}
    answer = client.get(path, headers=asked)
    assert (answer.status_code, answer.headers["cache-control"]) == (304, "no-cache")


def test_head_of_a_snapshot_tells_how_long_it_is(stored: TestClient) -> None:
    made = stored.post("/snapshots").json()
    head = stored.head(made["url"], headers={"Range": "bytes=1000-"})  # a range is of GET alone
    assert (head.status_code, int(head.headers["content-length"])) == (200, made["bytes"])


def test_connection_goes_on_behind_a_head(address: str) -> None:
    connection = HTTPConnection(address.removeprefix("http://"))
    for method in ("HEAD", "GET", "HEAD"):
        connection.request(method, "/livez")
        answer = connection.getresponse()
        assert answer.status == 200
        assert answer.read() == (b'{"status":"alive"}' if method == "GET" else b"")
    connection.close()


def test_head_is_counted_as_one(stored: TestClient) -> None:
    stored.head("/items/coffee")
    counted = 'tessera_http_requests_total{method="HEAD",route="/items/{id}",status="200"}'
    assert counted in stored.get("/metrics").text


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/items", "GET, HEAD, POST"),
        ("OPTIONS", "/items/coffee", "DELETE, GET, HEAD, PATCH, PUT"),
        ("POST", "/items/coffee/image", "GET, HEAD"),
        ("GET", "/search/image", "POST"),
        ("HEAD", "/search/image", "POST"),
        ("POST", "/snapshots/a.tar", "DELETE, GET, HEAD"),
        ("POST", "/", "GET, HEAD"),
        ("POST", "/page/main.js", "GET, HEAD"),
        ("POST", "/docs/viewer/swagger-ui.css", "GET, HEAD"),
    ],
)
def test_allow_names_all_methods_of_a_path(
    client: TestClient, method: str, path: str, allowed: str
) -> None:
    answer = client.request(method, path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == allowed
    if method != "HEAD":
        assert f"{method} is not allowed" in answer.json()["detail"]
        assert answer.json()["detail"].endswith(allowed)
