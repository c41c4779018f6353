"""Photos with dates, places and keywords, and pages of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.engine.drafts import Draft
from app.engine.engine import Engine
from tests.stored_items import put

TODAY = "2021-06-21T12:00:00"  # no photo is of such a day
COLOURS = ("red", "lime", "blue", "white", "orange", "yellow")


def describe(number: int) -> dict[str, Any]:
    """The metadata of a photo with a number."""
    year, month = divmod(2021 * 12 + 5 - number // 2, 12)
    lisbon = number % 3 == 0
    return {
        "taken": f"{year}-{month + 1:02}-{20 - 10 * (number % 2)}T15:22:10+01:00",
        "taken_from": "exif",
        "camera": "Apple iPhone 12" if number % 2 else "Canon EOS 80D",
        "city": "Lisbon" if lisbon else "Berlin",
        "country": "Portugal" if lisbon else "Germany",
        "latitude": 38.7125,
        "width": 4032,
        "height": 3024,
        "folder": f"{year}",
        "file": f"{year}/IMG_{number}.HEIC",
        "keywords": ["holiday"] if number < 3 else [],
    }


@pytest.fixture
def photos(engine: Engine, png: Callable[..., bytes]) -> Engine:
    """An engine with sixty photos, two a month.

    They are `p00` to `p59`, from June 2021 back to January 2019.
    """
    drafts = [
        Draft(f"p{number:02}", describe(number)).with_photo(
            png(COLOURS[number % 6], COLOURS[number // 6 % 6], size=(40 + number, 30))
        )
        for number in range(60)
    ]
    put(engine, "default", drafts)
    return engine


@pytest.fixture
def timeline(browser: Any, photos: Engine, address: str, watched: Any) -> Iterator[Any]:
    """The page with a timeline of the photos."""
    with watched(browser, address) as page:
        page.clock.set_fixed_time(TODAY)
        page.goto("/")
        page.wait_for_selector("#results:not([aria-busy]) .hit img")
        yield page


@pytest.fixture
def phone(browser: Any, photos: Engine, address: str, watched: Any) -> Iterator[Any]:
    """The timeline on a phone with a touch screen."""
    form = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with watched(browser, address, **form) as page:
        page.clock.set_fixed_time(TODAY)
        page.goto("/")
        page.wait_for_selector("#results:not([aria-busy]) .hit img")
        yield page


@pytest.fixture
def settled() -> Callable[[Any], None]:
    """Waits until an answer is shown."""
    return lambda page: page.wait_for_selector("#results:not([aria-busy]) :is(.hit, .message)")


@pytest.fixture
def shown() -> Callable[[Any], list[str]]:
    """Lists the ids of the shown photos."""
    return lambda page: page.locator("[data-id]").evaluate_all(
        "cards => cards.map((card) => card.dataset.id)"
    )
