from random import Random

import pytest

from models.text.parsing import parse_trees
from training.data.corpus import Example
from training.evaluation.answers import Described, Text, alike, answers, heads, short, texts

SENTENCES = (
    ("A black dog runs on the beach.", "Two dogs play with a ball."),
    ("A woman rides a mountain bike.", "A rider in a forest."),
    ("A dog on a beach.",),
)


@pytest.fixture
def photos(tmp_path):
    return Described.of([Example(str(i), tmp_path, own) for i, own in enumerate(SENTENCES)])


def test_a_photo_is_named_by_the_nouns_of_all_its_sentences(photos):
    assert photos.named()[0] == {"dog", "beach", "ball"}
    assert photos.named()[1] >= {"woman", "bike", "rider", "forest"}


def test_texts_are_sentences_and_short_phrases_each_once(photos):
    found = texts(photos, Random(0))
    assert len({text.text for text in found}) == len(found)
    assert {text.short for text in found} == {True, False}
    for text in found:
        if text.short:
            assert 1 <= len(text.text.split()) <= 3
            assert text.nouns <= photos.named()[text.photo]
        else:
            assert text.text in SENTENCES[text.photo]


def test_a_short_text_keeps_the_modifiers_next_to_its_noun():
    balls, bike = parse_trees(["A man has two red balls.", "a big red mountain bike"])
    last = heads(balls)[-1]
    assert short(balls, last, 0, 3) == Text("balls", frozenset({"ball"}), True, 3)
    assert short(balls, last, 1, 3).text == "red balls"
    assert short(balls, last, 2, 3).text == "two red balls"
    assert short(bike, heads(bike)[-1], 1, 3).nouns == {"mountain", "bike"}


def test_a_photo_answers_a_text_whose_nouns_it_names(photos):
    asked = [
        Text("dogs", frozenset({"dog"}), True, 2),
        Text("a dog with a ball", frozenset({"dog", "ball"}), False, None),
        Text("a sleeping puppy", frozenset({"puppy"}), False, 2),
    ]
    truth = answers(photos.named(), asked)
    assert truth.T.tolist() == [[True, False, True], [True, False, False], [False, False, True]]


def test_a_photo_is_like_another_if_it_answers_one_of_its_sentences(photos):
    truth = alike(photos)
    assert truth.diagonal().all()
    assert truth[0, 2]  # it names the dog and the beach of the other's only sentence
    assert truth[2, 0]  # and the other way round
    assert not truth[1, 0]
