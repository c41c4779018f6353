"""Hits on the page: phrases, likelihood, weak matches and credits."""

import pytest

from tests.processes.waiting import eventually

ENGLISH = "This model reads English: try English words."


def test_a_query_shows_every_photo_best_first_and_what_each_phrase_gave(page, search):
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


def test_a_phrase_without_a_box_is_answered_by_the_whole_photo(page, cup_at_night, search):
    search(page, "a cup at night")
    hit = page.locator(".hit").first
    row = hit.locator(".phrase", has_text="at night")
    assert row.locator(".where").evaluate("where => getComputedStyle(where).opacity") == "0"
    row.hover()
    assert row.locator(".where").inner_text() == "the whole photo"
    assert row.locator(".where").evaluate("where => getComputedStyle(where).opacity") == "1"
    assert hit.locator(".everything.lit").count() == 1
    assert page.locator(".box.lit").count() == 0


def test_a_bar_tells_what_the_whole_photo_gave_from_what_the_part_added(page, cup_at_night, search):
    search(page, "a cup at night")

    def widths(row) -> list[float]:
        return [row.locator(f".{tone}").bounding_box()["width"] for tone in ("by-whole", "by-part")]

    cup, night = page.locator(".hit").first.locator(".phrase").all()
    full = cup.locator(".gave").bounding_box()["width"]
    assert widths(cup) == pytest.approx([0.75 * full, 0.25 * full], abs=0.5)
    assert widths(night) == pytest.approx([0.5 * full, 0], abs=0.5)
    assert cup.get_attribute("title") == "4.00: the whole photo 3.00, this part 1.00"
    assert "marked part added" in page.locator("#query").inner_text()


def test_a_negated_phrase_is_struck_out_and_its_bar_negative(page, search, with_phrases):
    people = {"text": "without people", "span": [6, 20], "negated": True, "box": None}
    with_phrases(page, {}, people | {"similarity": -1.0, "whole": -1.0})
    search(page, "a cup without people")
    assert page.locator("#query s.name").all_inner_texts() == ["without people"]
    row = page.locator(".hit").first.locator(".phrase.negative.negated")
    assert row.locator(".number").inner_text() == "−1.00"


def test_what_is_only_negated_says_that_it_is_not_there(page, search, with_phrases):
    people = {"text": "people", "span": [3, 9], "negated": True, "box": None}
    with_phrases(page, people | {"similarity": 2.0, "whole": None, "added": None})
    search(page, "no people")
    row = page.locator(".hit").first.locator(".phrase.negated:not(.negative)")
    assert row.get_attribute("title") == "2.00, because it is not there"


def test_the_whole_sentence_is_not_written_again(page, search, with_phrases):
    sentence = {"text": "cup", "span": [0, 3], "box": None}
    with_phrases(page, sentence | {"similarity": 3.0}, sentence)
    search(page, "cup")
    names = page.locator(".hit").first.locator(".phrase .name").all_inner_texts()
    assert names == ["cup", "whole sentence"]


def test_weak_matches_stand_below_a_line(page, search, with_probabilities):
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


def test_a_query_that_nothing_answers_says_so(page, search, with_probabilities):
    with_probabilities(page, 0.3, 0.2, 0.1, 0.1, 0.0, weak_below=0.5)
    search(page, "cat log")
    assert page.get_by_role("heading", name="Nothing here looks like that").is_visible()
    assert page.get_by_text(ENGLISH).count() == 0
    assert page.locator(".weak-line").count() == 0
    assert page.locator(".hit.weak").count() == 5


@pytest.mark.parametrize("text", ["cat asdfgh", "cat 海滩", "a catt"])
def test_weak_matches_of_words_that_are_not_english_advise_it(
    page, search, with_probabilities, text
):
    with_probabilities(page, 0.3, 0.2, 0.1, 0.1, 0.0, weak_below=0.5)
    search(page, text)
    assert page.locator(".nothing p").last.inner_text() == ENGLISH


def test_words_that_no_model_knows_advise_english(page):
    page.goto("/?q=海滩")
    page.get_by_role("heading", name="Nothing found").wait_for()
    note = '"海滩" is left out: the model reads only Latin letters.'
    assert page.locator(".message p").all_inner_texts() == [note, ENGLISH]
    assert page.get_by_role("status").inner_text() == ""


def test_an_unknown_word_is_named_once(page):
    page.goto("/?q=zxqwv")
    page.get_by_role("heading", name="Nothing found").wait_for()
    page.wait_for_selector("#results:not([aria-busy])")
    assert (
        page.locator("main").inner_text().count("zxqwv") == 2
    )  # the hidden heading has the search
    assert page.get_by_text("No word of the query is known").count() == 0


def test_hits_without_phrases_get_no_hint_about_them(page, changed):
    def change(body):
        body["query"].update(fragments=[])
        for hit in body["hits"]:
            hit.update(phrases=[], links=[])

    changed(page, "search/image", change)
    page.goto("/?q=cat")
    page.wait_for_selector("#results:not([aria-busy]) .hit")
    assert page.locator("#query").is_hidden()
    assert page.locator(".hint").count() == 0


def test_the_line_is_drawn_once_when_more_photos_follow(page, changed):
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


def test_without_probabilities_no_hit_is_called_weak(page, search):
    search(page, "cat log")
    assert page.locator(".likelihood, .weak, .weak-line, .nothing").count() == 0


def test_notes_on_the_query_stand_above_the_hits(page, search, changed):
    note = '"asdfgh" is not a word that the model knows: it is left out.'
    changed(page, "search/image", lambda body: body["query"].update(notes=[note]))
    search(page, "cat asdfgh")
    assert page.get_by_role("status").locator(".remark").all_inner_texts() == [note]


def test_every_photo_names_its_author_and_licence(page, search):
    page.goto("/")
    page.wait_for_selector(".hit img")
    assert page.locator(".hit .credit").count() == 5
    search(page, "cat log")
    assert page.locator(".hit .credit").count() == 5
    page.goto("/?like=chelsea")
    credit = page.locator("#query .credit")
    credit.wait_for()
    assert credit.inner_text() == "Photo: Stéfan van der Walt · CC0"


def test_one_item_with_something_to_choose_by_makes_no_shop(page, search, changed):
    changed(page, "items?*", lambda body: body["items"][0]["metadata"].update(album="park"))
    page.goto("/")
    search(page, "cat log")
    assert page.locator(".hit .credit").count() == 5
    assert page.locator(".product, #facets:visible").count() == 0


def test_an_unlikely_caption_is_a_guess_and_no_headline(asked, png, changed):
    def change(body) -> None:
        body["captions"][0]["unsure"] = True

    changed(asked, "caption", change)
    photo = {"name": "blue.png", "mimeType": "image/png", "buffer": png("blue")}
    asked.set_input_files("#file", photo)
    asked.wait_for_selector(".caption:has-text('Not sure what this shows')")
    assert asked.locator("#query .note").first.inner_text() == "best guess: 40 by 30"


def test_a_phrase_that_is_not_found_in_the_photo_says_so(asked, changed):
    def change(body) -> None:
        body["phrases"][0].update(present=False, boxes=[])

    changed(asked, "ground", change)
    ask = asked.get_by_label("What to point out in this photo")
    ask.fill("a dog, the right")
    ask.press("Enter")
    asked.wait_for_selector(".point .word.lit:has-text('the right')")
    absent = asked.locator(".point .word").first
    assert absent.inner_text().split("\n") == ["a dog", "not found"]
    assert asked.locator("[data-group=point]").count() == 1
    ask.fill("a dog")
    ask.press("Enter")
    asked.wait_for_selector(".point li:only-child .word:has-text('not found')")
    assert asked.locator("[data-group=point], .lit").count() == 0


def test_items_are_counted_and_not_their_photos(page):
    page.goto("/?collection=many&q=cat")
    page.wait_for_selector("[role=status]:has-text('24 of 30 photos')")


def test_how_many_pass_a_filter_is_said(page):
    page.goto('/?collection=many&q=cat&filter={"kind":"cat"}')
    page.wait_for_selector("[role=status]:has-text('24 of 30 photos')")


def test_parts_of_photos_are_shown_instead_of_photos(page, search):
    search(page, "cat log")
    assert page.locator("#kinds button[aria-pressed=true]").inner_text() == "Photos"
    page.get_by_role("button", name="Parts").click()
    page.locator(".stage.crop img").first.wait_for()
    assert "parts=1" in page.url
    assert page.get_by_role("status").inner_text() == "5 parts"
    for picture in page.locator(".stage.crop img").all():
        picture.scroll_into_view_if_needed()
        assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
        assert "/crop?" in picture.get_attribute("src")
    first = page.locator(".hit").first
    assert first.locator(".phrase .number").count() > 0
    first.locator(".title button").click()
    page.locator("#viewer[open] .photo").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Photos").click()
    page.locator(".hit .photo .box").first.wait_for(state="attached")
    assert "parts" not in page.url


def test_sentences_like_a_text_name_the_words_that_answer_it(page, search):
    search(page, "a cat on a log")
    sentences = page.get_by_role("list", name="Sentences like this")
    sentences.wait_for()
    first = sentences.locator(".sentence").first
    assert "log" in first.locator("q").inner_text()
    row = first.locator(".phrase").first
    row.hover()
    answers = row.locator(".where").inner_text()
    assert answers
    assert set(answers.split(", ")) <= set(first.locator("q").inner_text().strip("“”.").split())
    assert answers in row.get_attribute("title")


def test_lists_show_thumbnails_and_the_viewer_the_stored_photo(page, search):
    page.goto("/")
    wall = page.locator(".wall .hit img").first
    assert "size=small" in wall.get_attribute("src")
    search(page, "cat log")
    first = page.locator(".hit img").first
    assert all(f"size={size}" in first.get_attribute("srcset") for size in ("small", "medium"))
    eventually(lambda: "size=" in first.evaluate("image => image.currentSrc"), 60)
    page.locator(".hit .title button").first.click()
    shown = page.locator("dialog img").first
    assert "size=" not in shown.get_attribute("src")
    assert shown.get_attribute("srcset") is None
