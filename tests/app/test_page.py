"""The page at / in a real browser, against the real service."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest
import skimage
import uvicorn
from PIL import Image

from app.engine import Draft, Engine
from app.main import create_app
from app.settings import Settings

sync_api = pytest.importorskip("playwright.sync_api", reason="the browser tests need Playwright")
CHROMIUM = Path("/usr/bin/chromium")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}"),
]

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
PHOTOS = Path(skimage.__file__).parent / "data"
CAT = PHOTOS / "chelsea.png"
MARKUP = "a cat <img src=x onerror=alert(1)> on a log"


def jpeg(path: Path, shift: int = 0) -> bytes:
    file = BytesIO()
    image = Image.open(path).convert("RGB")
    image.crop((shift, 0, image.width, image.height)).save(file, "JPEG")
    return file.getvalue()


def filled(engine: Engine) -> Engine:
    """Five photos by default, thirty in `many`, and one collection that was emptied."""
    names = ["astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg", "motorcycle_left.png"]
    drafts = [Draft(name.split(".")[0]).with_photo(jpeg(PHOTOS / name)) for name in names]
    drafts[1] = Draft("chelsea", sentences=("a ginger cat", MARKUP)).with_photo(jpeg(CAT))
    engine.put("default", drafts)
    many = [Draft(f"cat {shift}").with_photo(jpeg(CAT, shift)) for shift in range(30)]
    engine.put("many", many)
    engine.put("empty", drafts[:1])
    engine.catalog.delete(engine.open("empty"), "astronaut")
    return engine


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, small_matcher: Path) -> Iterator[str]:
    """One service for all tests, since none of them changes it."""
    settings = Settings(data=tmp_path_factory.mktemp("site"), matcher=small_matcher)
    engine = filled(Engine.load(matcher=small_matcher, captioner=None, data=settings.data))
    server = uvicorn.Server(
        uvicorn.Config(create_app(settings, engine), port=0, log_level="warning", ws="none")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        thread.join(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()
    engine.catalog.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[SimpleNamespace]:
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield opened
        opened.close()


@pytest.fixture
def page(browser, site) -> Iterator[SimpleNamespace]:
    with watched(browser, site) as opened:
        yield opened


@pytest.fixture
def asked(browser, address, png) -> Iterator[SimpleNamespace]:
    """A page of a service with a captioner and a grounder, asked with a photo."""
    with watched(browser, address) as opened:
        opened.goto("/")
        photo = {"name": "red.png", "mimeType": "image/png", "buffer": png("red")}
        opened.set_input_files("#file", photo)
        yield opened


@contextmanager
def watched(browser, site) -> Iterator[SimpleNamespace]:
    """A page that asks no other host and reports no error."""
    context = browser.new_context(base_url=site, viewport={"width": 1100, "height": 800})
    opened = context.new_page()
    asked: list[str] = []
    wrong: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
    yield opened
    context.close()
    assert asked
    assert [url for url in asked if not url.startswith((site, f"blob:{site}"))] == []
    # A refused request is logged by the browser itself; the page's own mistakes are not excused.
    assert [line for line in wrong if "Failed to load resource" not in line] == []


def search(page, text: str) -> None:
    page.goto("/")
    page.get_by_role("searchbox").fill(text)
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit .word")


def ask_with_photo(page) -> None:
    page.goto("/")
    page.set_input_files("#file", CAT)
    page.wait_for_selector(".sentence")


def topmost(hit):
    """The box of a hit that no other covers."""
    boxes = hit.locator(".box").all()
    return max(reversed(boxes), key=lambda box: int(box.evaluate("box => box.style.zIndex")))


def fits(page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_query_shows_every_photo_with_its_score_best_first(page):
    search(page, "a cat on a log")
    assert page.get_by_role("status").inner_text() == "5 photos"
    scores = [float(s.replace("−", "-")) for s in page.locator(".hit .score").all_inner_texts()]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 5


def test_the_words_of_a_hit_add_up_to_its_score(page):
    search(page, "a cat on a log")
    hit = page.locator(".hit").first
    texts = hit.locator(".word .number, .score").all_inner_texts()
    score, *words = [float(text.replace("−", "-")) for text in texts]
    assert len(words) == 5
    assert sum(words) == pytest.approx(score, abs=0.005 * (len(words) + 1))


def test_a_word_lights_its_box_in_every_photo(page):
    search(page, "a cat on a log")
    page.locator("#query .word").nth(1).hover()
    for hit in page.locator(".hit").all():
        assert hit.locator(".box.lit").count() == 1
        assert hit.locator(".word.lit .name").all_inner_texts() == ["cat"]


def test_a_box_lights_the_words_that_chose_it_and_no_other_photo(page):
    search(page, "a cat on a log")
    hit = page.locator(".hit").first
    box = topmost(hit)
    box.hover()
    assert box.get_attribute("aria-label").split(" for ")[1].split(", ") == (
        hit.locator(".word.lit .name").all_inner_texts()
    )
    assert page.locator(".box.lit").count() == 1


def test_a_click_keeps_the_light_and_escape_puts_it_out(page):
    search(page, "a cat on a log")
    word = page.locator("#query .word").first
    word.click()
    page.mouse.move(1, 1)
    assert page.locator(".box.lit").count() == 5
    assert word.get_attribute("aria-pressed") == "true"
    page.keyboard.press("Escape")
    assert page.locator(".box.lit").count() == 0


def test_everything_can_be_done_by_keyboard(page):
    page.goto("/")
    page.keyboard.type("a cat on a log")  # the search box has the focus
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit .word")
    for _ in range(4):  # past the photo button, the search button and the collections
        page.keyboard.press("Tab")
    assert page.locator(".box.lit").count() == 5
    page.keyboard.press("ArrowRight")
    assert page.locator("#query .word.lit .name").all_inner_texts() == ["cat"]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.hit .photo') !== null")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.hit .words') !== null")
    page.keyboard.press("Escape")
    assert page.locator(".lit").count() == 0


def test_a_search_has_an_address_of_its_own(page):
    search(page, "a cat & a log")
    page.goto("/")
    page.go_back()
    page.wait_for_selector(".hit .word")
    assert page.get_by_role("searchbox").input_value() == "a cat & a log"
    page.reload()
    page.wait_for_selector(".hit .word")


def test_a_photo_gets_its_sentences_and_says_why_it_has_no_caption(page):
    ask_with_photo(page)
    assert set(page.locator(".sentence q").all_inner_texts()) == {"a ginger cat", MARKUP}
    page.locator(".sentence .word").first.hover()
    assert page.locator("#query .box.lit").count() == 1
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


def test_a_photo_without_a_grounder_says_so(page):
    ask_with_photo(page)
    page.get_by_label("What to point out in this photo").fill("a cat")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=no grounder is loaded")


def test_similar_photos_show_which_parts_are_alike(page):
    ask_with_photo(page)
    page.get_by_role("button", name="Find similar photos").click()
    page.wait_for_selector(".hit .photo")
    topmost(page.locator(".hit").first).hover()
    assert page.locator("#query .box.lit").count() >= 1


def test_a_stored_photo_can_be_asked_with(page):
    page.goto("/")
    page.locator("button[title=coffee]").click()
    page.wait_for_selector("h2:has-text('Similar photos')")
    assert page.url.endswith("?like=coffee")


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
    page.wait_for_selector(".hit .word")
    assert page.locator(".hit").count() == 24
    page.get_by_role("button", name="Show more").click()
    page.locator(".hit").nth(29).wait_for()
    assert page.locator(".hit").count() == 30
    assert page.get_by_role("button", name="Show more").is_hidden()


def test_the_picture_of_an_alignment_can_be_saved(page):
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


def test_markup_from_the_collection_stays_text(page):
    ask_with_photo(page)
    assert page.locator("q img").count() == 0


def test_every_control_has_a_name(page):
    ask_with_photo(page)
    unnamed = "[...document.querySelectorAll('button, input, select')].filter((control) =>"
    unnamed += " !(control.ariaLabel || control.innerText || control.title)).length"
    assert page.evaluate(unnamed) == 0


def test_a_narrow_phone_needs_no_sideways_scrolling(page):
    page.set_viewport_size({"width": 320, "height": 640})
    page.goto("/")
    page.wait_for_selector(".hit img")
    assert fits(page)
    search(page, "a cat on a log next to Donaudampfschifffahrtsgesellschaftskapitaenspatent")
    assert fits(page)
    ask_with_photo(page)
    assert fits(page)
