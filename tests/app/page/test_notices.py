"""Failures are said in sight, near their cause."""

from __future__ import annotations

from typing import Any

from app.engine.engine import Engine


def is_in_sight(element: Any) -> bool:
    """Whether an element is in the window, with nothing before it."""
    return bool(
        element.evaluate(
            """(element) => {
                const { left, top, width, height } = element.getBoundingClientRect();
                const there = document.elementFromPoint(left + width / 2, top + height / 2);
                return element.contains(there);
            }"""
        )
    )


def test_a_failure_far_down_the_page_is_in_sight(timeline: Any) -> None:
    timeline.route("**/search/image", lambda route: route.abort())
    timeline.get_by_role("button", name="Show more").click()
    alert = timeline.get_by_role("alert")
    alert.wait_for()
    assert "Tessera did not answer" in alert.inner_text()
    assert timeline.evaluate("window.scrollY") > 0
    assert is_in_sight(alert)
    assert "24 of 60 photos" in timeline.locator("#status").inner_text()
    alert.get_by_role("button", name="Close").click()
    assert alert.count() == 0
    assert timeline.evaluate("document.activeElement.id") == "choose"


def test_a_photo_that_is_gone_leaves_the_list(timeline: Any, photos: Engine, shown: Any) -> None:
    photos.catalog.delete(photos.open("default"), "p02")
    timeline.locator("[data-id=p02] button").press("Enter")
    timeline.get_by_role("alert").wait_for()
    alert = timeline.get_by_role("alert")
    assert is_in_sight(alert)
    assert alert.inner_text().split("\n")[0] == "This photo is no longer here."
    assert timeline.locator("#status").inner_text().split("\n")[0] == "23 of 59 photos"
    assert shown(timeline)[:3] == ["p00", "p01", "p03"]
    assert timeline.evaluate("document.activeElement.closest('[data-id]').dataset.id") == "p03"
    assert "item=" not in timeline.url
    timeline.go_back()
    assert timeline.url == "about:blank"


def test_an_address_of_a_deleted_photo_says_so(timeline: Any, settled: Any) -> None:
    timeline.goto("/?item=Pictures%2Fnope.jpg")
    timeline.locator(".done[role=alert]").get_by_text("This photo is no longer here.").wait_for()
    settled(timeline)
    assert "24 of 60 photos" in timeline.locator("#status").inner_text()
    timeline.goto("/?like=Pictures%2Fnope.jpg")
    timeline.locator(".message").get_by_text("This photo is no longer here.").wait_for()


def test_the_button_of_a_long_notice_stays_on_one_line(phone: Any) -> None:
    phone.route("**/search/image", lambda route: route.abort())
    phone.get_by_role("button", name="Show more").click()
    close = phone.get_by_role("alert").get_by_role("button", name="Close")
    close.wait_for()
    lines = """(button) => {
        const text = document.createRange();
        text.selectNodeContents(button);
        return text.getClientRects().length;
    }"""
    assert close.evaluate(lines) == 1


def test_the_way_back_of_a_photo_is_a_command_that_can_be_copied(timeline: Any) -> None:
    say = """async ([id, metadata]) => {
        const { wayBack } = await import(new URL("page/changes/restoring.js", document.baseURI));
        return wayBack({ id, metadata }).textContent;
    }"""
    named = timeline.evaluate(say, ["Nice/it's.jpg", {"folder": "Nice"}])
    assert named.endswith(r": tessera index deleted --restore 'Nice/it'\''s.jpg'")
    timeline.evaluate("history.replaceState(null, '', '?collection=trips')")
    named = timeline.evaluate(say, ["a.jpg", {"folder": "Nice"}])
    assert named.endswith(": tessera index deleted --restore a.jpg --collection trips")
    assert timeline.evaluate(say, ["a", {}]) == "To bring it back, add it again."


def test_a_failure_of_an_open_photo_is_said_in_it(timeline: Any, search: Any) -> None:
    search(timeline, "red")
    timeline.locator(".hit .title button").first.click()
    viewer = timeline.locator("#viewer[open]")
    viewer.wait_for()
    timeline.route("**/align", lambda route: route.abort())
    viewer.get_by_role("button", name="Save picture").click()
    viewer.get_by_role("alert").wait_for()
    assert is_in_sight(viewer.get_by_role("alert"))


def test_a_file_that_is_no_photo_is_refused_in_sight(timeline: Any) -> None:
    timeline.evaluate("window.scrollTo(0, 1000)")
    text = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"no photo"}
    timeline.set_input_files("#file", text)
    alert = timeline.get_by_role("alert")
    alert.wait_for()
    assert is_in_sight(alert)
