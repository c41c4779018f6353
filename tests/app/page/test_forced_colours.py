"""The page in forced colours, such as those of Windows' high contrast."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from PIL import Image


@pytest.fixture(params=["light", "dark"])
def forced(
    request: pytest.FixtureRequest, browser: Any, site: str, watched: Any, with_phrases: Any
) -> Iterator[Any]:
    """The answer to "a cup", in forced colours."""
    colours = {"forced_colors": "active", "color_scheme": request.param}
    with watched(browser, site, reduced_motion="reduce", **colours) as page:
        with_phrases(page, {})
        page.goto("/?q=a+cup")
        page.wait_for_selector("#results:not([aria-busy]) .phrase")
        yield page


def count_tones(element: Any) -> int:
    """Count different tones on at least a fiftieth of an element."""
    drawn = Image.open(BytesIO(element.screenshot())).convert("L").quantize(8)
    counts = drawn.getcolors() or []
    return sum(count * 50 > drawn.width * drawn.height for count, _ in counts)


def test_bars_and_their_legend_are_drawn(forced: Any) -> None:
    bar = forced.locator(".hit .gave").first
    assert count_tones(bar) > 1
    for tone in forced.locator("#query .key").all():
        assert count_tones(tone) > 1 or "by-part" in tone.get_attribute("class")
    backgrounds = (
        forced.locator(".hit .gave")
        .first.locator("span")
        .evaluate_all(
            "parts => parts.map((part) => getComputedStyle(part).backgroundImage !== 'none')"
        )
    )
    assert backgrounds == [True, False]  # striped, and filled


def colours_of(element: Any) -> tuple[str, str]:
    style = "one => [getComputedStyle(one).backgroundColor, getComputedStyle(one).color]"
    background, ink = element.evaluate(style)
    return background, ink


def test_what_is_chosen_and_lit_has_the_colours_of_a_selection(forced: Any) -> None:
    chosen, other = forced.locator("#kinds button").all()
    assert colours_of(chosen) != colours_of(other)
    word = forced.locator("#query .word").first
    word.click()
    assert colours_of(word) == colours_of(chosen)
    assert word.evaluate("word => getComputedStyle(word).outlineStyle") == "solid"
    box = forced.locator(".hit .box.lit").first
    assert box.evaluate("box => getComputedStyle(box).borderColor") == "rgb(255, 178, 36)"
