import pytest
import torch

from models.text.parsing import parse
from models.text.queries import Query
from models.text.query_drafts import NEGATED, of_phrases
from models.text.reading import NOTHING_KNOWN, read
from models.types import FragmentBag


class Lengths:
    """A matcher of words' lengths."""

    dimension = 1
    score = "sum_of_max"
    any_word = False

    def embed_images(self, images):
        raise NotImplementedError

    def embed_sentences(self, texts):
        return [
            FragmentBag(
                torch.tensor([[float(len(word.text))] for word in words]),
                tuple(word.span for word in words),
                tuple(word.text for word in words),
            )
            for words in (parse(text).words for text in texts)
        ]


def test_a_text_of_known_words_is_left_as_it_is():
    text = "Two dogs, 3 cats & a nike T-shirt in the café"
    assert read(text).asked == text
    assert read(text).notes == ()


@pytest.mark.parametrize(
    ("text", "asked", "note"),
    [
        ("a red asdfgh car", "a red        car", '"asdfgh" is not a word that the model knows'),
        ("Kiarra, a dog", "      , a dog", '"Kiarra" is not a word that the model knows'),
        ("犬 dog", "  dog", '"犬" is left out: the model reads only Latin letters.'),
        ("собака dog", "       dog", "only Latin letters"),
        ("a dog 🐶", "a dog 🐶", '"🐶" has no letters: it is left out.'),
    ],
)
def test_an_unknown_word_is_blanked_and_named(text, asked, note):
    reading = read(text)
    assert reading.asked == asked
    assert len(reading.notes) == 1
    assert note in reading.notes[0]


@pytest.mark.parametrize("text", ["asdfgh", "日本", "the qwrtz", "hjkl sdfsdf of"])
def test_without_a_known_content_word_nothing_is_asked(text):
    reading = read(text)
    assert reading.asked is None
    assert reading.notes[-1] == NOTHING_KNOWN


def test_function_words_alone_may_be_asked_for():
    assert read("it is on").asked == "it is on"


def test_words_that_a_model_was_trained_on_are_known():
    assert read("zwei hunde", {"zwei", "hunde"}).asked == "zwei hunde"


def test_to_a_model_of_any_word_none_is_unknown():
    reading = read("ein Hündchen 🐶 asdfgh", any_word=True)
    assert (reading.asked, reading.notes) == ("ein Hündchen 🐶 asdfgh", ())


def test_a_model_of_any_word_is_asked_for_every_word():
    class AnyWord(Lengths):
        any_word = True

    assert of_phrases(AnyWord(), [("狗在跑", 1.0)]).parts
    assert not of_phrases(Lengths(), [("狗在跑", 1.0)]).parts


@pytest.mark.parametrize(
    ("text", "word"), [("ein Strand ohne Menschen", "ohne"), ("没有人的海滩", "没有")]
)
def test_a_model_of_any_word_tells_of_negations_that_no_rule_reads(text, word):
    (note,) = read(text, any_word=True).notes
    assert note.startswith(f'"{word}" is searched for like any word')


def test_a_minus_negates_in_any_language():
    reading = read("Strand -Menschen", any_word=True)
    assert [phrase.strip() for phrase in reading.negated] == ["Menschen"]
    assert reading.asked.strip() == "Strand"


def test_a_text_without_words_is_refused():
    with pytest.raises(ValueError, match="no words"):
        read("?!")


def test_each_unknown_word_is_named_once():
    assert len(read("asdfgh dog asdfgh").notes) == 1


def test_phrases_are_parts_whose_spans_point_into_the_whole_text():
    query = of_phrases(Lengths(), [("a red asdfgh", 2.0), ("wxyz", 3.0), ("big cat", 0.5)])
    assert query.text == "a red asdfgh, wxyz, big cat"
    assert query.weights == (2.0, 0.5)
    assert query.bag.labels == ("a", "red", "big", "cat")
    words = [query.text[span.start : span.end] for span in query.bag.places]
    assert words == ["a", "red", "big", "cat"]
    assert query.bag.vectors.tolist() == [[1.0], [3.0], [3.0], [3.0]]
    assert [note.partition(" ")[0] for note in query.notes] == ['"asdfgh"', '"wxyz"']


def test_a_query_of_unknown_words_has_no_parts():
    query = of_phrases(Lengths(), [("asdfgh", 1.0), ("qwrtz", 1.0)])
    assert query == Query((), (), "asdfgh, qwrtz", query.notes)
    assert query.notes[-1] == NOTHING_KNOWN
    assert len(query.bag) == 0


@pytest.mark.parametrize(
    ("text", "asked", "negated"),
    [
        ("a beach with no people", "a beach               ", ["                people"]),
        ("no cats or dogs", None, ["   cats        ", "           dogs"]),
        ("nobody on a beach", "       on a beach", ["people           "]),
        ("a dog, no asdfgh", "a dog,          ", []),
        ("a dog without red asdfgh", "a dog                   ", ["              red       "]),
    ],
)
def test_negated_phrases_are_texts_of_their_own(text, asked, negated):
    reading = read(text)
    assert (reading.asked, list(reading.negated)) == (asked, negated)


def test_a_negation_is_noted():
    assert read("a beach with no people").notes == ('Negation: photos with "people" come later.',)


def test_what_is_negated_is_floored_beside_what_is_asked_for():
    for weighted, floored in (
        ([("a beach without tall people", 2.0)], (False, True)),
        ([("a beach", 1.0), ("no people", 1.0)], (False, True)),
        ([("no cats or dogs", 1.0)], (False, False)),
    ):
        assert of_phrases(Lengths(), weighted).floored == floored
    photo = of_phrases(Lengths(), [("a cat", 1.0)]).bag
    assert of_phrases(Lengths(), [("no dogs", 1.0)]).with_photo(photo, 0.5).floored == (True, False)
    assert of_phrases(Lengths(), [("no dogs", 1.0)]).with_photo(photo, -0.5).floored == (
        False,
        False,
    )


def test_negated_phrases_are_parts_with_weights_below_0():
    query = of_phrases(Lengths(), [("a beach without tall people", 2.0), ("no cats", 1.0)])
    assert query.weights == (2.0, -2.0 * NEGATED, -NEGATED)
    assert query.bag.labels == ("a", "beach", "tall", "people", "cats")
    words = [query.text[span.start : span.end] for span in query.bag.places]
    assert words == ["a", "beach", "tall", "people", "cats"]
