import pytest

from models.text.reading import find_doubtful
from models.text.spelling import MOST_CORRECTED, correct, find_nearest


def corrected(text):
    return correct(text, find_doubtful(text))


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("bicylce", "bicycle"),
        ("a bycicle near an umberella", "a bicycle near an umbrella"),
        ("skatebord", "skateboard"),
        ("an elephent", "an elephant"),
        ("a beach wihtout peple", "a beach without people"),
    ],
)
def test_a_misspelt_word_becomes_the_nearest_known_one(text, right):
    assert corrected(text)[0] == right


def test_each_spelling_names_the_word_and_its_place():
    spellings = corrected("a bicylce")[1]
    ((start, end, typed, known),) = ((s.start, s.end, s.typed, s.known) for s in spellings)
    assert ("a bicylce"[start:end], typed, known) == ("bicylce", "bicylce", "bicycle")
    assert spellings[0].note == '"bicylce" is taken for "bicycle".'


@pytest.mark.parametrize("text", ["a dog", "qwrtzx", "犬", "собака", "x9z3", "abc", "mbappe"])
def test_what_is_known_or_near_nothing_is_left_as_it_is(text):
    assert corrected(text) == (text, ())


def test_letters_in_another_order_come_before_other_edits():
    assert find_nearest(["ciyt", "rtain"]) == ["city", "train"]


def test_preferred_words_are_meant_rather_than_others():
    assert find_nearest(["giraff"]) == ["giraffa"]
    assert find_nearest(["giraff"], {"giraffe"}) == ["giraffe"]


def test_no_more_than_some_words_are_looked_at():
    text = " ".join(f"bicylce{letter}" for letter in "abcdefghijkl")
    assert len(corrected(text)[1]) <= MOST_CORRECTED
