"""The page in a real browser: searching, pointing, photos."""

from io import BytesIO

import pytest
from PIL import Image


def topmost(hit):
    """The topmost box of a hit."""
    boxes = hit.locator(".box").all()
    return max(reversed(boxes), key=lambda box: int(box.evaluate("box => box.style.zIndex")))


def fits(page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_phrase_lights_what_answers_it_in_every_photo(page, search):
    search(page, "cat log")
    page.locator("#query .word").first.hover()
    for hit in page.locator(".hit").all():
        assert hit.locator(".box.lit, .everything.lit").count() == 1
        assert hit.locator(".phrase.lit .name").all_inner_texts() == ["cat"]


def test_a_box_lights_the_words_that_chose_it_and_no_other_photo(page, cup_at_night, search):
    search(page, "a cup at night")
    hit = page.locator(".hit").first
    box = topmost(hit)
    box.hover()
    assert box.get_attribute("aria-label") == "Part of the photo for a cup"
    assert hit.locator(".phrase.lit .name").all_inner_texts() == ["a cup"]
    assert page.locator(".box.lit").count() == 1


def test_a_click_keeps_the_light_and_escape_puts_it_out(page, cup_at_night, search):
    search(page, "a cup at night")
    word = page.locator("#query .word").first
    word.click()
    page.mouse.move(1, 1)
    assert page.locator(".box.lit").count() == 5
    assert word.get_attribute("aria-pressed") == "true"
    page.keyboard.press("Escape")
    assert page.locator(".box.lit").count() == 0


def test_everything_can_be_done_by_keyboard(page, cup_at_night):
    page.goto("/")
    page.keyboard.type("a cup at night")  # the search box has the focus
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit .phrase")
    for _ in range(5):  # past the photo and the search button, the collections, and Add
        page.keyboard.press("Tab")
    assert page.locator(".box.lit").count() == 5
    page.keyboard.press("ArrowRight")
    assert page.locator("#query .word.lit .name").all_inner_texts() == ["at night"]
    assert page.locator(".everything.lit").count() == 5
    for _ in range(4):  # past photos, parts, and the choice of many
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.hit .photo') !== null")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.hit .title') !== null")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.hit .phrases') !== null")
    page.keyboard.press("Escape")
    assert page.locator(".lit").count() == 0


@pytest.mark.parametrize("by", ["mouse", "finger", "keyboard"])
def test_a_box_of_a_card_opens_the_photo_and_keeps_no_light(
    browser, site, watched, search, with_phrases, by
):
    with watched(browser, site, has_touch=True) as page:
        with_phrases(page, {})
        search(page, "a cup")
        box = topmost(page.locator(".hit").first)
        if by == "keyboard":
            box.press("Enter")
        else:
            box.click() if by == "mouse" else box.tap()
        page.locator("#viewer[open]").wait_for()
        page.locator("#viewer .box").first.click()
        assert page.locator("#viewer .box[aria-pressed=true]").count() == 1
        page.keyboard.press("Escape")
        page.locator("#viewer").wait_for(state="hidden")
        page.mouse.move(1, 1)
        page.locator("#words").focus()
        assert page.locator("#results .box:is(.lit, [aria-pressed=true])").count() == 0


def test_a_search_has_an_address_of_its_own(page, search):
    search(page, "a cat & a log")
    page.goto("/")
    page.go_back()
    page.wait_for_selector(".hit .phrase")
    assert page.locator("#words").input_value() == "a cat & a log"
    page.reload()
    page.wait_for_selector(".hit .phrase")


def test_example_queries_are_one_click_away(page):
    page.goto("/")
    page.locator("#examples").get_by_role("button", name="a bridge at night").click()
    page.wait_for_selector(".hit .phrase")
    assert page.url.endswith("?q=a+bridge+at+night")
    assert page.locator("#words").input_value() == "a bridge at night"
    page.goto("/?collection=many")
    page.wait_for_selector(".hit img")
    assert page.locator("#examples button").count() == 0


def test_a_photo_gets_its_sentences_and_says_why_it_has_no_caption(page, ask_with_photo, markup):
    ask_with_photo(page)
    assert set(page.locator(".sentence q").all_inner_texts()) == {"a ginger cat", markup}
    page.locator(".sentence .phrase").first.hover()
    assert page.locator("#query .box.lit, #query .everything.lit").count() == 1
    page.wait_for_selector("text=no captioner is loaded")


def test_a_photo_gets_a_caption(asked):
    asked.wait_for_selector(".caption:has-text('40 by 30')")


def test_a_photo_points_out_what_is_named(asked):
    ask = asked.get_by_label("What to point out in this photo")

    def lit() -> str:
        return asked.locator(".box.lit").get_attribute("data-place")

    ask.fill("left, the right")
    ask.press("Enter")
    asked.wait_for_selector(".point .word.lit:has-text('left')")
    assert lit() == "0,0,0.5,1"
    asked.locator(".point .word").nth(1).click()
    asked.mouse.move(1, 1)
    assert lit() == "0.5,0,1,1"
    ask.fill("something on the right")
    asked.get_by_role("button", name="Point out").click()
    asked.wait_for_selector(".point .word.lit:has-text('something')")
    assert [
        one.get_attribute("data-place") for one in asked.locator("[data-group=point]").all()
    ] == ["0.5,0,1,1"]
    for wrong, says in (("?", "no words"), (" , ", "Name what to look for")):
        ask.fill(wrong)
        ask.press("Enter")
        asked.wait_for_selector(f".point .note:has-text('{says}')")
        assert asked.locator("[data-group=point], .lit").count() == 0


def test_a_newer_question_overtakes_an_older_one(asked):
    held = []

    def hold(route):
        held.append(route)
        if len(held) == 2:
            route.continue_()

    asked.route("**/ground", hold)
    ask = asked.get_by_label("What to point out in this photo")
    ask.fill("left")
    ask.press("Enter")
    asked.wait_for_selector(".point .note:has-text('Looking')")
    ask.fill("the right")
    ask.press("Enter")
    asked.wait_for_selector(".point .word.lit:has-text('the right')")
    assert asked.locator(".box.lit").get_attribute("data-place") == "0.5,0,1,1"


def test_a_photo_without_a_grounder_says_so(page, ask_with_photo):
    ask_with_photo(page)
    page.get_by_label("What to point out in this photo").fill("a cat")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=no grounder is loaded")


def test_similar_photos_show_which_parts_are_alike(page, ask_with_photo):
    ask_with_photo(page)
    page.wait_for_selector(".hit .photo")
    topmost(page.locator(".hit").first).hover()
    assert page.locator("#query .box.lit").count() >= 1


def test_a_stored_photo_can_be_asked_with(page):
    page.goto("/")
    page.locator("button[title=coffee]").click()
    page.get_by_role("dialog", name="A cup of coffee").wait_for()
    assert page.url.endswith("?item=coffee")
    page.get_by_role("dialog").get_by_role("button", name="More like this").click()
    page.wait_for_selector("h2:has-text('Similar photos')")
    assert page.url.endswith("?like=coffee")
    assert page.locator("#query .box").count() > 1
    assert page.locator("#query .box.best").count() <= 1
    page.wait_for_selector("#results:not([aria-busy]) .hit")
    assert page.locator("#results .hit").count() == 4
    assert page.locator("[data-id=coffee]").count() == 0
    assert page.get_by_role("status").inner_text() == "4 photos"


def test_a_photo_can_be_dropped(page):
    page.goto("/")
    page.wait_for_selector(".hit img")
    page.evaluate(
        """async () => {
            const picture = await (await fetch("items/chelsea/image")).blob();
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([picture], "cat.jpg", { type: "image/jpeg" }));
            document.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
        }"""
    )
    page.wait_for_selector(".sentence")


def test_more_photos_follow(page):
    page.goto("/?collection=many&q=cat")
    page.wait_for_selector(".hit .phrase")
    assert page.locator(".hit").count() == 24
    page.get_by_role("button", name="Show more").click()
    page.locator(".hit").nth(29).wait_for()
    assert page.locator(".hit").count() == 30
    assert page.get_by_role("button", name="Show more").is_hidden()


def test_more_photos_like_one_follow_without_it(page, shown):
    page.goto("/?collection=many")
    page.wait_for_selector("#results:not([aria-busy]) .hit img")
    asked = shown(page)[0]
    page.goto(f"/?collection=many&like={asked}")
    page.wait_for_selector("#results:not([aria-busy]) .hit .photo")
    assert len(shown(page)) == 24
    assert page.get_by_role("status").inner_text() == "24 of 29 photos"
    page.get_by_role("button", name="Show more").click()
    page.locator(".hit").nth(28).wait_for()
    assert len({*shown(page)} - {asked}) == len(shown(page)) == 29


def test_what_was_not_read_is_counted(page, changed):
    kinds = [("hidden folders", 2), (".db files", 1)]
    unread = [{"kind": kind, "count": count, "examples": ["a"]} for kind, count in kinds]
    imported = {"counts": {"unread": 3}, "unread": unread, "refused": [], "kept": []}
    changed(page, "collections/*/imports", lambda body: body.update(imports=[imported]))
    page.goto("/")
    page.locator("#unread summary").click()
    assert page.locator("#unread summary").inner_text() == "Not read: 3 files or folders"
    assert page.locator("#unread h3").all_inner_texts() == ["2 hidden folders", "1 .db files"]


def test_the_picture_of_an_alignment_can_be_saved(page, search):
    search(page, "a cat on a log")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save picture").first.click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("address", ["/?collection=empty", "/?collection=empty&q=dog"])
def test_an_empty_collection_says_how_to_fill_it(page, address):
    page.goto(address)
    page.wait_for_selector("code:has-text('tessera index PATH --collection empty')")


def test_a_problem_shows_its_detail(page):
    page.goto("/?q=dog&collection=nowhere")
    assert "nowhere" in page.get_by_role("alert").inner_text()


def test_markup_from_the_collection_stays_text(page, ask_with_photo):
    ask_with_photo(page)
    assert page.locator("q img").count() == 0


def test_every_control_has_a_name(page, ask_with_photo):
    ask_with_photo(page)
    unnamed = "[...document.querySelectorAll('button, input, select')].filter((control) =>"
    unnamed += " !(control.ariaLabel || control.innerText || control.title)).length"
    assert page.evaluate(unnamed) == 0


def test_a_narrow_phone_needs_no_sideways_scrolling(page, search, ask_with_photo):
    page.set_viewport_size({"width": 320, "height": 640})
    page.goto("/")
    page.wait_for_selector(".hit img")
    assert fits(page)
    search(page, "a cat on a log next to Donaudampfschifffahrtsgesellschaftskapitaenspatent")
    assert fits(page)
    ask_with_photo(page)
    assert fits(page)


def test_photos_with_dates_are_shown_by_their_years(page, changed):
    """Months with few photos get no headings of their own."""
    taken = ["2021-05-02T10:00:00", "2019-08-04", "2019-01", None, None]

    def add_dates(body: dict) -> None:
        for item in body["items"]:
            item["metadata"]["taken"] = "2019-08-04"

    def order(body: dict) -> None:
        for hit, date in zip(body["hits"], taken, strict=True):
            hit["metadata"]["taken"] = date

    changed(page, "items?*", add_dates)
    changed(page, "search/image", order)
    page.goto("/")
    page.wait_for_selector(".period")
    assert page.locator(".period").all_inner_texts() == ["2021", "2019", "No date"]
    order_of = [place.get_attribute("class") for place in page.locator(".wall > li").all()]
    assert order_of == ["period", "hit", "period", "hit", "hit", "period", "hit", "hit"]


def test_escape_empties_the_search_box_only_from_inside(page, search):
    search(page, "cat log")
    page.locator(".hit .title button").first.focus()
    page.keyboard.press("Escape")
    assert page.locator("#words").input_value() == "cat log"
    page.locator("#words").focus()
    page.keyboard.press("Escape")
    assert page.locator("#words").input_value() == ""


def test_a_photo_that_the_browser_cannot_show_says_so(page):
    page.goto("/")
    photo = {"name": "sea.heic", "mimeType": "image/heic", "buffer": b"no photo at all"}
    page.set_input_files("#file", photo)
    page.get_by_text("This browser cannot show the file.").wait_for()
    assert page.locator("#query canvas").count() == 0
    assert page.get_by_role("button", name="Search in a part").count() == 0


def test_a_transparent_photo_has_a_white_ground(page):
    file = BytesIO()
    Image.new("RGBA", (40, 30)).save(file, "PNG")
    page.goto("/")
    photo = {"name": "clear.png", "mimeType": "image/png", "buffer": file.getvalue()}
    page.set_input_files("#file", photo)
    page.wait_for_selector("#query canvas")
    pixel = "canvas => [...canvas.getContext('2d').getImageData(9, 9, 1, 1).data]"
    assert page.locator("#query canvas").evaluate(pixel) == [255] * 4
