"""Dates and words of photos on the page."""

from __future__ import annotations

from typing import Any

CHRISTMAS = {
    "text": "Christmas 2019",
    "span": [4, 18],
    "filter": {"taken": {"gte": "2019-12-24", "lt": "2019-12-27"}},
    "words": "24 December 2019 to 26 December 2019",
}


def test_a_date_is_a_chip_that_can_be_taken_off(page, search, changed) -> None:
    sent: list[dict[str, Any]] = []

    def note(request: Any) -> None:
        if request.url.endswith("search/image"):
            sent.append(request.post_data_json)

    def add_date(body: dict[str, Any]) -> None:
        body["query"]["filters"] = [] if sent[-1].get("dates") is False else [CHRISTMAS]

    page.on("request", note)
    changed(page, "search/image", add_date)
    search(page, "cat Christmas 2019")
    chip = page.get_by_role("button", name=f"Take off: {CHRISTMAS['words']}")
    with page.expect_response("**/search/image"):  # none is under way when the test ends
        chip.click()
    page.wait_for_selector(".hit .phrase")
    chip.wait_for(state="detached")
    assert sent[-1]["dates"] is False
    assert "undated=1" in page.url


def test_a_card_names_the_words_of_its_photo(page, search, changed) -> None:
    def add_words(body: dict[str, Any]) -> None:
        body["hits"][0]["words"] = [
            {"word": "Lisbon", "field": field, "gave": 2.0}
            for field in ("city", "region", "folder")
        ]

    changed(page, "search/image", add_words)
    search(page, "cat Lisbon")
    assert "“Lisbon” in city, region, and folder" in page.locator(".hit").first.inner_text()
    assert "Has “" not in page.locator(".hit").nth(1).inner_text()


def test_a_word_in_a_photo_has_a_bar_and_a_box(page, search, changed) -> None:
    place, later = [0.1, 0.2, 0.4, 0.3], [0.5, 0.5, 0.6, 0.6]

    def add_words(body: dict[str, Any]) -> None:
        boxes = [{"photo": 0, "box": place}, {"photo": 0, "box": later}, {"photo": 1, "box": place}]
        word = {"word": "exit", "field": "text", "gave": 2.0, "boxes": boxes}
        body["hits"][0]["words"] = [word, {**word, "word": "way", "boxes": boxes[2:]}]

    changed(page, "search/image", add_words)
    search(page, "cat exit")
    hit = page.locator(".hit").first
    row = hit.locator(".phrase", has_text="“exit”")
    row.hover()
    lit = [box.get_attribute("data-place") for box in hit.locator(".box.lit").all()]
    assert lit == ["0.1,0.2,0.4,0.3", "0.5,0.5,0.6,0.6"]
    assert row.locator(".number").inner_text() == "2.00"
    assert hit.locator(".phrase", has_text="“way”").count() == 0  # it is in another photo
    assert "“exit” in text" in hit.inner_text()
