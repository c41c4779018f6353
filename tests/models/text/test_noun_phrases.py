"""Noun phrases: the things in a text."""

import pytest

from models.text.noun_phrases import noun_phrases


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("a cup of coffee on a table", ["a cup of coffee", "a table"]),
        ("A black dog is jumping over a log.", ["A black dog", "a log"]),
        ("the cat's head", ["the cat's head"]),
        (
            "Two young girls in red dresses play with a big yellow ball",
            ["Two young girls", "red dresses", "a big yellow ball"],
        ),
        ("a man and a woman", ["a man", "a woman"]),
        ("a bunch of slices of bread", ["a bunch of slices of bread"]),
        ("coffee cup", ["coffee cup"]),
        ("dog", ["dog"]),
        ("a dog and not a cat", ["a dog"]),
        ("no dogs on the beach", ["the beach"]),
        ("he is running", []),
        ("red", []),
    ],
)
def test_each_noun_comes_with_what_describes_it(text, phrases):
    assert [span.of(text) for span in noun_phrases(text)] == phrases
