"""Photos are added on the page, several at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
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


def test_those_that_are_refused_are_named_and_tried_again_alone(
    adding: Any, png: Callable[..., bytes], engine: Engine
) -> None:
    sent: list[str] = []
    adding.page.on("request", lambda request: sent.append(f"{request.method} {request.url}"))
    adding.page.route("**/items/lime", lambda route: route.fulfill(status=500, json={}))
    photos = [("red.png", png("red")), ("text.png", b"a text"), ("lime.png", png("lime"))]
    adding.get_by_label("Photos").set_input_files(chosen(*photos))
    adding.get_by_role("button", name="Add").click()
    adding.get_by_text("Not added: 2 of 3.").wait_for()
    refused = adding.locator(".failed").first
    assert "text.png" in refused.inner_text()
    assert "not an image that can be read" in refused.inner_text()
    adding.page.wait_for_selector("button[title=red] img")
    adding.page.unroute("**/items/lime")
    del sent[:]
    again = adding.get_by_role("button", name="Try again")
    assert again.evaluate("button => button === document.activeElement")
    again.click()
    adding.page.get_by_role("dialog", name="lime").wait_for()
    assert [one.rsplit("/", 1)[-1] for one in sent if one.startswith("PUT")] == ["lime"]


def test_a_file_that_can_never_be_added_is_not_tried_again(
    adding: Any, png: Callable[..., bytes]
) -> None:
    photos = adding.get_by_label("Photos")
    photos.set_input_files(chosen(("text.png", b"a text")))
    adding.get_by_role("button", name="Add").click()
    adding.get_by_text("Not added: 1 of 1.").wait_for()
    assert adding.get_by_role("button", name="Try again").count() == 0
    assert photos.evaluate("input => input === document.activeElement && input.files.length === 0")
    photos.set_input_files(chosen(("red.png", png("red"))))
    adding.get_by_role("button", name="Add").click()
    adding.page.get_by_role("dialog", name="red").wait_for()


def test_a_refused_file_of_a_search_is_not_tried_again(adding: Any) -> None:
    adding.get_by_role("button", name="Cancel").click()
    adding.page.set_input_files("#file", chosen(("text.png", b"a text")))
    alert = adding.page.get_by_role("alert")
    alert.get_by_text("not an image that can be read").wait_for()
    assert alert.get_by_role("button").all_inner_texts() == ["Back to the start"]


def test_photos_that_cameras_called_the_same_are_all_stored_and_none_twice(
    adding: Any, png: Callable[..., bytes], engine: Engine, tmp_path: Path
) -> None:
    photo = tmp_path / "blue.png"
    photo.write_bytes(png("navy"))
    for _ in range(2):
        adding.get_by_label("Photos").set_input_files(photo)
        adding.get_by_role("button", name="Add").click()
        viewer = adding.page.get_by_role("dialog", name="blue-2")
        viewer.wait_for()
        adding.page.keyboard.press("Escape")
        adding.page.get_by_role("button", name="Add", exact=True).click()
        adding.wait_for()
    home = engine.open("default")
    stored = {item.id: item.metadata for item in engine.catalog.list_items(home)}
    assert stored == {"blue": {}, "blue-2": stored["blue-2"]}
    assert stored["blue-2"]["file"] == "blue.png"


def test_photos_that_are_here_already_are_not_called_added(
    adding: Any, png: Callable[..., bytes], tmp_path: Path
) -> None:
    files = [tmp_path / f"{colour}.png" for colour in ("red", "lime", "white")]
    for file in files:
        file.write_bytes(png(file.stem))
    for chosen_files, said in (
        (files[:2], "Added: 2 photos."),
        (files, "Added: white. Here already: 2 photos."),
    ):
        adding.get_by_label("Photos").set_input_files(chosen_files)
        adding.get_by_role("button", name="Add").click()
        adding.page.wait_for_selector(f".remark:has-text('{said}')")
        adding.page.get_by_role("button", name="Add", exact=True).click()
        adding.wait_for()


def test_each_file_has_its_state_and_the_end_of_the_dialog_ends_it(
    adding: Any, png: Callable[..., bytes], engine: Engine
) -> None:
    waiting: list[Any] = []
    adding.page.route("**/items/lime", lambda route: waiting.append(route))
    photos = [(f"{colour}.png", png(colour)) for colour in ("red", "lime", "white")]
    adding.get_by_label("Photos").set_input_files(chosen(*photos))
    adding.get_by_role("button", name="Add").click()
    adding.page.wait_for_selector(".stored:has-text('red.png')")
    rows = adding.get_by_role("list", name="Files").locator("li").all_inner_texts()
    assert [row.split()[-1] for row in rows[::2]] == ["stored", "waiting"]
    assert adding.get_by_role("progressbar", name="Sending lime.png").is_visible()
    adding.get_by_role("button", name="Cancel").click()
    waiting[0].continue_()
    said = "Added: 2 photos. 1 photo was not sent: white.png."
    adding.page.wait_for_selector(f".remark:has-text('{said}')")
    home = engine.open("default")
    assert {item.id for item in engine.catalog.list_items(home)} == {"blue", "red", "lime"}


def test_refusals_are_named_where_the_dialog_was_closed(
    adding: Any, png: Callable[..., bytes]
) -> None:
    waiting: list[Any] = []
    adding.page.route("**/items/text", lambda route: waiting.append(route))
    photos = [("text.png", b"a text"), ("red.png", png("red")), ("lime.png", png("lime"))]
    adding.get_by_label("Photos").set_input_files(chosen(*photos))
    adding.get_by_role("button", name="Add").click()
    adding.get_by_text("sending").wait_for()
    adding.page.keyboard.press("Escape")
    waiting[0].continue_()
    said = "1 photo was refused: text.png. 2 photos were not sent: red.png and lime.png."
    adding.page.wait_for_selector(f".remark:has-text('{said}')")


def test_a_broken_line_is_tried_again(
    adding: Any, png: Callable[..., bytes], engine: Engine
) -> None:
    tries: list[Any] = []

    def break_once(route: Any) -> None:
        tries.append(route)
        route.abort() if len(tries) == 1 else route.continue_()

    adding.page.route("**/items/lime", break_once)
    adding.get_by_label("Photos").set_input_files(chosen(("lime.png", png("lime"))))
    adding.get_by_role("button", name="Add").click()
    adding.page.get_by_role("dialog", name="lime").wait_for()
    assert len(tries) == 2


def test_several_dropped_photos_are_added(
    adding: Any, png: Callable[..., bytes], engine: Engine
) -> None:
    adding.get_by_role("button", name="Cancel").click()
    adding.page.evaluate(
        """async () => {
            const picture = await (await fetch("items/blue/image")).blob();
            const dataTransfer = new DataTransfer();
            const add = (name) => dataTransfer.items.add(new File([picture], name));
            ["a.jpg", "b.jpg"].forEach(add);
            document.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
        }"""
    )
    adding.get_by_role("button", name="Add").click()
    adding.page.wait_for_selector(".remark:has-text('Added: 2 photos.')")
    home = engine.open("default")
    assert {item.id for item in engine.catalog.list_items(home)} == {"blue", "a", "b"}


def test_dropped_files_that_are_no_photos_are_named_and_left_out(
    adding: Any, engine: Engine
) -> None:
    adding.get_by_role("button", name="Cancel").click()
    drop = """async (names) => {
        const picture = await (await fetch("items/blue/image")).blob();
        const dataTransfer = new DataTransfer();
        for (const name of names) {
            const type = name.endsWith(".jpg") ? "image/jpeg" : "text/plain";
            dataTransfer.items.add(new File([picture], name, { type }));
        }
        document.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
    }"""
    adding.page.evaluate(drop, ["notes.txt", "a.jpg", "list.txt", "b.jpg"])
    adding.get_by_text("Left out, as they are no photos: notes.txt and list.txt.").wait_for()
    adding.get_by_role("button", name="Add").click()
    adding.page.wait_for_selector(".remark:has-text('Added: 2 photos.')")
    home = engine.open("default")
    assert {item.id for item in engine.catalog.list_items(home)} == {"blue", "a", "b"}
    adding.page.evaluate(drop, ["notes.txt", "list.txt"])
    adding.page.locator(".done[role=alert]").get_by_text("That is no photo.").wait_for()
    assert adding.is_hidden()


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
