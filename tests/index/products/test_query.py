"""Product queries: wishes, refusals, and photos."""

from __future__ import annotations

import pytest

from index.catalog.views import ItemRow
from index.documents.documents import Documents
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
    assert [word.strip("-") for word in typed(read, "refused")] == refused
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


def test_length_counts_the_words_of_a_field_that_is_all_of_the_query(documents: Documents) -> None:
    assert read_text("oak bookcase", documents).length == 2
    assert read_text("oak bookcase without leather -sofa", documents).length == 2
    assert read_text("no boundaries dress", documents).length == 3
