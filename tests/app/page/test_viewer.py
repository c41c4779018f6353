"""The viewer of a photo: facts, matches, neighbours and the way back."""

from __future__ import annotations

from typing import Any

from app.engine.engine import Engine


def title(page: Any) -> str:
    text: str = page.locator("#viewer-title").inner_text()
    return text


def open_photo(page: Any, name: str) -> Any:
    page.locator(f"[data-id={name}] button").first.click()
    viewer = page.get_by_role("dialog", name=name)
    viewer.wait_for()
    return viewer


def swipe(page: Any, start: int, end: int) -> None:
    """Move a finger sideways over the open photo."""
    page.evaluate(
        """([start, end]) => {
            const photo = document.querySelector("#viewer .stage");
            const send = (type, clientX) => photo.dispatchEvent(new PointerEvent(type, {
                clientX, clientY: 200, pointerType: "touch", isPrimary: true, bubbles: true }));
            send("pointerdown", start);
            send("pointerup", end);
        }""",
        [start, end],
    )


def hold(page: Any) -> list[Any]:
    """Hold requests of items back, until they are continued."""
    held: list[Any] = []
    page.route("**/items/p*", lambda route: held.append(route))
    return held


def release(page: Any, held: list[Any]) -> None:
    for request in held:
        request.continue_()
    page.unroute("**/items/p*")


def sign(page: Any, place: str) -> str:
    """The opacity of the busy sign."""
    opacity: str = page.locator(place).evaluate("one => getComputedStyle(one, '::after').opacity")
    return opacity


def test_a_photo_names_its_date_place_camera_and_folder(timeline: Any) -> None:
    viewer = open_photo(timeline, "p00")
    facts = viewer.locator("dl").first.inner_text().split("\n")
    pairs = dict(zip(facts[::2], facts[1::2], strict=True))
    assert pairs == {
        "Taken": "Sunday, 20 June 2021, 15:22",
        "Place": "Lisbon, Portugal",
        "Keywords": "holiday",
        "Camera": "Canon EOS 80D",
        "Folder": "2021",
        "File": "IMG_0.HEIC",
        "Size": "4032 × 3024 pixels",
    }
    assert not viewer.get_by_text("38.7125").is_visible()
    viewer.get_by_text("More", exact=True).click()
    assert viewer.get_by_text("38.7125").is_visible()


def test_a_fact_lists_the_photos_that_share_it(timeline: Any, settled: Any, shown: Any) -> None:
    open_photo(timeline, "p00").get_by_role("button", name="holiday").click()
    timeline.get_by_role("button", name="Take off: Keywords: holiday").wait_for()
    settled(timeline)
    assert shown(timeline) == ["p00", "p01", "p02"]


def test_arrow_keys_show_the_neighbours_and_back_closes(timeline: Any) -> None:
    open_photo(timeline, "p01")
    timeline.keyboard.press("ArrowRight")
    timeline.get_by_role("dialog", name="p02").wait_for()
    assert timeline.url.endswith("?item=p02")
    for name in ("p01", "p00"):
        timeline.keyboard.press("ArrowLeft")
        timeline.get_by_role("dialog", name=name).wait_for()
    assert timeline.get_by_role("button", name="Previous photo").count() == 0
    timeline.go_back()
    timeline.locator("#viewer").wait_for(state="hidden")
    assert timeline.locator("[data-id=p00]").is_visible()


def test_the_photo_behind_the_last_shown_one_is_fetched(timeline: Any) -> None:
    assert timeline.locator("#results .hit").count() == 24
    open_photo(timeline, "p23")
    timeline.keyboard.press("ArrowRight")
    timeline.get_by_role("dialog", name="p24").wait_for()
    timeline.keyboard.press("Escape")
    timeline.locator("#viewer").wait_for(state="hidden")
    assert timeline.locator("#results .hit").count() == 48


def test_a_page_that_is_asked_for_twice_comes_once(timeline: Any, settled: Any, shown: Any) -> None:
    timeline.locator(".more").last.evaluate("button => { button.click(); button.click(); }")
    timeline.wait_for_selector("[data-id=p30]")
    settled(timeline)
    assert shown(timeline) == [f"p{number:02}" for number in range(48)]
    assert timeline.locator("#status").inner_text() == "48 of 60 photos"


def test_closing_a_photo_of_a_link_stays_on_the_page(timeline: Any, settled: Any) -> None:
    timeline.goto("about:blank")
    timeline.goto("/?item=p05")
    timeline.get_by_role("dialog", name="p05").wait_for()
    timeline.get_by_role("button", name="More like this").first.click()
    timeline.get_by_role("heading", name="Similar photos").wait_for()
    settled(timeline)
    timeline.locator("#results .hit button[title]").first.click()
    timeline.locator("#viewer[open]").wait_for()
    for name in (None, "p05"):
        timeline.go_back()
        if name is None:
            timeline.locator("#viewer").wait_for(state="hidden")
        else:
            timeline.get_by_role("dialog", name=name).wait_for()
    timeline.keyboard.press("Escape")
    timeline.locator("#viewer").wait_for(state="hidden")
    timeline.wait_for_url(lambda url: "item=" not in url)
    assert timeline.url.startswith("http")
    assert timeline.locator("[data-id=p00]").is_visible()


def test_a_photo_that_is_gone_is_passed_over(timeline: Any, photos: Engine) -> None:
    open_photo(timeline, "p01")
    photos.catalog.delete(photos.open("default"), "p02")
    timeline.keyboard.press("ArrowRight")
    timeline.get_by_role("dialog", name="p03").wait_for()
    assert timeline.url.endswith("?item=p03")
    timeline.keyboard.press("ArrowLeft")
    timeline.get_by_role("dialog", name="p01").wait_for()
    photos.catalog.delete(photos.open("default"), "p00")
    timeline.keyboard.press("ArrowLeft")
    alert = timeline.locator("#viewer [role=alert]")
    alert.wait_for()
    assert alert.inner_text() == "What came before this is no longer here."
    timeline.keyboard.press("ArrowRight")
    timeline.get_by_role("dialog", name="p03").wait_for()
    timeline.keyboard.press("ArrowLeft")
    timeline.get_by_role("dialog", name="p01").wait_for()
    timeline.route("**/items/**", lambda route: route.abort())
    timeline.keyboard.press("ArrowRight")
    timeline.locator("#viewer [role=alert]").wait_for()
    assert timeline.url.endswith("?item=p01")


def test_a_finger_shows_the_neighbours_on_a_phone(phone: Any) -> None:
    open_photo(phone, "p01")
    swipe(phone, 300, 100)
    phone.get_by_role("dialog", name="p02").wait_for()
    swipe(phone, 100, 300)
    phone.get_by_role("dialog", name="p01").wait_for()
    swipe(phone, 100, 120)
    assert title(phone) == "p01"
    box = phone.locator("#viewer").bounding_box()
    assert (box["width"], box["height"]) == (390, 844)
    assert phone.evaluate("document.querySelector('#viewer').scrollWidth") == 390


def test_the_words_that_matched_are_explained(timeline: Any, changed: Any, search: Any) -> None:
    def add_words(body: dict[str, Any]) -> None:
        gave = [("city", 2.0), ("folder", 1.0)]
        body["hits"][0]["words"] = [
            {"word": "Lisbon", "field": field, "gave": points} for field, points in gave
        ]

    changed(timeline, "search/image", add_words)
    search(timeline, "red Lisbon")
    timeline.locator(".hit .title button").first.click()
    rows = timeline.get_by_role("dialog").get_by_label("What each field gave").locator("li")
    rows.first.wait_for()
    assert rows.locator(".name").all_inner_texts() == ["City: Lisbon", "Folder: Lisbon"]
    assert timeline.get_by_label("Sort by").is_hidden()  # without probabilities, nothing is counted
    assert rows.locator(".number").all_inner_texts() == ["2.00", "1.00"]
    assert timeline.get_by_role("dialog").locator(".phrase").count() > 0


def test_deleting_an_open_photo_goes_on_to_the_next_tile(timeline: Any) -> None:
    viewer = open_photo(timeline, "p01")
    viewer.get_by_role("button", name="Delete").click()
    assert viewer.locator(".deletion code").inner_text() == "tessera index deleted --restore p01"
    viewer.get_by_role("button", name="Delete it").click()
    timeline.wait_for_selector(".remark:has-text('Deleted: p01.')")
    assert timeline.locator(".done code").inner_text() == "tessera index deleted --restore p01"
    assert timeline.evaluate("document.activeElement.closest('[data-id]').dataset.id") == "p02"
    assert "item=" not in timeline.url
    timeline.go_back()
    assert timeline.url == "about:blank"


def test_a_photo_on_a_slow_line_is_seen_to_be_on_its_way(timeline: Any) -> None:
    held = hold(timeline)
    timeline.locator("[data-id=p01] button").click()
    timeline.wait_for_selector("[data-id=p01][aria-busy=true]")
    timeline.wait_for_timeout(400)
    assert sign(timeline, "[data-id=p01]") == "1"
    release(timeline, held)
    timeline.get_by_role("dialog", name="p01").wait_for()
    timeline.locator("[aria-busy]").wait_for(state="detached")


def test_each_press_on_a_slow_line_counts(timeline: Any) -> None:
    open_photo(timeline, "p01")
    held = hold(timeline)
    for _ in range(4):
        timeline.keyboard.press("ArrowRight")
    timeline.wait_for_timeout(400)
    assert timeline.locator("#viewer").get_attribute("aria-busy") == "true"
    assert sign(timeline, "#viewer .place") == "1"
    release(timeline, held)
    timeline.get_by_role("dialog", name="p05").wait_for()
    timeline.locator("#viewer[aria-busy]").wait_for(state="detached")
    timeline.keyboard.press("Escape")
    timeline.locator("#viewer").wait_for(state="hidden")


def test_presses_beyond_the_shown_photos_fetch_more(timeline: Any) -> None:
    open_photo(timeline, "p22")
    for _ in range(4):
        timeline.keyboard.press("ArrowRight")
    timeline.get_by_role("dialog", name="p26").wait_for()


def test_presses_end_at_the_last_photo_there_is(timeline: Any, photos: Engine) -> None:
    open_photo(timeline, "p02")
    photos.catalog.delete(photos.open("default"), "p00")
    for _ in range(4):
        timeline.keyboard.press("ArrowLeft")
    timeline.get_by_role("dialog", name="p01").wait_for()
    timeline.wait_for_url("**item=p01")


def test_a_photo_is_not_titled_by_a_hash(timeline: Any) -> None:
    say = """async ([id, metadata]) => {
        const { titleOf } = await import(new URL("page/elements/gallery.js", document.baseURI));
        return titleOf({ id, metadata });
    }"""
    hashed, taken = "9f86d081884c7d659a2feaa0c55ad015", "2021-06-20T15:22:10"
    for name, metadata, titled in (
        (hashed, {"file": "2021/sea.jpg"}, "sea.jpg"),
        (hashed, {"file": f"{hashed}.jpg", "taken": taken}, "Sunday, 20 June 2021, 15:22"),
        ("4A1B0C3D-7788-4f00-9abc-001122334455", {}, "Photo"),
        ("2021/20190804152210.jpg", {}, "20190804152210.jpg"),
        (hashed, {"title": "The sea"}, "The sea"),
    ):
        assert timeline.evaluate(say, [name, metadata]) == titled
