import pytest

from models.text.negation import negations
from models.text.parsing import parse


def negated(text):
    sentence = parse(text)
    return [
        (one.phrase(text), " ".join(sentence.words[i].text for i in sorted(one.words)))
        for one in negations(sentence)
    ]


@pytest.mark.parametrize(
    ("text", "phrase", "words"),
    [
        ("a dog without a ball on the beach", "ball", "without a ball"),
        ("a beach with no people", "people", "with no people"),
        ("No people!", "people", "No people"),
        ("a man not wearing a red hat", "wearing a red hat", "not wearing a red hat"),
        ("the dog isn't black", "black", "is n't black"),
        ("a child who won't eat", "eat", "who wo n't eat"),
        ("a child who will not eat", "eat", "who will not eat"),
        ("a man who can’t swim", "swim", "who ca n’t swim"),
        ("dogs that aint running", "running", "that ai nt running"),
        ("a boy who doesn’t have any toys", "toys", "who does n’t have any toys"),
        ("a room without a piece of furniture", "piece of furniture", None),
        ("there is no dog in it", "dog", "there is no dog in it"),
        ("a beach with nobody on it", "people", "with nobody on it"),
        ("No one on the beach", "people", "No one"),
        ("a street with no cars and a dog", "cars", "with no cars"),
        ("not a dog but a cat", "dog", "not a dog"),
    ],
)
def test_a_negation_reaches_to_the_end_of_its_phrase(text, phrase, words):
    ((found, belonging),) = negated(text)
    assert found == phrase
    assert words in (None, belonging)


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("no dogs or cats in the snow", ["dogs", "cats"]),
        ("neither dogs nor cats", ["dogs", "cats"]),
        ("a street without cars and people", ["cars", "people"]),
        ("no dogs, no cats", ["dogs", "cats"]),
    ],
)
def test_alternatives_are_negated_one_by_one(text, phrases):
    assert [phrase for phrase, _ in negated(text)] == phrases


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("kitchen -person", ["person"]),
        ("-person kitchen", ["person"]),
        ("a dog −cat –ball", ["cat", "ball"]),
        ("a t-shirt - red, 3-4 -5", []),
    ],
)
def test_a_minus_before_a_word_negates_it(text, phrases):
    assert [phrase for phrase, _ in negated(text)] == phrases


@pytest.mark.parametrize("text", ["a dog", "why not", "no", "never", "snow without, people"])
def test_where_nothing_is_reached_nothing_is_negated(text):
    assert negated(text) == []
