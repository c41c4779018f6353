"""A browser, a site full of photos, and steps on its page."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image
from starlette.testclient import TestClient

from app import demos
from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.http.server import OPTIONS
from app.main import create_app
from app.settings import Settings
from app.telemetry.logs import POOL, ROOMS
from tests import shops
from tests.processes.listening import listen
from tests.stored_items import put

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
PATIENCE = 60_000  # milliseconds: machines are shared
SAMPLE = {source.id: source for source in demos.PHOTOS.sources()}
CAT = SAMPLE["chelsea"].photos[0]
MARKUP = "a cat <img src=x onerror=alert(1)> on a log"

# Phrases as /search/image gives them: one that a part of the photo answers, and one without a box.
CUP = {
    "text": "a cup",
    "span": [0, 5],
    "similarity": 4.0,
    "whole": 3.0,
    "added": 1.0,
    "box": [0.25, 0.25, 0.75, 0.75],
    "negated": False,
}
NIGHT = CUP | {
    "text": "at night",
    "span": [6, 14],
    "similarity": 2.0,
    "whole": 2.0,
    "added": 0.0,
    "box": None,
}


def _level(logger: str) -> int:
    return logging.getLogger(logger).level


@pytest.fixture(autouse=True)
def same_logs() -> Iterator[None]:
    """Take back log handlers and levels of commands run inside tests."""
    root = logging.getLogger()
    before, levels = list(root.handlers), {name: _level(name) for name in ("", *ROOMS, POOL)}
    yield
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    for handler in set(root.handlers).difference(before):
        root.removeHandler(handler)


def jpeg(path: Path, shift: int = 0) -> bytes:
    file = BytesIO()
    image = Image.open(path).convert("RGB")
    image.crop((shift, 0, image.width, image.height)).save(file, "JPEG")
    return file.getvalue()


def filled(engine: Engine) -> Engine:
    """Sample photos by default, thirty items in `many`, an empty collection.

    One of the thirty has two photos.
    """
    names = ["astronaut", "chelsea", "coffee", "rocket", "bridge"]
    sentences = {"chelsea": ("a ginger cat", MARKUP)}
    drafts = [
        Draft(name, SAMPLE[name].metadata, sentences=sentences.get(name, ())).with_photo(
            jpeg(SAMPLE[name].photos[0])
        )
        for name in names
    ]
    put(engine, "default", drafts)
    many = [
        Draft(f"cat {shift}", {"kind": "cat"}).with_photo(jpeg(CAT, shift)) for shift in range(30)
    ]
    many[0] = many[0].with_photo(jpeg(CAT, 31))
    put(engine, "many", many)
    put(engine, "empty", drafts[:1])
    engine.catalog.delete(engine.open("empty"), "astronaut")
    return engine


@pytest.fixture
def shop(engine: Engine, settings: Settings, png: Callable[..., bytes]) -> Iterator[TestClient]:
    """A service with the products of tests.shops."""
    app = create_app(settings, shops.filled(engine, settings.data, png))
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def post(shop: TestClient) -> shops.Post:
    """Asks the shop for products, and gives the answer."""

    def ask(**sent: Any) -> dict[str, Any]:
        answer = shop.post("/search/products", json=sent)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    return ask


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, small_matcher: Path) -> Iterator[str]:
    """One service for all tests, since none of them changes it."""
    settings = Settings(
        data=tmp_path_factory.mktemp("site"),
        matcher=small_matcher,
        captioner=None,
        region_captioner=None,
        grounder=None,
    )
    engine = filled(Engine.load(settings))
    app = create_app(settings, engine)
    with listen(app, **OPTIONS) as address:
        yield address
    engine.catalog.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[SimpleNamespace]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="browser tests need Playwright")
    if not CHROMIUM.exists():
        pytest.skip(f"no browser at {CHROMIUM}")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield opened
        opened.close()


@pytest.fixture
def page(browser, site) -> Iterator[SimpleNamespace]:
    with watched_page(browser, site) as opened:
        yield opened


@pytest.fixture
def watched() -> Callable[..., AbstractContextManager[SimpleNamespace]]:
    """Opens a watched page, see `watched_page`, of browser and site."""
    return watched_page


@pytest.fixture
def asked(browser, address, png) -> Iterator[SimpleNamespace]:
    """A page of a service with all models, and a photo's answer."""
    with watched_page(browser, address) as opened:
        opened.goto("/")
        photo = {"name": "red.png", "mimeType": "image/png", "buffer": png("red")}
        opened.set_input_files("#file", photo)
        yield opened


@contextmanager
def watched_page(browser, site, **form) -> Iterator[SimpleNamespace]:
    """A page without foreign requests and errors; `form` describes the browser."""
    form = {"viewport": {"width": 1100, "height": 800}} | form
    context = browser.new_context(base_url=site, **form)
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    asked: list[str] = []
    wrong: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
    yield opened
    # An answer that a test edits may still be on its way.
    opened.unroute_all(behavior="ignoreErrors")
    context.close()
    assert asked
    assert [url for url in asked if not url.startswith((site, f"blob:{site}"))] == []
    # A refused request is logged by the browser itself; the page's own mistakes are not excused.
    assert [line for line in wrong if "Failed to load resource" not in line] == []


@pytest.fixture
def receiver() -> Iterator[Any]:
    """A receiver of webhooks."""
    from tests.outside.receivers import receive

    with receive() as listening:
        yield listening


@pytest.fixture
def markup() -> str:
    """A sentence of the site with markup."""
    return MARKUP


@pytest.fixture
def search() -> Callable[..., None]:
    """Types a text into the search box and waits for the hits."""

    def do(page: Any, text: str) -> None:
        page.goto("/")
        page.locator("#words").fill(text)
        page.keyboard.press("Enter")
        page.wait_for_selector(".hit .phrase")

    return do


@pytest.fixture
def ask_with_photo() -> Callable[..., None]:
    """Chooses the cat's photo and waits for the sentences."""

    def do(page: Any) -> None:
        page.goto("/")
        page.set_input_files("#file", CAT)
        page.wait_for_selector(".sentence")

    return do


@pytest.fixture
def changed() -> Callable[..., None]:
    """Edits the service's answers at a path by a function."""

    def do(page: Any, path: str, change: Callable[[Any], object]) -> None:
        def answer(route: Any) -> None:
            response = route.fetch()
            body = response.json()
            change(body)
            route.fulfill(response=response, json=body)

        page.route(f"**/{path}", answer)

    return do


@pytest.fixture
def with_probabilities(changed) -> Callable[..., None]:
    """Gives the hits of an answer these probabilities, in order."""

    def do(page: Any, *probabilities: float, weak_below: float) -> None:
        def change(body: Any) -> None:
            body["weak_below"] = weak_below
            for hit, probability in zip(body["hits"], probabilities, strict=True):
                hit["probability"] = probability

        changed(page, "search/image", change)

    return do


@pytest.fixture
def with_phrases(changed) -> Callable[..., None]:
    """Gives every hit these phrases, completed from "a cup"."""

    def do(page: Any, *phrases: dict[str, Any]) -> None:
        def change(body: Any) -> None:
            for hit in body["hits"]:
                hit["phrases"] = [CUP | phrase for phrase in phrases]

        changed(page, "search/image", change)

    return do


@pytest.fixture
def cup_at_night(page, with_phrases) -> None:
    """Hits for "a cup" in the middle and "at night" everywhere."""
    with_phrases(page, CUP, NIGHT)
