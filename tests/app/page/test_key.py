"""The page asks for a key, hides and forgets it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from app.access.key_file import add_key
from app.access.keys import make_key
from app.access.sessions import LONGEST
from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.roles import Role
from app.settings import Settings
from tests.stored_items import put


@pytest.fixture
def secrets(settings: Settings) -> dict[str, str]:
    """Keys of a service: one for everything, one for the collection `shop`."""
    made = {
        "anna": make_key("anna", Role.READ),
        "shop": make_key("shop", Role.READ, collections=("shop",)),
    }
    for _, key in made.values():
        add_key(settings.keys_file, key)
    return {name: secret for name, (secret, _) in made.items()}


@pytest.fixture
def door(
    browser: Any,
    secrets: dict[str, str],
    engine: Engine,
    png: Callable[..., bytes],
    address: str,
    watched: Callable[..., Any],
) -> Iterator[SimpleNamespace]:
    """The page of a service with keys and one photo twice."""
    for collection, colour in (("default", "red"), ("shop", "blue")):
        put(engine, collection, [Draft(colour).with_photo(png(colour))])
    with watched(browser, address) as opened:
        opened.goto("/")
        yield opened


def enter(page: Any, key: str) -> None:
    page.get_by_label("Key", exact=True).fill(key)
    page.keyboard.press("Enter")


def test_a_key_opens_the_page_and_its_photos_by_keyboard_alone(door, secrets):
    dialog = door.get_by_role("dialog", name="A key, please")
    dialog.wait_for()
    assert door.evaluate("document.activeElement.id") == "secret"
    door.keyboard.type(secrets["anna"])
    door.keyboard.press("Enter")
    door.wait_for_selector("button[title=red] img")
    assert not dialog.is_visible()
    door.evaluate("Promise.all([...document.images].map((image) => image.decode()))")
    door.reload()
    door.wait_for_selector("button[title=red] img")
    assert not dialog.is_visible()


def test_a_wrong_key_is_refused_and_can_be_corrected(door, secrets):
    enter(door, "tessera_wrong")
    door.wait_for_selector("#refused:has-text('This key is not known here')")
    assert door.evaluate("document.activeElement.id") == "secret"
    enter(door, f" {secrets['anna']} ")
    door.wait_for_selector("button[title=red] img")


def test_scripts_cannot_read_the_key_and_other_sites_do_not_bring_it(door, secrets):
    enter(door, secrets["anna"])
    door.wait_for_selector("button[title=red] img")
    assert door.evaluate("document.cookie") == ""
    stored = "JSON.stringify([{...localStorage}, {...sessionStorage}])"
    assert door.evaluate(stored) == "[{},{}]"
    (cookie,) = door.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert 0 < cookie["expires"] - time.time() <= LONGEST
    assert secrets["anna"] not in cookie["value"]


def test_who_has_no_key_is_told_and_can_try_again(door):
    door.get_by_role("button", name="Not now").click()
    said = door.locator(".message[role=alert] p")
    assert said.inner_text() == "This Tessera needs a key. Whoever runs it can make you one."
    assert not door.get_by_role("dialog").is_visible()
    door.get_by_role("button", name="Enter a key").click()
    door.get_by_role("dialog").wait_for()
    door.keyboard.press("Escape")
    door.get_by_role("heading", name="A key is needed").wait_for()


@pytest.mark.parametrize("place", ["/?q=red", "/"])
def test_the_focus_is_on_the_page_after_a_sign_in(door, secrets, settled, place):
    door.goto(place)
    door.get_by_role("button", name="Not now").click()
    door.get_by_role("button", name="Enter a key").press("Enter")
    enter(door, secrets["anna"])
    door.wait_for_selector("#results:not([aria-busy]) .hit")
    assert door.evaluate("document.activeElement.id") == "results"
    door.context.clear_cookies()
    door.goto(place)
    enter(door, secrets["anna"])
    door.wait_for_selector("#results:not([aria-busy]) .hit")
    assert door.evaluate("document.activeElement.id") == ("results" if "q=" in place else "words")


def test_a_key_of_one_collection_shows_that_one(door, secrets):
    enter(door, secrets["shop"])
    door.wait_for_selector("button[title=blue] img")
    assert door.url.endswith("?collection=shop")
    assert door.locator("#collections").is_hidden()
    door.goto("/?collection=default")
    assert "bound" in door.get_by_role("alert").inner_text()


def test_signing_out_forgets_the_key(door, secrets):
    enter(door, secrets["anna"])
    door.wait_for_selector("button[title=red] img")
    door.get_by_role("button", name="Sign out").click()
    door.get_by_role("dialog").wait_for()
    assert door.context.cookies() == []
    assert door.get_by_role("button", name="Sign out").is_hidden()


def test_a_service_without_keys_asks_for_none(page):
    page.goto("/")
    page.wait_for_selector(".hit img")
    assert page.locator("#key").is_hidden()
    assert page.locator("#leave").is_hidden()
