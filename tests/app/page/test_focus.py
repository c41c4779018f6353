"""The focus of the keyboard: its place, and its visibility."""

from __future__ import annotations

from typing import Any

from tests.processes.waiting import eventually


def focused_id(page: Any) -> str | None:
    """The id of the item with the focus."""
    name: str | None = page.evaluate("document.activeElement.closest('[data-id]')?.dataset.id")
    return name


def open_and_step(page: Any) -> None:
    """Open a photo by the pointer, and go to the next one."""
    page.locator("[data-id=p01] button").first.click()
    page.get_by_role("dialog", name="p01").wait_for()
    page.keyboard.press("ArrowRight")
    page.get_by_role("dialog", name="p02").wait_for()


def test_a_closed_photo_gives_the_focus_to_its_tile(timeline: Any) -> None:
    open_and_step(timeline)
    timeline.keyboard.press("Escape")
    timeline.locator("#viewer").wait_for(state="hidden")
    eventually(lambda: focused_id(timeline) == "p02", 60)
    timeline.wait_for_url(lambda url: "item=" not in url)  # the way back of the address has ended
    open_and_step(timeline)
    timeline.go_back()
    eventually(lambda: focused_id(timeline) == "p02", 60)
    assert timeline.locator("#viewer").is_hidden()


def test_a_photo_that_a_box_opened_has_the_focus_after_it(page: Any, cup_at_night, search) -> None:
    search(page, "a cup at night")
    hit = page.locator(".hit").nth(1)
    hit.locator(".photo").click()
    page.locator("#viewer[open]").wait_for()
    page.keyboard.press("Escape")
    page.locator("#viewer").wait_for(state="hidden")
    eventually(lambda: focused_id(page) == hit.get_attribute("data-id"), 60)
    assert page.evaluate("document.activeElement.closest('.title') !== null")


def test_a_search_from_an_open_photo_leaves_the_focus_on_the_page(
    timeline: Any, settled: Any
) -> None:
    open_and_step(timeline)
    timeline.get_by_role("dialog").get_by_role("button", name="More like this").click()
    timeline.locator("#viewer").wait_for(state="hidden")
    settled(timeline)
    assert timeline.evaluate("document.activeElement !== document.body")


def test_a_chip_that_is_taken_off_leaves_the_focus_in_the_results(
    timeline: Any, settled: Any
) -> None:
    timeline.goto('/?filter={"city":["Lisbon"]}')
    chip = timeline.get_by_role("button", name="Take off: City: Lisbon")
    chip.press("Enter")
    chip.wait_for(state="detached")
    settled(timeline)
    assert timeline.evaluate("document.activeElement.id") == "results"


def test_the_focus_is_below_the_strip(page: Any, cup_at_night: Any, search: Any) -> None:
    page.set_viewport_size({"width": 500, "height": 500})
    search(page, "a cup at night")
    page.locator(".hit .title button").last.focus()
    covered = """() => {
        const { top } = document.activeElement.getBoundingClientRect();
        return top < document.querySelector(".strip").getBoundingClientRect().bottom;
    }"""
    eventually(lambda: page.evaluate("window.scrollY") > 1000, 60)
    for _ in range(12):
        page.keyboard.press("Shift+Tab")
        assert page.evaluate("document.activeElement.closest('.hit') !== null")
        assert not page.evaluate(covered)


def test_a_search_on_a_touch_screen_puts_the_keyboard_away(phone: Any) -> None:
    for press in (
        lambda: phone.keyboard.press("Enter"),
        lambda: phone.get_by_role("button", name="Search", exact=True).tap(),
    ):
        phone.locator("#words").tap()
        phone.locator("#words").fill("red")
        press()
        phone.wait_for_selector(".hit .phrase")
        assert phone.evaluate("document.activeElement.id") == "results"
        phone.goto("/")
        phone.wait_for_selector(".hit img")
