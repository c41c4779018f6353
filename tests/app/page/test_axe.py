"""The page's states break no rule of axe-core.

Wide and on a phone, light and dark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.imports.progress import FOLDER
from app.main import create_app
from index.search.requests import Request
from tests.stored_items import put

pytestmark = pytest.mark.timeout(300)

# Without transitions: axe-core would measure the contrast of a label that is half faded.
STILL = {"reduced_motion": "reduce"}
FORMS: dict[str, dict[str, Any]] = {
    "wide and light": STILL,
    "a dark phone": STILL | {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"},
}
PRODUCTS = {
    "AB-1": ("red", {"title": "Red dress", "brand": "Nike", "price": 10, "group": "g"}),
    "AB-2": ("blue", {"title": "Blue dress", "brand": "Nike", "price": 20, "group": "g"}),
    "AB-3": ("lime", {"title": "Oak chair", "brand": "Ikea", "price": 30.5}),
    "AB-4": ("red", {"title": "Oak bookcase", "brand": "Ikea", "price": 55}),
}


@pytest.fixture
def app(settings, describing):
    return create_app(settings, describing)


@pytest.fixture
def engine(engine: Engine, png: Callable[..., bytes]) -> Engine:
    """Photos with sentences, products, and a running import."""
    photos = [Draft(name, sentences=(f"a {name} wall",)) for name in ("red", "blue")]
    put(engine, "default", [photo.with_photo(png(photo.id, "white")) for photo in photos])
    products = PRODUCTS.items()
    put(
        engine, "shop", [Draft(name, of).with_photo(png(colour)) for name, (colour, of) in products]
    )
    put(engine, "dated", [dated(number, png) for number in range(50)])
    empty = engine.open("empty", create=True)
    (engine.folder / FOLDER).mkdir()
    note = {"collection": empty.token, "left": 3}
    (engine.folder / FOLDER / "a.json").write_text(json.dumps(note))
    # The first searches of a process compile kernels: longer than a page waits on a busy machine.
    for per_photo in (None, 1):
        request = Request("images", engine.models.query("a wall"), per_photo=per_photo)
        engine.search("default", request)
    return engine


def dated(number: int, png: Callable[..., bytes]) -> Draft:
    """A photo of a day of an earlier year."""
    taken = {
        "taken": f"{2019 - number // 12}-{number % 12 + 1:02}-20T12:00:00",
        "taken_from": "file",
    }
    known = {"city": "Lisbon", "camera": "Apple iPhone 12", "keywords": ["holiday"], "width": 40}
    return Draft(f"p{number}", taken | known).with_photo(png("red", "blue", size=(40 + number, 30)))


@pytest.fixture(params=FORMS)
def page(request: pytest.FixtureRequest, browser: Any, address: str, watched: Any) -> Iterator[Any]:
    with watched(browser, address, **FORMS[request.param]) as opened:
        yield opened


def violations(page: Any) -> list[str]:
    """axe-core's findings on the page: rules and elements."""
    axe = Axe()
    assert page.evaluate("document.getAnimations().length") == 0
    found = axe.run(page).response["violations"]
    return [f"{rule['id']}: {node['html']}" for rule in found for node in rule["nodes"]]


def settled(page: Any) -> None:
    page.wait_for_selector("#results:not([aria-busy]) :is(.hit, .message, li)")


def test_a_photo_without_a_text_in_its_place_would_be_found(
    browser: Any, address: str, watched: Any
) -> None:
    with watched(browser, address, **STILL) as page:
        page.goto("/")
        settled(page)
        page.evaluate("document.getElementById('results').append(document.createElement('img'))")
        assert violations(page) == ["image-alt: <img>"]


def test_photos_break_no_rule(page: Any, png: Callable[..., bytes]) -> None:
    page.goto("/")
    settled(page)
    assert violations(page) == []
    page.locator(".gallery button").first.click()
    page.get_by_role("dialog").wait_for()
    assert violations(page) == []
    page.goto("/?q=red+wall")
    page.wait_for_selector(".phrase")
    settled(page)
    assert violations(page) == []
    page.goto("/?q=red+wall&parts=1")
    page.wait_for_selector(".stage.crop")
    settled(page)
    assert violations(page) == []
    page.goto("/?q=a+zebra")
    settled(page)
    assert violations(page) == []


def test_a_timeline_breaks_no_rule(page: Any) -> None:
    page.clock.set_fixed_time("2020-06-20T12:00:00")
    page.goto("/?collection=dated")
    page.wait_for_selector(".memories img")
    page.wait_for_selector("#rail:visible")
    assert violations(page) == []
    page.get_by_role("button", name="Filters").click()
    page.wait_for_selector("#facets fieldset")
    page.get_by_role("button", name="Select", exact=True).click()
    page.locator(".wall .stage").first.click()
    assert violations(page) == []
    page.get_by_role("button", name="Add tag").click()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Delete").click()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.locator(".wall .stage").nth(1).click()
    page.get_by_role("dialog").wait_for()
    assert violations(page) == []


def test_captions_break_no_rule(page: Any, engine: Engine, png: Callable[..., bytes]) -> None:
    page.goto("/")
    photo = {"name": "two.png", "mimeType": "image/png", "buffer": png("red", "blue")}
    page.set_input_files("#file", photo)
    page.wait_for_selector(".said")
    page.wait_for_selector(".sentence")
    assert violations(page) == []
    page.locator(".said").first.click()
    page.get_by_role("button", name="Describe regions").click()
    page.wait_for_selector(".regions .word")
    assert violations(page) == []


def test_captions_without_regions_break_no_rule(
    page: Any, describing: Engine, png: Callable[..., bytes]
) -> None:
    describing.models.checkpoints["region_captioner"] = None
    page.goto("/")
    photo = {"name": "two.png", "mimeType": "image/png", "buffer": png("red", "blue")}
    page.set_input_files("#file", photo)
    page.wait_for_selector(".said")
    assert violations(page) == []


def test_products_break_no_rule(page: Any) -> None:
    page.goto("/?collection=shop")
    page.wait_for_selector(".product")
    fold = page.get_by_role("button", name="Filters")
    if fold.is_visible():
        fold.click()
    assert violations(page) == []
    page.get_by_role("checkbox", name="Ikea").check()
    page.wait_for_selector(".chip:has-text('Brand: Ikea')")
    settled(page)
    assert violations(page) == []
    page.goto("/?collection=shop&q=red+dres+-oak")
    page.wait_for_selector(".product .why")
    assert violations(page) == []
    page.locator(".product .title button").first.click()
    page.get_by_role("dialog").wait_for()
    assert violations(page) == []
    page.get_by_role("dialog").get_by_role("button", name="Search in a part").click()
    assert violations(page) == []


def test_what_is_typed_and_added_breaks_no_rule(page: Any) -> None:
    page.goto("/?collection=shop")
    page.wait_for_selector(".product")
    page.locator("#words").press_sequentially("oa")
    page.wait_for_selector("[role=option]")
    page.keyboard.press("ArrowDown")
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Add").click()
    page.get_by_role("dialog", name="Add a product").wait_for()
    assert violations(page) == []


def test_what_is_indexed_and_what_fails_breaks_no_rule(page: Any) -> None:
    page.goto("/?collection=empty")
    page.wait_for_selector("#progress:has-text('0 of 3')")
    page.wait_for_selector("h2:has-text('Being indexed')")
    assert violations(page) == []
    page.goto("/?collection=nowhere&q=a+wall")
    page.get_by_role("alert").wait_for()
    assert violations(page) == []
