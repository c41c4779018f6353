"""The page of a shop: fields, facets, chips, suggestions, items."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.engine.inference import Models
from models.scores.calibration import Calibration
from tests.stored_items import put

SHOP: dict[str, tuple[str, dict[str, Any]]] = {
    "AB-1": ("red", {"title": "Summer dress", "brand": "Nike", "price": 10, "group": "g"}),
    "AB-2": ("blue", {"title": "Summer dress", "brand": "Nike", "price": 20, "group": "g"}),
    "AB-3": ("lime", {"title": "Chair of oak", "brand": "Ikea", "price": 30.5}),
    "AB-4": ("red", {"title": "Oak bookcase", "brand": "Ikea", "price": 55}),
    "AB-5": ("white", {"title": "Sofa of leather", "brand": "Ikea", "price": 80}),
    "AB-6": ("black", {"title": "Sofa", "brand": "Acme", "price": 99}),
    **{
        f"C-{number}": ("green", {"title": f"Curtain {number}", "brand": "Acme", "price": number})
        for number in range(100, 130)
    },
}
CALIBRATION = Calibration(
    torch.zeros(1, 3), torch.zeros(1, 3), torch.tensor([[2.0, 0, 0, -4.0]] * 3), 0.5
)


@pytest.fixture
def engine(engine: Engine, png: Callable[..., bytes]) -> Engine:
    """Two dresses of a group, furniture, curtains; a matcher of colours."""
    checkpoints = {name: one for name, one in engine.models.checkpoints.items() if one}
    checkpoints["matcher"] = replace(checkpoints["matcher"], calibration=CALIBRATION)
    synonyms = {"couch": ("sofa",)}
    calibrated = Engine(Models(**checkpoints), engine.catalog, engine.folder, "cpu", synonyms)
    drafts = [Draft(name, about).with_photo(png(colour)) for name, (colour, about) in SHOP.items()]
    put(calibrated, "shop", drafts)
    return calibrated


@pytest.fixture
def shop(browser: Any, address: str, watched: Any) -> Iterator[Any]:
    """The page without a named collection; `default` is empty."""
    with watched(browser, address) as page:
        page.goto("/")
        page.wait_for_selector(".product")
        yield page


def search(page: Any, text: str) -> None:
    page.locator("#words").fill(text)
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#asked:text-is({json.dumps(text)})", state="attached")
    page.wait_for_selector("#results:not([aria-busy]) .product, #results .message")


def titles(page: Any) -> list[str]:
    found: list[str] = page.locator(".product .title").all_inner_texts()
    return found


def until(page: Any, expression: str) -> None:
    """Wait for a condition outside the page's script policy."""
    for _ in range(100):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"not {expression}")


def settled(page: Any) -> None:
    page.wait_for_selector("#results:not([aria-busy])")


def weaken(answer: dict[str, Any]) -> None:
    """Make an answer one of weak photos alone."""
    answer["min_probability"] = 0
    answer["weak_below"] = 0.5
    for hit in answer["hits"]:
        hit["parts"] = [{"kind": "looks", "field": None, "word": None, "gave": 0.1}]


def test_the_page_opens_on_a_collection_that_has_something_and_shows_a_shop(shop):
    assert "collection=shop" in shop.url
    assert shop.get_by_placeholder("Search 36 products").is_visible()
    first = [line for line in shop.locator(".product").first.inner_text().split("\n") if line]
    assert first == ["Summer dress", "10", "Nike", "2 variants", "More like this"]
    assert shop.get_by_role("status").inner_text() == "24 of 35 products, 36 variants in all"
    assert shop.get_by_role("link", name="Reference of the API").get_attribute("href") == "docs"


def test_facets_filter_and_keep_the_counts_of_their_other_values(shop):
    shop.get_by_role("checkbox", name="Ikea").check()
    shop.wait_for_selector(".chip:has-text('Brand: Ikea')")
    settled(shop)
    assert titles(shop) == ["Chair of oak", "Oak bookcase", "Sofa of leather"]
    assert shop.locator("#facets label", has_text="Acme").inner_text().split("\n") == ["Acme", "31"]
    shop.get_by_role("checkbox", name="Nike").check()
    shop.wait_for_selector(".product:nth-child(4)")
    assert json.loads(shop.evaluate("new URLSearchParams(location.search).get('filter')")) == {
        "brand": ["Ikea", "Nike"]
    }
    shop.get_by_role("button", name="Take off: Brand: Ikea").click()
    shop.wait_for_selector(".product:only-child")
    shop.go_back()
    shop.wait_for_selector(".product:nth-child(4)")


def test_numbers_are_chosen_by_ranges_and_sorted(shop):
    shop.get_by_label("Price, from").fill("30")
    shop.get_by_label("Price, to").fill("80")
    shop.get_by_role("button", name="Apply Price").click()
    shop.wait_for_selector(".chip:has-text('Price: 30 – 80')")
    settled(shop)
    assert titles(shop) == ["Chair of oak", "Oak bookcase", "Sofa of leather"]
    shop.get_by_label("Sort by").select_option("Price: high to low")
    shop.wait_for_url("**sort=-price**")
    settled(shop)
    assert shop.locator(".price").all_inner_texts() == ["80", "55", "30.50"]


def test_what_was_understood_stands_in_chips_and_not_twice(shop):
    search(shop, "chiar")
    assert shop.locator(".chip").all_inner_texts() == ["“chiar” read as “chair”"]
    assert shop.locator(".remark").count() == 0
    search(shop, "couch")
    assert shop.locator(".chip").all_inner_texts() == ["couch, also sofa"]
    search(shop, "sofa -leather")
    assert titles(shop) == ["Sofa"]
    shop.get_by_role("button", name="Take off: without leather").click()
    shop.wait_for_selector(".product:nth-child(2)")
    assert shop.locator("#words").input_value() == "sofa"


def test_what_is_only_negated_is_left_out_and_taken_off_word_by_word(shop):
    search(shop, "no sofa or currtain")
    assert titles(shop) == ["Summer dress", "Chair of oak", "Oak bookcase"]
    read = "“currtain” read as “curtain”"
    assert shop.locator(".chip").all_inner_texts() == [read, "without sofa ×", "without currtain ×"]
    assert shop.locator(".remark").count() == 0
    shop.get_by_role("button", name="Take off: without sofa").click()
    shop.wait_for_selector(".product:nth-child(5)")
    assert shop.locator("#words").input_value() == "no currtain"
    shop.get_by_role("button", name="Take off: without currtain").click()
    shop.wait_for_selector(".product:nth-child(24)")
    assert shop.locator("#words").input_value() == ""


def test_a_product_says_why_it_was_found_and_numbers_wait_to_be_asked_for(shop):
    search(shop, "red dress")
    assert shop.locator(".product .why").first.inner_text() == "Matches in title, photo"
    shop.locator(".product .title button").first.click()
    viewer = shop.get_by_role("dialog", name="Summer dress")
    viewer.wait_for()
    reasons = viewer.locator(".reasons li")
    assert reasons.locator(".name").all_inner_texts() == ["Title: dress", "Photo: Likely"]
    number = reasons.first.locator(".number")
    assert number.evaluate("one => getComputedStyle(one).opacity") == "0"
    reasons.first.hover()
    assert number.evaluate("one => getComputedStyle(one).opacity") == "1"


def test_words_that_no_product_has_are_answered_by_photos_and_said_so(shop):
    search(shop, "lime")
    assert shop.get_by_text("Found by their photos alone").count() == 0
    assert titles(shop) == ["Chair of oak"]
    assert "By its photo" in shop.locator(".why").inner_text()
    search(shop, "zzzz")
    assert shop.get_by_role("heading", name="Nothing found").is_visible()
    shop.get_by_role("button", name="Show everything").click()
    shop.wait_for_selector(".product")


def test_variants_of_a_product_are_shown_one_by_one(shop):
    shop.get_by_role("button", name="2 variants").click()
    shop.wait_for_selector(".product:nth-child(2)")
    settled(shop)
    assert titles(shop) == ["Summer dress", "Summer dress"]


def test_typing_suggests_by_keyboard(shop):
    shop.locator("#words").press_sequentially("so")
    shop.wait_for_selector("[role=option]")
    assert shop.locator("[role=option] span:first-child").all_inner_texts() == [
        "sofa",
        "sofa of leather",
    ]
    shop.keyboard.press("ArrowDown")
    assert shop.locator("#words").get_attribute("aria-activedescendant") == "suggestion-0"
    shop.keyboard.press("Enter")
    shop.wait_for_url("**q=sofa**")
    assert shop.locator("#suggestions").is_hidden()
    shop.locator("#words").fill("dre")
    shop.wait_for_selector("[role=option]")
    shop.keyboard.press("Escape")
    assert shop.locator("#suggestions").is_hidden()
    assert shop.locator("#words").input_value() == "dre"


def test_a_part_of_a_photo_is_searched_with_and_survives_a_reload(shop, engine, png):
    put(
        engine,
        "shop",
        [Draft("D", {"title": "Flag", "brand": "Acme"}).with_photo(png("red", "lime"))],
    )
    shop.goto("/?collection=shop&item=D")
    shop.get_by_role("dialog").get_by_role("button", name="Search in a part").click()
    frame = shop.locator("#viewer .photo").bounding_box()
    shop.mouse.move(frame["x"] + 0.55 * frame["width"], frame["y"] + 5)
    shop.mouse.down()
    shop.mouse.move(frame["x"] + 0.95 * frame["width"], frame["y"] + frame["height"] - 5, steps=3)
    shop.mouse.up()
    shop.get_by_role("button", name="Search in this part").click()
    shop.wait_for_selector("#query .part")
    settled(shop)
    assert titles(shop)[0] == "Chair of oak"  # the one that is green
    shop.reload()
    shop.wait_for_selector("#query .part")
    settled(shop)
    assert titles(shop)[0] == "Chair of oak"
    shop.get_by_role("button", name="Search in a part").click()
    for key in ("ArrowLeft", "Shift+ArrowRight", "Enter"):
        shop.keyboard.press(key)
    shop.wait_for_url("**box=0.21%2C0.25%2C0.75%2C0.75**")


def test_an_upload_shows_what_is_like_it_and_survives_a_reload(shop, png):
    photo = {"name": "red.png", "mimeType": "image/png", "buffer": png("red")}
    shop.set_input_files("#file", photo)
    for _ in range(2):
        shop.wait_for_selector("#query canvas")
        shop.wait_for_selector(".product .likelihood")
        assert set(titles(shop)[:2]) == {"Summer dress", "Oak bookcase"}
        shop.reload()
    shop.goto("/?collection=shop&photo=another")
    alert = shop.get_by_role("alert")
    assert "does not remember" in alert.inner_text()
    assert alert.get_by_role("button").inner_text() == "Back to the start"


def test_page_two_survives_back_with_the_place_in_it(shop):
    shop.get_by_role("button", name="Show more").click()
    shop.wait_for_selector(".product:nth-child(35)")
    last = shop.locator(".product .title button").last
    last.scroll_into_view_if_needed()
    until(shop, "history.state?.scroll === window.scrollY")
    there = shop.evaluate("window.scrollY")
    assert there > 0
    shop.locator(".product .actions button").last.click()
    shop.wait_for_selector("#query .stage")
    shop.go_back()
    shop.wait_for_selector(".product:nth-child(35)")
    until(shop, f"Math.abs(window.scrollY - {there}) < 2")


def test_a_product_is_added_seen_and_deleted(shop, png):
    shop.get_by_role("button", name="Add").click()
    adding = shop.get_by_role("dialog", name="Add a product")
    adding.get_by_label("Title").fill("Lamp of glass")
    adding.get_by_label("Price").fill("12.5")
    photo = {"name": "lamp.png", "mimeType": "image/png", "buffer": png("yellow")}
    adding.get_by_label("Photos").set_input_files(photo)
    adding.get_by_role("button", name="Add").click()
    viewer = shop.get_by_role("dialog", name="Lamp of glass")
    viewer.wait_for()
    assert viewer.locator(".price").inner_text() == "12.50"
    assert "lamp-of-glass" in viewer.locator("dl").inner_text()
    viewer.get_by_role("button", name="Delete").click()
    viewer.get_by_role("button", name="Keep").click()
    viewer.get_by_role("button", name="Delete").click()
    viewer.get_by_role("button", name="Delete for good").click()
    shop.wait_for_selector(".remark:has-text('Deleted: Lamp of glass.')")
    assert shop.locator("#viewer").is_hidden()
    search(shop, "lamp")
    assert shop.get_by_role("heading", name="Nothing found").is_visible()


def test_an_item_is_not_replaced_by_one_that_is_added(shop):
    shop.get_by_role("button", name="Add").click()
    adding = shop.get_by_role("dialog", name="Add a product")
    adding.get_by_label("Title").fill("Another")
    adding.get_by_label("Description").fill("of the same id")
    adding.get_by_label("Id").fill("AB-1")
    adding.get_by_role("button", name="Add").click()
    shop.wait_for_selector("#add .refused:has-text('AB-1')")
    assert adding.is_visible()


def test_back_closes_the_item_that_is_open(shop):
    shop.locator(".product .title button").first.click()
    shop.get_by_role("dialog").wait_for()
    assert "item=AB-1" in shop.url
    shop.go_back()
    shop.wait_for_selector("#viewer", state="hidden")
    shop.go_forward()
    shop.get_by_role("dialog").wait_for()
    shop.keyboard.press("Escape")
    shop.wait_for_selector("#viewer", state="hidden")
    until(shop, "!location.search.includes('item=')")
    assert shop.locator(".product").count() == 24


def test_on_a_phone_the_sort_menu_stays_where_it_is_while_filters_open(shop):
    shop.set_viewport_size({"width": 390, "height": 800})
    order = shop.locator("#sort").bounding_box()
    fold = shop.get_by_role("button", name="Filters")
    fold.click()
    shop.get_by_label("Ikea").wait_for()
    assert shop.locator("#sort").bounding_box() == order
    assert shop.locator("#facets").bounding_box()["y"] >= order["y"] + order["height"]
    shop.get_by_label("Sort by").select_option("Price: high to low")
    shop.wait_for_url("**sort=-price**")
    settled(shop)
    assert shop.locator("#sort").bounding_box() == order
    fold.click()
    shop.locator("#facets").wait_for(state="hidden")
    assert shop.locator("#sort").bounding_box() == order
    assert shop.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_what_is_only_left_out_is_not_called_missing(shop, changed):
    changed(shop, "search/products", weaken)
    search(shop, "no sofa")
    assert shop.locator(".product").count() > 0
    assert shop.get_by_role("heading", name="No product has these words").count() == 0
    search(shop, "lime")
    assert shop.get_by_role("heading", name="No product has these words").count() == 1


def test_filters_stay_for_the_next_question_until_they_are_cleared(shop):
    shop.get_by_role("checkbox", name="Ikea").check()
    shop.wait_for_selector(".chip:has-text('Brand: Ikea')")
    search(shop, "sofa")
    assert titles(shop) == ["Sofa of leather"]
    search(shop, "dress")
    assert shop.get_by_role("button", name="Take off: Brand: Ikea").is_visible()
    message = shop.locator("#results .message")
    assert "both your search and your filters. Without the filters there is 1." in (
        message.inner_text()
    )
    shop.go_back()
    shop.wait_for_selector(".product")
    assert titles(shop) == ["Sofa of leather"]
    shop.go_forward()
    message.get_by_role("button", name="Clear the filters").click()
    shop.wait_for_selector(".product")
    assert titles(shop) == ["Summer dress"]
    assert shop.locator("#words").input_value() == "dress"
    assert "filter=" not in shop.url


def test_products_by_photo_alone_say_that_filters_leave_others_out(shop, changed):
    changed(shop, "search/products", weaken)
    shop.goto('/?collection=shop&q=lime&filter={"brand":["Ikea"]}')
    shop.get_by_role(
        "heading", name="No product that passes your filters has these words"
    ).wait_for()
    shop.get_by_role("button", name="Clear the filters").click()
    shop.get_by_role("heading", name="No product has these words").wait_for()


def test_on_a_phone_the_next_question_closes_the_filters(shop):
    shop.set_viewport_size({"width": 390, "height": 800})
    fold = shop.get_by_role("button", name="Filters")
    fold.click()
    shop.get_by_label("Ikea").check()
    shop.wait_for_selector(".product:nth-child(3):last-child")
    assert shop.locator("#facets").is_visible()
    search(shop, "sofa")
    assert shop.locator("#facets").is_hidden()
    assert fold.get_attribute("aria-expanded") == "false"
    assert fold.inner_text() == "Filters (1)"
