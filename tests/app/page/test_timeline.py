"""The timeline: order, filters with counts, and the date rail."""

from __future__ import annotations

from typing import Any

import pytest

from app.engine.engine import Engine
from app.main import create_app
from app.settings import Settings
from tests.processes.waiting import eventually


@pytest.fixture
def app(settings: Settings, describing: Engine) -> Any:
    return create_app(settings, describing)


def choose(page: Any, key: str, value: str) -> None:
    page.locator("#facets fieldset").filter(has_text=key).get_by_role(
        "checkbox", name=value
    ).check()
    page.wait_for_selector(f".chip:has-text('{key}: ')")
    page.wait_for_selector("#results:not([aria-busy]) .hit")


def counts(page: Any, key: str) -> dict[str, str]:
    options = page.locator("#facets fieldset").filter(has_text=key).locator(".option")
    return dict(text.split("\n") for text in options.all_inner_texts())


def test_photos_are_ordered_by_date(timeline: Any, settled: Any, shown: Any) -> None:
    assert shown(timeline)[:2] == ["p00", "p01"]
    timeline.get_by_label("Sort by").select_option("Oldest first")
    timeline.wait_for_selector(".hit[data-id=p59]")
    assert shown(timeline)[:2] == ["p59", "p58"]
    assert "sort=taken" in timeline.url


def test_hits_of_a_text_are_ordered_by_date(timeline: Any, search: Any) -> None:
    search(timeline, "red")
    order = timeline.get_by_label("Sort by")
    assert order.locator("option").all_inner_texts() == [
        "Best match",
        "Newest first",
        "Oldest first",
    ]
    with timeline.expect_request("**/search/image") as sent:
        order.select_option("Newest first")
    timeline.wait_for_selector("#results:not([aria-busy]) .period")
    assert sent.value.post_data_json["sort"] == {"key": "taken", "order": "desc"}
    years = timeline.locator(".period").all_inner_texts()
    assert years == sorted(years, reverse=True)


def test_filters_count_all_photos_and_stay_exact(timeline: Any, shown: Any) -> None:
    timeline.get_by_role("button", name="Filters").click()
    timeline.wait_for_selector("#facets fieldset")
    assert counts(timeline, "Taken") == {"2021": "12", "2020": "24", "2019": "24"}
    assert counts(timeline, "City") == {"Berlin": "40", "Lisbon": "20"}
    assert counts(timeline, "Keywords") == {"holiday": "3"}
    choose(timeline, "City", "Lisbon")
    assert timeline.locator("#status").inner_text() == "20 photos"
    assert counts(timeline, "Taken") == {"2021": "4", "2020": "8", "2019": "8"}
    assert counts(timeline, "City") == {"Berlin": "40", "Lisbon": "20"}
    choose(timeline, "Taken", "2021")
    assert shown(timeline) == ["p00", "p03", "p06", "p09"]
    assert counts(timeline, "Taken")["June 2021"] == "1"
    assert timeline.get_by_role("button", name="Take off: Taken: 2021").is_visible()
    choose(timeline, "Taken", "June 2021")
    assert shown(timeline) == ["p00"]


def test_the_rail_jumps_to_a_month_and_newer_photos_follow(
    timeline: Any, settled: Any, shown: Any
) -> None:
    rail = timeline.get_by_role("slider", name="Go to a month")
    assert rail.get_attribute("aria-valuetext") == "June 2021"
    assert timeline.locator(".years span").all_inner_texts() == ["2021", "2020", "2019"]
    rail.fill("20")  # twenty months back
    timeline.wait_for_selector("[data-id=p40]")
    settled(timeline)
    assert shown(timeline)[0] == "p40"
    assert timeline.url.endswith("?from=2019-10")
    assert timeline.locator("#status").inner_text() == "20 of 60 photos"
    assert rail.get_attribute("aria-valuetext") == "October 2019"
    timeline.get_by_role("button", name="Show newer").click()
    timeline.wait_for_selector("[data-id=p16]")
    settled(timeline)
    assert timeline.locator("#status").inner_text() == "44 of 60 photos"
    assert shown(timeline) == [f"p{number:02}" for number in range(16, 60)]
    headings = timeline.locator(".period").all_inner_texts()
    assert headings == list(dict.fromkeys(headings))
    timeline.reload()
    settled(timeline)
    assert shown(timeline) == [f"p{number:02}" for number in range(16, 60)]


def test_the_rail_keeps_the_focus_of_the_keyboard(timeline: Any, settled: Any) -> None:
    timeline.get_by_role("slider", name="Go to a month").fill("20")
    timeline.wait_for_selector("[data-id=p40]")
    settled(timeline)
    assert timeline.evaluate("document.activeElement.ariaLabel") == "Go to a month"


def test_hits_of_a_date_alone_have_filters_and_orders(timeline: Any) -> None:
    timeline.goto("/?q=photos+from+2020")
    timeline.get_by_role("button", name="Filters").wait_for()
    timeline.get_by_label("Sort by").select_option("Oldest first")
    timeline.wait_for_selector("#results:not([aria-busy]) .hit")
    assert "sort=taken" in timeline.url


def test_typing_goes_on_while_photos_are_indexed(timeline: Any, changed: Any) -> None:
    behind = iter(range(50, 0, -10))
    changed(timeline, "**/index*", lambda body: body.update(behind=next(behind, 0)))
    timeline.goto("/")
    timeline.wait_for_selector("#results:not([aria-busy]) .hit img")
    words = timeline.locator("#words")
    words.fill("two do")
    with timeline.expect_response("**/search/image"):  # photos that have come
        pass
    timeline.wait_for_selector("#results:not([aria-busy]) .hit img")
    words.press_sequentially("gs")
    assert words.input_value() == "two dogs"


def test_a_search_takes_the_tools_of_the_timeline_away(timeline: Any, settled: Any) -> None:
    tools = [
        timeline.get_by_role("slider", name="Go to a month"),
        timeline.get_by_label("Sort by"),
        timeline.get_by_role("button", name="Filters"),
        timeline.get_by_role("button", name="Select", exact=True),
    ]
    assert all(tool.is_visible() for tool in tools)
    held: list[Any] = []
    timeline.route("**/search/image", lambda route: held.append(route))
    timeline.locator("#words").fill("red")
    with timeline.expect_request("**/search/image"):
        timeline.keyboard.press("Enter")
    timeline.wait_for_selector(".hit.waiting")
    assert not any(tool.is_visible() for tool in tools)
    for request in held:
        request.continue_()
    timeline.unroute("**/search/image")
    settled(timeline)
    assert tools[-1].is_visible()


def test_a_month_that_is_shown_is_scrolled_to(timeline: Any) -> None:
    rail = timeline.get_by_role("slider", name="Go to a month")
    rail.fill("10")
    eventually(lambda: timeline.evaluate("window.scrollY") > 0, 60)
    assert "from=" not in timeline.url
    eventually(lambda: rail.get_attribute("aria-valuetext") != "June 2021", 60)


def test_few_photos_have_no_rail_and_undated_ones_no_filters(page: Any, settled: Any) -> None:
    page.goto("/")
    settled(page)
    assert page.get_by_role("slider").count() == 0
    assert page.get_by_role("button", name="Filters").is_hidden()


def test_photos_of_this_day_in_earlier_years_come_first(timeline: Any, settled: Any) -> None:
    timeline.clock.set_fixed_time("2021-06-20T12:00:00")
    timeline.reload()
    row = timeline.get_by_role("region", name="On this day")
    row.wait_for()
    assert row.locator("[data-id]").evaluate_all("all => all.map((one) => one.dataset.id)") == [
        "p24",
        "p48",
    ]
    assert row.locator(".ago").all_inner_texts() == ["1 year ago", "2 years ago"]
    row.get_by_role("button").first.click()
    timeline.get_by_role("dialog", name="p24").wait_for()
    timeline.keyboard.press("Escape")
    timeline.wait_for_url(lambda url: "item=" not in url)  # the page has gone back
    timeline.clock.set_fixed_time("2021-06-21T12:00:00")
    timeline.reload()
    settled(timeline)
    assert timeline.get_by_text("On this day").count() == 0


def test_a_very_wide_screen_is_filled(
    browser: Any, photos: Any, address: str, watched: Any, shown: Any
) -> None:
    with watched(browser, address, viewport={"width": 3840, "height": 2160}) as page:
        page.goto("/")
        page.wait_for_selector("#results:not([aria-busy]) .hit img")
        assert len(shown(page)) == 60
        assert page.locator(".wall").bounding_box()["width"] > 3600
        page.locator("[data-id=p01] button").click()
        page.get_by_role("dialog", name="p01").wait_for()
        assert page.locator("#viewer").bounding_box()["width"] > 3000
        assert page.locator("#start p").bounding_box()["width"] < 800
