"""Photos come from the public internet alone, by any address."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address

import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from app.engine.engine import Engine
from app.imports import fetching as photos
from app.imports.fetching import Fetcher, NotFetched, get_photos
from app.main import create_app
from app.network.addresses import is_public, normalise
from app.settings import Settings
from tests.outside.serving import QuietHandler, serve

Png = Callable[..., bytes]
Answer = Callable[[BaseHTTPRequestHandler], None]


class Site:
    """A server on this machine, public for one fetcher."""

    def __init__(self, port: int, answers: dict[str, Answer]) -> None:
        self.port, self.answers = port, answers
        self.names = {"photos.test": "127.0.0.1", "metadata.test": "169.254.169.254"}
        self.resolved: list[str] = []
        self.asked: list[str] = []

    def resolve(self, host: str, port: int) -> list[object]:
        self.resolved.append(host)
        return [ip_address(self.names[host])]

    def fetcher(self, most: int = 10_000, seconds: float = 5.0) -> Fetcher:
        return Fetcher(
            most, seconds, resolve=self.resolve, permitted=lambda one: str(one) == "127.0.0.1"
        )

    def url(self, path: str = "/", host: str = "photos.test") -> str:
        return f"http://{host}:{self.port}{path}"


def page(body: bytes, kind: str | None = "image/png", status: int = 200, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in ({"Content-Type": kind} if kind else {} | headers).items():
            handler.send_header(name, value)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@pytest.fixture
def site() -> Iterator[Site]:
    class Handler(QuietHandler):
        def do_GET(self) -> None:
            there.asked.append(f"{self.headers['host']} {self.path}")
            there.answers[self.path](self)

    there = Site(0, {})
    with serve(Handler) as address:
        there.port = int(address.rpartition(":")[2])
        yield there


@pytest.mark.parametrize(
    "address",
    [
        *("10.0.0.1", "172.16.0.1", "192.168.1.1", "127.0.0.1", "127.9.9.9", "169.254.169.254"),
        *("0.0.0.0", "100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1"),  # noqa: S104
        *("255.255.255.255", "::1", "::", "fe80::1", "fec0::1", "fc00::1", "ff02::1"),
        *("192.0.0.192", "168.63.129.16", "3fff::1"),
        *("2001:db8::1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "::7f00:1"),
        *("2002:7f00:1::", "2001:0:7f00:1::", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe"),
    ],
)
def test_address_that_is_not_public_is_refused(address: str) -> None:
    assert not is_public(ip_address(address))
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(NotFetched, match="not an address of the public internet"):
        Fetcher().fetch(f"http://{host}/a.png")


def test_an_address_of_this_machine_is_refused() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no network")
        ours = ip_address(probe.getsockname()[0])
    with socket.create_server(("", 0)) as server:
        fetcher = Fetcher(
            10_000, 5.0, resolve=lambda *_: [ours], permitted=lambda one: not one.is_loopback
        )
        with pytest.raises(NotFetched, match="this machine"):
            fetcher.fetch(f"http://public.test:{server.getsockname()[1]}/a")


def test_public_address_is_permitted() -> None:
    for address in ("8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"):
        assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "url", ["http://2130706433/", "http://0x7f000001/", "http://127.1/", "http://localhost/"]
)
def test_other_spellings_of_this_machine_are_refused(url: str) -> None:
    with pytest.raises(NotFetched, match="public internet"):
        Fetcher().fetch(url)


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "ftp://a.test/b", "gopher://a", "//a.test/b", "a.png", ""),
        *("http://", "http:///a", "http://[::1", "http://user:pw@a.test/b", "http://@a.test/"),
        "http://a.test/" + "x" * 2_000,
        *("http://a.test:99999/", "http://a.test:x/", "http://[fe80::1%25eth0]/", "http://%00/"),
        *("http://a%20b/", "http://a\0b/", "http://\u00ad/", "http://256.256.256.256/"),
        *("http://a.test/\ud800", "http://a.test\\@b.test/", "http://xn--zz--.test/"),
        "http://ä.test/" + "ä" * 10_000,
    ],
)
def test_what_is_no_address_of_a_photo_is_refused(url: str, site: Site) -> None:
    with pytest.raises(NotFetched, match="address"):
        site.fetcher().fetch(url)
    assert site.resolved == []


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("http://bücher.test/ä b.png?q=ü#x", "http://xn--bcher-kva.test/%C3%A4%20b.png?q=%C3%BC#x"),
        ("HTTP://A.test:80/%7e%20%C3%A4", "http://a.test/%7e%20%C3%A4"),  # encoded as it came
        ("http://a.test/a%b", "http://a.test/a%b"),
        ("http://a.test/a\0b\x01c", "http://a.test/a%00b%01c"),
        ("http://faß.test./", "http://xn--fa-hia.test./"),
    ],
)
def test_address_is_normalised_as_browsers_do(url: str, normal: str) -> None:
    assert normalise(url) == normal
    assert normalise(normal) == normal


@pytest.mark.parametrize(
    "host",
    [
        *("①②⑦.⓪.⓪.①", "１２７.0.0.1", "127。0。0。1", "0x7f.1", "017700000001", "1２7.1"),
        *(
            "ｌｏｃａｌｈｏｓｔ",
            "ⓛocalhost",
            "localho\u00adst",
            "LOCALHOST",
            "loc%61lhost",
            "loc\nalhost",
        ),
        *("[::ﬀff:127.0.0.1]", "[::1]", "169。254。169。254", "①⑥⑨.②⑤④.①⑥⑨.②⑤④"),
    ],
)
def test_spellings_that_are_normalised_to_this_machine_are_refused(host: str) -> None:
    with pytest.raises(NotFetched, match=r"public internet|is no address"):
        Fetcher().fetch(f"http://{host}/a.png")


@given(
    st.one_of(
        st.text(max_size=40),
        st.builds(
            "http://{}{}{}".format,
            st.text("aä①.:@%[]/\\#?1ß\u00ad\u3002\ud800\0 \n", max_size=12),
            st.sampled_from(["", ":0", ":70000", ":²", "@a.test", "/", "?", "/%", "/ä"]),
            st.text(max_size=12),
        ),
    )
)
def test_any_text_is_fetched_or_refused_in_a_sentence(url: str) -> None:
    def nowhere(host: str, _: int) -> list[object]:
        host.encode("ascii")
        return []

    with pytest.raises(NotFetched, match=r"\w"):
        Fetcher(resolve=nowhere).fetch(url)


def test_photo_of_a_name_beyond_ascii_is_fetched(site: Site) -> None:
    site.names["xn--bcher-kva.test"] = "127.0.0.1"
    site.answers["/%C3%A4.png"] = page(b"", status=302, Location="/ü".encode().decode("latin-1"))
    site.answers["/%C3%BC"] = page(b"photo")
    assert site.fetcher().fetch(site.url("/ä.png", "bücher.test")) == b"photo"
    assert site.asked[0] == f"xn--bcher-kva.test:{site.port} /%C3%A4.png"


def test_whatever_a_fetch_raises_refuses_that_address_alone(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: str, __: int) -> list[object]:
        raise AssertionError("a bug")

    with pytest.raises(NotFetched, match="AssertionError: a bug"):
        Fetcher(resolve=broken).fetch(site.url())
    assert "a photo could not be fetched" in caplog.text


def test_slow_resolver_is_inside_the_deadline(site: Site) -> None:
    answering = threading.Event()

    def slow(_: str, __: int) -> list[object]:
        answering.wait(60)
        return []

    start = time.monotonic()
    with pytest.raises(NotFetched, match="no photo came within 0 seconds"):
        Fetcher(seconds=0.2, resolve=slow).fetch(site.url())
    answering.set()
    assert time.monotonic() - start < 30


def test_slow_redirects_are_inside_one_deadline(site: Site) -> None:
    def later(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(0.4)
        page(b"", status=302, Location="/")(handler)

    site.answers["/"] = later
    with pytest.raises(NotFetched, match="no photo came within 1 seconds"):
        site.fetcher(seconds=1.0).fetch(site.url())
    assert len(site.asked) <= 3


def test_photos_of_an_item_are_fetched_until_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(photos, "TOGETHER", -1.0)
    asked: list[str] = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        return b"photo"

    with pytest.raises(NotFetched, match="took more than"):
        get_photos(None, "http://a.test/1", ["http://a.test/2"], fetch)
    assert asked == ["http://a.test/1"]


def test_photo_is_fetched_from_the_address_that_was_checked(site: Site) -> None:
    site.answers["/a?b=1"] = page(b"photo")
    assert site.fetcher().fetch(site.url("/a?b=1")) == b"photo"
    assert site.resolved == ["photos.test"]  # once, so that no second answer can differ
    assert site.asked == [f"photos.test:{site.port} /a?b=1"]


def test_name_with_one_private_address_is_refused(site: Site) -> None:
    both = [ip_address("127.0.0.1"), ip_address("10.0.0.1")]
    fetcher = Fetcher(resolve=lambda *_: both, permitted=lambda one: str(one) == "127.0.0.1")
    with pytest.raises(NotFetched, match="public internet"):
        fetcher.fetch(site.url())
    assert site.asked == []


def test_next_address_is_tried_where_the_first_is_silent(site: Site) -> None:
    site.answers["/"] = page(b"photo")
    with socket.socket() as closed:
        closed.bind(("127.0.0.2", 0))
        several = [ip_address("127.0.0.2"), ip_address("127.0.0.1")]
        fetcher = Fetcher(resolve=lambda *_: several, permitted=lambda _: True)
        assert fetcher.fetch(site.url()) == b"photo"


def test_redirect_is_followed_and_checked_again(site: Site) -> None:
    site.answers["/a"] = page(b"", status=302, Location="/b")
    site.answers["/b"] = page(b"", status=301, Location=site.url("/c"))
    site.answers["/c"] = page(b"photo")
    assert site.fetcher().fetch(site.url("/a")) == b"photo"
    assert len(site.resolved) == 3


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("http://metadata.test/latest/", "public internet"),
        ("file:///etc/passwd", "an address of a photo is"),
        ("/a", "more than 3 redirects"),
        ("", "more than 3 redirects"),
    ],
)
def test_redirect_to_elsewhere_is_refused(site: Site, target: str, reason: str) -> None:
    site.answers["/a"] = page(b"", status=307, Location=target)
    with pytest.raises(NotFetched, match=reason):
        site.fetcher().fetch(site.url("/a"))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (page(b"<html>", "text/html"), "of type 'text/html', not an image"),
        (page(b"x", None), "of type 'unknown'"),
        (page(b"gone", status=404), "status 404"),
        (page(b"x" * 10_001), "more than the 10,000 bytes"),
    ],
)
def test_what_is_no_photo_is_refused(site: Site, answer: Answer, reason: str) -> None:
    site.answers["/"] = answer
    with pytest.raises(NotFetched, match=reason):
        site.fetcher().fetch(site.url())


def drip(handler: BaseHTTPRequestHandler, header: bool) -> None:
    """Send a slow byte of headers or body for a minute."""
    handler.send_response(200)
    handler.send_header("Content-Type", "image/png")
    if not header:
        handler.end_headers()
    handler.flush_headers()
    for _ in range(600):
        try:
            handler.wfile.write(b"x")
        except OSError:
            return
        time.sleep(0.1)


@pytest.mark.parametrize("header", [True, False])
def test_slow_server_is_given_up(site: Site, header: bool) -> None:
    site.answers["/"] = lambda handler: drip(handler, header)
    start = time.monotonic()
    with pytest.raises(NotFetched, match="no photo came within 1 seconds"):
        site.fetcher(seconds=1.0).fetch(site.url())
    assert time.monotonic() - start < 30, "it sends for a minute"


def test_unknown_name_is_told() -> None:
    with pytest.raises(NotFetched, match="nothing came"):
        Fetcher().fetch("http://no-such-name.invalid/")


@pytest.fixture
def fetching(app: FastAPI, site: Site) -> FastAPI:
    app.state.fetch = site.fetcher(seconds=2.0).fetch
    return app


def test_items_are_stored_by_the_addresses_of_their_photos(
    fetching: FastAPI, client: TestClient, site: Site, png: Png
) -> None:
    site.answers["/red"] = page(png("red"))
    site.answers["/text"] = page(b"text", "text/plain")
    site.answers["/false"] = page(b"text")
    put = client.put("/items/a", json={"image_url": site.url("/red"), "metadata": {"n": 1}})
    assert (put.status_code, put.json()["width"]) == (201, 40)
    wrong = client.put("/items/b", json={"image_url": site.url("/text")})
    assert (wrong.status_code, wrong.json()["type"]) == (422, "urn:tessera:problem:not-fetched")
    assert client.put("/items/b", json={"image_url": site.url("/false")}).status_code == 415
    both = {"files": {"image": png("red")}, "data": {"image_url": site.url("/red")}}
    assert "not both" in client.put("/items/b", **both).json()["detail"]
    lines = [
        {"id": "c", "image_url": site.url("/red")},
        {"id": "d", "image_url": site.url("/", "metadata.test")},
        {"id": "e", "image_url": site.url("/text")},
    ]
    answer = client.post(
        "/items",
        content="\n".join(map(json.dumps, lines)),
        headers={"content-type": "application/x-ndjson"},
    )
    statuses = [json.loads(line) for line in answer.text.splitlines()]
    assert [one["status"] for one in statuses] == ["stored", "refused", "refused"]
    hits = client.post("/search/image", json={"text": "red"}).json()["hits"]
    assert [hit["id"] for hit in hits] == ["a", "c"]


def test_addresses_beyond_ascii_are_fetched_and_odd_ones_refuse_their_line_alone(
    fetching: FastAPI, client: TestClient, site: Site, png: Png
) -> None:
    site.names["xn--bcher-kva.test"] = "127.0.0.1"
    site.answers["/%C3%A4%20b.png"] = page(png("red"))
    url = site.url("/ä b.png", "bücher.test")
    assert client.put("/items/a", json={"image_url": url}).status_code == 201
    assert client.put("/items/a", json={"images": [url, url]}).status_code == 200
    assert client.patch("/items/a", json={"images": [0, url]}).status_code == 200
    odd = ["http://a.test:99999/", "http://[fe80::1%25eth0]/", "http://a\0b/", "http:///a"]
    for one in odd:
        refused = client.put("/items/b", json={"image_url": one})
        assert refused.status_code == 422
        assert refused.headers["content-type"] == "application/problem+json"
        assert client.patch("/items/a", json={"images": [one]}).status_code == 422
    lines = [{"id": f"{number}", "image_url": url} for number in range(30)]
    lines += [{"id": f"odd {number}", "image_url": one} for number, one in enumerate(odd)]
    lines += [{"id": f"last {number}", "image_url": url} for number in range(30)]
    answer = client.post(
        "/items",
        content="\n".join(map(json.dumps, lines)),
        headers={"content-type": "application/x-ndjson"},
    )
    statuses = [json.loads(line) for line in answer.text.splitlines()]
    assert [one["id"] for one in statuses] == [line["id"] for line in lines]
    refused_lines = [one["id"] for one in statuses if one["status"] == "refused"]
    assert refused_lines == [f"odd {number}" for number in range(len(odd))]


def test_a_bug_in_fetching_refuses_its_line_alone(
    app: FastAPI, client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(url: str) -> bytes:
        raise TypeError("a bug")

    app.state.fetch = broken
    lines = b'{"id": "a", "image_url": "http://a.test/"}\n{"id": "b", "sentences": ["red"]}'
    headers = {"content-type": "application/x-ndjson"}
    answer = client.post("/items", content=lines, headers=headers)
    first, second = (json.loads(line) for line in answer.text.splitlines())
    assert (first["status"], second["status"]) == ("refused", "stored")
    assert "TypeError" in first["reason"]
    assert "a bug" in caplog.text


def test_nothing_is_fetched_unless_it_is_switched_on(
    client: TestClient, engine: Engine, settings: Settings
) -> None:
    refused = client.put("/items/a", json={"image_url": "http://8.8.8.8/"})
    assert (refused.status_code, "TESSERA_FETCH=true" in refused.json()["detail"]) == (422, True)
    on = create_app(settings.model_copy(update={"fetch": True}), engine)
    with TestClient(on) as open_client:
        answer = open_client.put("/items/a", json={"image_url": "http://127.0.0.1/"})
    assert (answer.status_code, "public internet" in answer.json()["detail"]) == (422, True)
