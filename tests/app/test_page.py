"""The page at / in a real browser, against the real service."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest
import uvicorn
from PIL import Image

from app import sample
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
SAMPLE = {source.id: source for source in sample.photos()}
CAT = SAMPLE["chelsea"].photo
MARKUP = "a cat <img src=x onerror=alert(1)> on a log"

# Phrases as /search/image gives them: one that a part of the photo answers, and one without a box.
CUP = {
    "text": "a cup",
    "span": [0, 5],
    "similarity": 4.0,
    "whole": 3.0,
    "added": 1.0,
    "box": [0.25, 0.25, 0.75, 0.75],
    "negated": False,
}
NIGHT = CUP | {"text": "at night", "span": [6, 14], "similarity": 2.0, "whole": 2.0, "box": None}


def jpeg(path: Path, shift: int = 0) -> bytes:
    file = BytesIO()
    image = Image.open(path).convert("RGB")
    image.crop((shift, 0, image.width, image.height)).save(file, "JPEG")
    return file.getvalue()


def filled(engine: Engine) -> Engine:
    """Five sample photos by default, thirty in `many`, and one collection that was emptied."""
    names = ["astronaut", "chelsea", "coffee", "rocket", "motorcycle_left"]
    sentences = {"chelsea": ("a ginger cat", MARKUP)}
    drafts = [
        Draft(name, SAMPLE[name].metadata, sentences=sentences.get(name, ())).with_photo(
            jpeg(SAMPLE[name].photo)
        )
        for name in names
    ]
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
    page.wait_for_selector(".hit .phrase")


def changed(page, path: str, change) -> None:
    """Let `change` edit the service's answers at a path, as another matcher might give them."""

    def answer(route) -> None:
        response = route.fetch()
        body = response.json()
        change(body)
        route.fulfill(response=response, json=body)

    page.route(f"**/{path}", answer)


def with_probabilities(page, *probabilities: float, weak_below: float) -> None:
    def change(body) -> None:
        body["weak_below"] = weak_below
        for hit, probability in zip(body["hits"], probabilities, strict=True):
            hit["probability"] = probability

    changed(page, "search/image", change)


def with_phrases(page, *phrases: dict) -> None:
    def change(body) -> None:
        for hit in body["hits"]:
            hit["phrases"] = list(phrases)

    changed(page, "search/image", change)


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


def test_a_query_shows_every_photo_best_first_and_what_each_phrase_gave(page):
    search(page, "cat log")
    assert page.get_by_role("status").inner_text() == "5 photos"
    sums = [
        sum(
            float(number.replace("−", "-"))
            for number in hit.locator(".phrase .number").all_inner_texts()
        )
        for hit in page.locator(".hit").all()
    ]
    assert len(sums) == 5
    assert all(sums[at] >= sums[at + 1] - 0.04 for at in range(4))  # they are rounded


def test_a_phrase_lights_what_answers_it_in_every_photo(page):
    search(page, "cat log")
    page.locator("#query .word").first.hover()
    for hit in page.locator(".hit").all():
        assert hit.locator(".box.lit, .everything.lit").count() == 1
        assert hit.locator(".phrase.lit .name").all_inner_texts() == ["cat"]


def test_a_box_lights_the_words_that_chose_it_and_no_other_photo(page):
    with_phrases(page, CUP, NIGHT)
    search(page, "a cup at night")
    hit = page.locator(".hit").first
    box = topmost(hit)
    box.hover()
    assert box.get_attribute("aria-label") == "Part of the photo for a cup"
    assert hit.locator(".phrase.lit .name").all_inner_texts() == ["a cup"]
    assert page.locator(".box.lit").count() == 1


def test_a_click_keeps_the_light_and_escape_puts_it_out(page):
    with_phrases(page, CUP, NIGHT)
    search(page, "a cup at night")
    word = page.locator("#query .word").first
    word.click()
    page.mouse.move(1, 1)
    assert page.locator(".box.lit").count() == 5
    assert word.get_attribute("aria-pressed") == "true"
    page.keyboard.press("Escape")
    assert page.locator(".box.lit").count() == 0


def test_everything_can_be_done_by_keyboard(page):
    with_phrases(page, CUP, NIGHT)
    page.goto("/")
    page.keyboard.type("a cup at night")  # the search box has the focus
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit .phrase")
    for _ in range(4):  # past the photo button, the search button and the collections
        page.keyboard.press("Tab")
    assert page.locator(".box.lit").count() == 5
    page.keyboard.press("ArrowRight")
    assert page.locator("#query .word.lit .name").all_inner_texts() == ["at night"]
    assert page.locator(".everything.lit").count() == 5
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.hit .photo') !== null")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.hit .phrases') !== null")
    page.keyboard.press("Escape")
    assert page.locator(".lit").count() == 0


def test_a_search_has_an_address_of_its_own(page):
    search(page, "a cat & a log")
    page.goto("/")
    page.go_back()
    page.wait_for_selector(".hit .phrase")
    assert page.get_by_role("searchbox").input_value() == "a cat & a log"
    page.reload()
    page.wait_for_selector(".hit .phrase")


def test_a_phrase_without_a_box_is_answered_by_the_whole_photo(page):
    with_phrases(page, CUP, NIGHT)
    search(page, "a cup at night")
    hit = page.locator(".hit").first
    row = hit.locator(".phrase", has_text="at night")
    assert row.locator(".where").evaluate("where => getComputedStyle(where).opacity") == "0"
    row.hover()
    assert row.locator(".where").inner_text() == "the whole photo"
    assert row.locator(".where").evaluate("where => getComputedStyle(where).opacity") == "1"
    assert hit.locator(".everything.lit").count() == 1
    assert page.locator(".box.lit").count() == 0


def test_a_bar_tells_what_the_whole_photo_gave_from_what_the_part_added(page):
    with_phrases(page, CUP, NIGHT)
    search(page, "a cup at night")

    def widths(row) -> list[float]:
        return [row.locator(f".{tone}").bounding_box()["width"] for tone in ("by-whole", "by-part")]

    cup, night = page.locator(".hit").first.locator(".phrase").all()
    full = cup.locator(".gave").bounding_box()["width"]
    assert widths(cup) == pytest.approx([0.75 * full, 0.25 * full], abs=0.5)
    assert widths(night) == pytest.approx([0.5 * full, 0], abs=0.5)
    assert cup.get_attribute("title") == "4.00: the whole photo 3.00, this part 1.00"
    assert "marked part added" in page.locator("#query").inner_text()


def test_a_negated_phrase_is_struck_out_and_its_bar_negative(page):
    people = {"text": "without people", "span": [6, 20], "negated": True}
    with_phrases(page, CUP, NIGHT | people | {"similarity": -1.0, "whole": -1.0})
    search(page, "a cup without people")
    assert page.locator("#query s.name").all_inner_texts() == ["without people"]
    row = page.locator(".hit").first.locator(".phrase.negative.negated")
    assert row.locator(".number").inner_text() == "−1.00"


def test_weak_matches_stand_below_a_line(page):
    with_probabilities(page, 0.95, 0.62, 0.4, 0.2, 0.004, weak_below=0.5)
    search(page, "cat log")
    cards = page.locator(".gallery > li")
    assert cards.nth(2).inner_text() == "Weak matches below"
    assert page.locator(".weak-line").count() == 1
    assert page.locator(".hit.weak").count() == 3
    assert page.get_by_role("status").inner_text() == "2 photos, 3 weak matches"
    said = [text.split("\n") for text in page.locator(".likelihood").all_inner_texts()]
    assert [words for words, _ in said] == ["Very likely", "Likely", "Weak", "Weak", "Weak"]
    assert [percent for _, percent in said] == ["95 %", "62 %", "40 %", "20 %", "under 1 %"]
    assert page.get_by_text("Nothing here looks like that").count() == 0


def test_a_query_that_nothing_answers_says_so(page):
    with_probabilities(page, 0.3, 0.2, 0.1, 0.1, 0.0, weak_below=0.5)
    search(page, "cat log")
    assert page.get_by_role("heading", name="Nothing here looks like that").is_visible()
    assert page.locator(".weak-line").count() == 0
    assert page.locator(".hit.weak").count() == 5


def test_the_line_is_drawn_once_when_more_photos_follow(page):
    probabilities = iter([0.9] * 20 + [0.1] * 10)

    def change(body) -> None:
        body["weak_below"] = 0.5
        for hit in body["hits"]:
            hit["probability"] = next(probabilities)

    changed(page, "search/image", change)
    page.goto("/?collection=many&q=cat")
    page.get_by_role("button", name="Show more").click()
    page.locator(".hit").nth(29).wait_for()
    assert page.locator(".weak-line").count() == 1
    assert page.locator(".weak-line ~ .hit").count() == 10


def test_without_probabilities_no_hit_is_called_weak(page):
    search(page, "cat log")
    assert page.locator(".likelihood, .weak, .weak-line, .nothing").count() == 0


def test_notes_on_the_query_stand_above_the_hits(page):
    note = '"asdfgh" is not a word that the model knows: it is left out.'
    changed(page, "search/image", lambda body: body["query"].update(notes=[note]))
    search(page, "cat asdfgh")
    assert page.get_by_role("status").locator(".remark").all_inner_texts() == [note]


def test_example_queries_are_one_click_away(page):
    page.goto("/")
    page.locator("#examples").get_by_role("button", name="a red motorcycle").click()
    page.wait_for_selector(".hit .phrase")
    assert page.url.endswith("?q=a+red+motorcycle")
    assert page.get_by_role("searchbox").input_value() == "a red motorcycle"
    page.goto("/?collection=many")
    page.wait_for_selector(".hit img")
    assert page.locator("#examples button").count() == 0


def test_every_photo_names_its_author_and_licence(page):
    page.goto("/")
    page.wait_for_selector(".hit img")
    assert page.locator(".hit .credit").count() == 5
    search(page, "cat log")
    assert page.locator(".hit .credit").count() == 5
    page.goto("/?like=chelsea")
    credit = page.locator("#query .credit")
    credit.wait_for()
    assert credit.inner_text() == "Photo: Stéfan van der Walt · CC0"


def test_a_photo_gets_its_sentences_and_says_why_it_has_no_caption(page):
    ask_with_photo(page)
    assert set(page.locator(".sentence q").all_inner_texts()) == {"a ginger cat", MARKUP}
    page.locator(".sentence .phrase").first.hover()
    assert page.locator("#query .box.lit, #query .everything.lit").count() == 1
    page.wait_for_selector("text=no captioner is loaded")


def test_a_photo_gets_a_caption(asked):
    asked.wait_for_selector(".caption:has-text('40 by 30')")


def test_an_unlikely_caption_is_a_guess_and_no_headline(asked):
    def change(body) -> None:
        body["unsure_below"] = 0.3
        body["captions"][0]["probability"] = 0.1

    changed(asked, "caption", change)
    asked.reload()
    photo = {"name": "sky.png", "mimeType": "image/png", "buffer": Path(CAT).read_bytes()}
    asked.set_input_files("#file", photo)
    asked.wait_for_selector(".caption:has-text('Not sure what this shows')")
    assert asked.locator("#query .note").first.inner_text() == "best guess: 451 by 300"


def test_a_phrase_that_is_not_in_the_photo_says_so(asked):
    def change(body) -> None:
        body["phrases"][0].update(present=False, boxes=[])

    changed(asked, "ground", change)
    ask = asked.get_by_label("What to point out in this photo")
    ask.fill("a dog, the right")
    ask.press("Enter")
    asked.wait_for_selector(".point .word.lit:has-text('the right')")
    absent = asked.locator(".point .word").first
    assert absent.inner_text().split("\n") == ["a dog", "not in this photo"]
    assert asked.locator("[data-group=point]").count() == 1
    ask.fill("a dog")
    ask.press("Enter")
    asked.wait_for_selector(".point li:only-child .word:has-text('not in this photo')")
    assert asked.locator("[data-group=point], .lit").count() == 0


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
    page.wait_for_selector(".hit .phrase")
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
