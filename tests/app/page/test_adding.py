"""Photos are added on the page, several at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.engine.drafts import Draft
from app.engine.engine import Engine
from tests.stored_items import put


@pytest.fixture
def adding(
    browser: Any, address: str, watched: Any, engine: Engine, png: Callable[..., bytes]
) -> Iterator[Any]:
    """The page's dialog over a collection with a photo `blue`."""
    put(engine, "default", [Draft("blue").with_photo(png("blue"))])
    with watched(browser, address) as page:
        page.goto("/")
        page.wait_for_selector("button[title=blue] img")
        page.get_by_role("button", name="Add").click()
        yield page.get_by_role("dialog", name="Add photos")


def chosen(*photos: tuple[str, bytes]) -> list[dict[str, Any]]:
    return [{"name": name, "mimeType": "image/png", "buffer": data} for name, data in photos]


def test_each_of_several_photos_becomes_an_item(adding: Any, png: Callable[..., bytes]) -> None:
    colours = ("red", "lime", "white")
    photos = chosen(*((f"{colour.title()} wall.png", png(colour)) for colour in colours))
    adding.get_by_label("Photos").set_input_files(photos)
    assert adding.get_by_label("Title").is_hidden()
    adding.get_by_role("button", name="Add").click()
    adding.page.wait_for_selector(".remark:has-text('Added: 3 photos.')")
    assert adding.is_hidden()
    for colour in colours:
        assert adding.page.locator(f"button[title={colour}-wall] img").is_visible()


def test_those_that_are_refused_are_named_and_the_others_are_stored(
    adding: Any, png: Callable[..., bytes]
) -> None:
    photos = chosen(("red.png", png("red")), ("blue.png", png("blue")), ("text.png", b"a text"))
    adding.get_by_label("Photos").set_input_files(photos)
    adding.get_by_role("button", name="Add").click()
    adding.page.wait_for_selector("#add .refused:has-text('text.png: ')")
    refused = adding.locator(".refused").inner_text()
    assert "blue.png: " in refused
    assert "red.png" not in refused
    adding.page.wait_for_selector("button[title=red] img")
    adding.get_by_role("button", name="Add").click()
    adding.page.wait_for_selector("#add .refused:has-text('Give a photo')")


def test_a_bar_shows_how_many_are_stored_and_the_end_of_the_dialog_ends_it(
    adding: Any, png: Callable[..., bytes], engine: Engine
) -> None:
    waiting: list[Any] = []
    adding.page.route("**/items/lime", lambda route: waiting.append(route))
    photos = [(f"{colour}.png", png(colour)) for colour in ("red", "lime", "white")]
    adding.get_by_label("Photos").set_input_files(chosen(*photos))
    adding.get_by_role("button", name="Add").click()
    bar = adding.get_by_role("progressbar", name="Adding")
    adding.page.wait_for_selector("#add progress[value='1']")
    assert bar.get_attribute("max") == "3"
    adding.get_by_role("button", name="Cancel").click()
    waiting[0].continue_()
    adding.page.wait_for_selector(".remark:has-text('Added: 2 photos.')")
    home = engine.open("default")
    assert {item.id for item in engine.catalog.list_items(home)} == {"blue", "red", "lime"}


def test_several_photos_of_a_product_belong_to_it(
    browser: Any, address: str, watched: Any, engine: Engine, png: Callable[..., bytes]
) -> None:
    lamps = [Draft(f"{number}", {"title": f"Lamp {number}", "brand": "Acme"}) for number in (1, 2)]
    put(engine, "default", [lamp.with_photo(png("white")) for lamp in lamps])
    with watched(browser, address) as page:
        page.goto("/")
        page.wait_for_selector(".product")
        page.get_by_role("button", name="Add").click()
        adding = page.get_by_role("dialog", name="Add a product")
        adding.get_by_label("Title").fill("Lamp of glass")
        photos = chosen(("a.png", png("yellow")), ("b.png", png("orange")))
        adding.get_by_label("Photos").set_input_files(photos)
        adding.get_by_role("button", name="Add").click()
        viewer = page.get_by_role("dialog", name="Lamp of glass")
        viewer.wait_for()
        assert viewer.locator(".small-photos button").count() == 2
