from random import Random

import pytest

from models.text.parsing import parse_trees
from training.data.corpus import Example
from training.evaluation.true_answers import (
    AskedText,
    ParsedPhotos,
    draw_texts,
    find_alike,
    find_answers,
    find_heads,
    shorten,
)

SENTENCES = (
    ("A black dog runs on the beach.", "Two dogs play with a ball."),
    ("A woman rides a mountain bike.", "A rider in a forest."),
    ("A dog on a beach.",),
)


@pytest.fixture
def photos(tmp_path):
    return ParsedPhotos.of([Example(str(i), tmp_path, own) for i, own in enumerate(SENTENCES)])


def test_a_photo_is_named_by_the_nouns_of_all_its_sentences(photos):
    assert photos.list_nouns()[0] == {"dog", "beach", "ball"}
    assert photos.list_nouns()[1] >= {"woman", "bike", "rider", "forest"}


def test_texts_are_sentences_and_short_phrases_each_once(photos):
    found = draw_texts(photos, Random(0))
    assert len({text.text for text in found}) == len(found)
    assert {text.short for text in found} == {True, False}
    for text in found:
        if text.short:
            assert 1 <= len(text.text.split()) <= 3
            assert text.nouns <= photos.list_nouns()[text.photo]
        else:
            assert text.text in SENTENCES[text.photo]


def test_a_short_text_keeps_the_modifiers_next_to_its_noun():
    balls, bike = parse_trees(["A man has two red balls.", "a big red mountain bike"])
    last = find_heads(balls)[-1]
    assert shorten(balls, last, 0, 3) == AskedText("balls", frozenset({"ball"}), True, 3)
    assert shorten(balls, last, 1, 3).text == "red balls"
    assert shorten(balls, last, 2, 3).text == "two red balls"
    assert shorten(bike, find_heads(bike)[-1], 1, 3).nouns == {"mountain", "bike"}


def test_a_photo_answers_a_text_whose_nouns_it_names(photos):
    asked = [
        AskedText("dogs", frozenset({"dog"}), True, 2),
        AskedText("a dog with a ball", frozenset({"dog", "ball"}), False, None),
        AskedText("a sleeping puppy", frozenset({"puppy"}), False, 2),
    ]
    truth = find_answers(photos.list_nouns(), asked)
    assert truth.T.tolist() == [[True, False, True], [True, False, False], [False, False, True]]


def test_a_photo_is_like_another_if_it_answers_one_of_its_sentences(photos):
    truth = find_alike(photos)
    assert truth.diagonal().all()
    assert truth[0, 2]  # it names the dog and the beach of the other's only sentence
    assert truth[2, 0]  # and the other way round
    assert not truth[1, 0]
