"""Near-duplicates on the page: one card, and the list of all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from app.engine.engine import Engine
from app.http.server import OPTIONS
from app.imports.folder import find
from app.imports.folders.series import group_photos
from app.imports.storing import import_sources
from app.main import create_app
from app.settings import Settings
from tests.app.conftest import CAT
from tests.processes.listening import listen


@pytest.fixture(scope="module")
def series_site(tmp_path_factory: pytest.TempPathFactory, small_matcher: Path) -> Iterator[str]:
    """A service with three copies of a photo and another one."""
    data = tmp_path_factory.mktemp("series")
    folder = data / "photos"
    folder.mkdir()
    assert isinstance(CAT, Path)
    for name in ("a", "b", "c"):
        (folder / f"{name}.jpg").write_bytes(CAT.read_bytes())
    Image.new("RGB", (60, 40), "navy").save(folder / "night.jpg")
    without = dict.fromkeys(("captioner", "region_captioner", "grounder"))
    settings = Settings(data=data, matcher=small_matcher, originals=(folder,), **without)
    engine = Engine.load(settings)
    assert list(import_sources(engine, "default", find([folder]), batch=4, most_bytes=10**7))
    assert group_photos(engine, "default", None).changed == 3
    with listen(create_app(settings, engine), **OPTIONS) as address:
        yield address
    engine.catalog.close()


@pytest.fixture
def photos(
    browser: SimpleNamespace, series_site: str, watched: Callable[..., Any]
) -> Iterator[Any]:
    with watched(browser, series_site) as opened:
        yield opened


def test_one_photo_of_a_series_is_shown_and_opens_the_others(photos: Any, search: Any) -> None:
    search(photos, "a cat")
    assert photos.locator("#results .gallery > .hit").count() == 2
    more = photos.get_by_role("button", name="2 more")
    more.click()
    others = photos.locator(".series .small-photos button")
    others.first.wait_for()
    assert others.count() == 2
    assert more.get_attribute("aria-expanded") == "true"
    others.first.click()
    photos.wait_for_selector("#viewer[open]")
    link = photos.get_by_role("link", name="Original")
    link.wait_for()
    answer = photos.request.get(link.evaluate("link => link.href"))
    assert answer.body() == Path(CAT).read_bytes()


def test_the_list_of_series_deletes_all_but_one_after_a_question(photos: Any) -> None:
    photos.goto("/")
    listed = photos.locator("#duplicates")
    listed.locator("summary").click()
    assert "3 photos are the same, or nearly: 1 series" in listed.inner_text()
    assert "never touches a file" in listed.inner_text()
    names = listed.locator(".copies .title").all_inner_texts()
    notes = [text.split("\n") for text in listed.locator(".copies .note").all_inner_texts()]
    assert names == ["a.jpg", "b.jpg", "c.jpg"]
    assert [folder for folder, _ in notes] == ["photos"] * 3
    assert ["the one to keep" in size for _, size in notes] == [True, False, False]
    photos.get_by_role("button", name="Keep the largest alone").click()
    said = "Deletes photos/b.jpg and photos/c.jpg. Keeps photos/a.jpg."
    assert said in listed.locator(".actions").inner_text()
    photos.get_by_role("button", name="Delete 2 here").click()
    photos.wait_for_selector(".remark:has-text('Deleted: 2 photos.')")
    photos.get_by_role("button", name="Undo").click()
    photos.wait_for_selector(".remark:has-text('next import of their folder: 2 photos.')")
    listed.wait_for(state="hidden")
    assert photos.locator("#status").inner_text().split("\n")[0] == "2 photos"
    assert photos.request.get("/duplicates").json()["series"] == 0
