"""Product queries: wishes, refusals, and photos."""

from __future__ import annotations

import pytest

from index.catalog.views import ItemRow
from index.documents.documents import Documents
from index.documents.languages.snowball import find_language
from index.products.query import ProductText, read_text


@pytest.fixture
def documents() -> Documents:
    documents = Documents({"couch": ("sofa",)})
    titles = ["Leather sofa", "Oak bookcase", "No Boundaries dress"]
    documents.add(
        [ItemRow(at + 1, f"{at}", {"title": title}, ()) for at, title in enumerate(titles)]
    )
    return documents


def typed(read: ProductText, words: str) -> list[str]:
    return [read.text[word.start : word.end] for word in getattr(read, words)]


def refused_by(read: ProductText) -> list[str]:
    return [read.text[refusal.span.start : refusal.span.end] for refusal in read.refused]


@pytest.mark.parametrize(
    ("text", "asked", "refused", "corrected"),
    [
        ("sofa", ["sofa"], [], "sofa"),
        ("sofa -leather", ["sofa"], ["leather"], "sofa without leather"),
        ("sofa without leather", ["sofa"], ["leather"], "sofa without leather"),
        ("sofa that isn’t leather", ["sofa"], ["leather"], "sofa that isn’t leather"),
        ("a dress which doesn't have oak", ["dress"], ["oak"], "a dress which doesn't have oak"),
        ("don't starve", ["don't", "starve"], [], "don't starve"),
        ("lether sofa", ["lether", "sofa"], [], "leather sofa"),
        ("no boundaries", ["no", "boundaries"], [], "boundaries"),
        (
            "oak dress, no boundaries",
            ["oak", "dress", "no", "boundaries"],
            [],
            "oak dress, boundaries",
        ),
        ("no boundaries -oak", ["no", "boundaries"], ["oak"], "boundaries without oak"),
        ("not leather", [], ["leather"], "not leather"),
        ("without boundaries", [], ["boundaries"], "without boundaries"),
        ("no oak or leather", [], ["oak", "leather"], "no oak or leather"),
        ("no lether -boundries", [], ["boundries", "lether"], "no leather without boundaries"),
        ("no one", [], [], "no one"),
        ("", [], [], ""),
        ("AB-12", ["AB-12"], [], "AB-12"),
    ],
)
def test_text_is_understood(
    documents: Documents, text: str, asked: list[str], refused: list[str], corrected: str
) -> None:
    read = read_text(text, documents)
    assert typed(read, "asked") == asked
    assert refused_by(read) == refused
    assert read.corrected == corrected


def test_notes_say_what_was_changed_left_out_and_not_found(documents: Documents) -> None:
    assert read_text("lether sofa -oak xylophone", documents).notes == (
        '"lether" is taken for "leather".',
        '"xylophone" is in no item.',
        'Items with "oak" are left out.',
    )
    assert read_text("no boundaries", documents).notes == (
        'Items are named "no boundaries": it is searched for.',
    )
    assert read_text("no lether", documents).notes == (
        '"lether" is taken for "leather".',
        'Items with "lether" are left out.',
    )


@pytest.mark.parametrize(
    ("text", "asked", "refused", "corrected"),
    [
        ("no leather sofa", ["sofa"], ["leather"], "sofa without leather"),
        ("no added leather sofa", ["sofa"], ["added leather"], "sofa without added leather"),
        ("sofa no leather seats", ["sofa"], ["leather seats"], "sofa no leather seats"),
        ("no 7 sofa", ["7", "sofa"], [], "no 7 sofa"),
        ("-20 sofa", ["-20", "sofa"], [], "-20 sofa"),
        ('sofa -"oak legs"', ["sofa"], ["oak legs"], 'sofa without "oak legs"'),
        ("sofa -the", ["sofa"], ["the"], "sofa without the"),
        ('"oak bookcase" sofa', ["oak bookcase", "sofa"], [], '"oak bookcase" sofa'),
    ],
)
def test_what_is_negated_before_it_is_asked_for(
    documents: Documents, text: str, asked: list[str], refused: list[str], corrected: str
) -> None:
    read = read_text(text, documents)
    assert (typed(read, "asked"), refused_by(read)) == (asked, refused)
    assert read.corrected == corrected


def test_function_words_are_asked_for_where_there_are_no_others(documents: Documents) -> None:
    assert typed(read_text("the who", documents), "asked") == ["the", "who"]
    assert typed(read_text("the sofa", documents), "asked") == ["sofa"]
    assert typed(read_text("to be or not to be", documents), "asked")[:2] == ["to", "be"]


@pytest.mark.parametrize(
    ("code", "text", "asked"),
    [("en", "yogurt", "yogurt"), ("de", "yogurt", None), ("en", "04000012424869", None)],
)
def test_sentences_are_asked_of_english_words_that_no_item_has(
    code: str, text: str, asked: str | None
) -> None:
    documents = Documents(None, find_language(code))
    documents.add([ItemRow(1, "a", {"title": "Tisch"}, ())])
    assert read_text(text, documents).unsaid == asked
