"""Captions on the page: boxes of words, doubts, regions."""

from __future__ import annotations

import pytest

from app.main import create_app


@pytest.fixture
def app(settings, describing):
    return create_app(settings, describing)


@pytest.fixture
def seen(browser, address, png, watched):
    """A page with the answer to a red and blue photo."""
    with watched(browser, address) as opened:
        opened.goto("/")
        photo = {"name": "two.png", "mimeType": "image/png", "buffer": png("red", "blue")}
        opened.set_input_files("#file", photo)
        opened.wait_for_selector(".said")
        yield opened


def lit(page) -> list[str]:
    return [box.get_attribute("aria-label") for box in page.locator(".box.lit").all()]


def test_a_word_shows_its_box_by_pointer_keyboard_and_touch(seen):
    red, blue = seen.locator(".said").all()
    red.hover()
    assert lit(seen) == ["Part of the photo for red"]
    seen.mouse.move(1, 1)
    assert lit(seen) == []
    red.focus()
    seen.keyboard.press("ArrowRight")
    assert seen.evaluate("document.activeElement.textContent") == "blue"
    assert lit(seen) == ["Part of the photo for blue"]
    red.click()
    seen.mouse.move(1, 1)
    seen.evaluate("document.activeElement.blur()")
    assert lit(seen) == ["Part of the photo for red"]
    assert red.get_attribute("aria-pressed") == "true"
    assert blue.get_attribute("aria-pressed") == "false"


def test_a_box_lights_its_word(seen):
    seen.locator('.box[aria-label="Part of the photo for blue"]').hover()
    assert seen.locator(".said.lit").all_inner_texts() == ["blue"]


def test_a_word_that_nothing_supports_is_marked_and_named(seen):
    assert seen.locator(".caption").inner_text() == "With red by blue and lime"
    assert seen.locator(".unsupported").all_inner_texts() == ["lime"]
    assert seen.locator("text=Not sure of this word: lime.").count() == 1


def test_regions_can_be_read(seen):
    seen.get_by_role("button", name="Describe regions").click()
    seen.wait_for_selector(".regions .word")
    assert sorted(seen.locator(".regions .word").all_inner_texts()) == (
        ["Blue thing"] * 2 + ["Red thing"] * 2
    )
    box = seen.locator(
        '.box[data-group="regions"][aria-label="Part of the photo for Blue thing"]'
    ).first
    box.click()
    seen.mouse.move(1, 1)
    assert seen.locator(".snippet.lit").all_inner_texts() == ["Blue thing"]
    assert seen.locator(".regions .word.lit").count() == 1
    seen.keyboard.press("Escape")
    assert seen.locator(".snippet.lit").count() == 0


def test_an_unsure_caption_is_a_guess_whose_words_show_their_places(seen, changed):
    changed(seen, "caption", lambda body: body["captions"][0].update(unsure=True))
    seen.reload()
    seen.wait_for_selector(".caption:has-text('Not sure what this shows')")
    assert seen.locator(".guess").inner_text() == "best guess: With red by blue and lime"
    seen.locator(".said").first.hover()
    assert lit(seen) == ["Part of the photo for red"]


def test_without_a_captioner_of_regions_none_are_offered(seen, describing):
    checkpoints = describing.models.checkpoints
    checkpoints["region_captioner"] = None
    with seen.expect_response("**/model"):
        seen.reload()
    seen.wait_for_selector(".said")
    assert seen.get_by_role("button", name="Describe regions").count() == 0


def test_a_phone_shows_all_of_it(seen):
    seen.set_viewport_size({"width": 360, "height": 700})
    seen.get_by_role("button", name="Describe regions").click()
    seen.wait_for_selector(".regions .word")
    assert seen.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    seen.locator(".regions .word").first.click()
    assert seen.locator(".snippet.lit").is_visible()
