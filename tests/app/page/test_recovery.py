"""The page while the service starts, and after it was away."""

from __future__ import annotations

from typing import Any

import pytest


def test_an_answer_comes_by_itself_once_the_service_is_back(page: Any, search: Any) -> None:
    search(page, "cat log")
    page.context.set_offline(True)
    page.locator("#words").fill("a log")
    page.keyboard.press("Enter")
    page.get_by_role("alert").get_by_text("Tessera did not answer.").wait_for()
    page.context.set_offline(False)
    page.wait_for_selector("#results:not([aria-busy]) .hit .phrase")
    assert page.locator("#words").input_value() == "a log"
    assert page.get_by_role("alert").count() == 0


def test_what_the_session_allows_comes_with_it(timeline: Any, settled: Any) -> None:
    timeline.route("**/session", lambda route: route.abort())
    timeline.route("**/items?*", lambda route: route.abort())
    timeline.reload()
    timeline.get_by_role("alert").wait_for()
    assert timeline.get_by_role("button", name="Add", exact=True).is_hidden()
    timeline.unroute("**/items?*")
    timeline.unroute("**/session")
    timeline.wait_for_selector("#results:not([aria-busy]) .hit")
    assert timeline.get_by_role("button", name="Add", exact=True).is_visible()


@pytest.mark.parametrize("status", [None, 503])
def test_a_fault_of_one_request_is_not_repeated(page: Any, status: int | None) -> None:
    tries: list[str] = []

    def refuse(route: Any) -> None:
        tries.append(route.request.url)
        if status is None:
            route.abort()
        else:
            route.fulfill(status=status)

    page.route("**/search/image", refuse)
    page.goto("/?q=cat")
    page.get_by_role("alert").wait_for()
    page.wait_for_timeout(3000)
    assert len(tries) == 1


def test_a_starting_service_is_named_in_neutral_words(page: Any) -> None:
    held: list[Any] = []
    page.route("**/session", lambda route: held.append(route))
    page.goto("/")
    page.get_by_role("heading", name="Tessera is starting").wait_for()
    assert "photo" not in page.locator("main").inner_text()
    assert "photo" not in page.locator("#words").get_attribute("aria-label")
    held[0].continue_()
    page.get_by_role("heading", name="Say what is in the photo.").wait_for()
    assert page.get_by_role("heading", name="Tessera is starting").count() == 0


def test_another_collection_is_introduced_once_its_kind_is_known(page: Any) -> None:
    held: list[Any] = []
    page.goto("/")
    page.get_by_role("heading", name="Say what is in the photo.").wait_for()
    page.route("**/items?*", lambda route: held.append(route))
    page.get_by_label("Collection").select_option("many")
    page.locator("#start").wait_for(state="hidden")
    held[0].continue_()
    page.locator("#start").wait_for()
