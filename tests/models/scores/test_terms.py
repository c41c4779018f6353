import math
from dataclasses import replace

import pytest
import torch

from models.matcher import Config, TowerOptions
from models.scores.alignment import phrases
from models.scores.scoring import SCORES
from models.scores.terms import LEAST, MOST, CatalogueTerms, share
from models.text.queries import Query
from models.types import Box, FragmentBag, PaddedBags, Span

FORMS = [("shirts", "shirt"), ("tshirts", "tshirt"), ("navy blue",), ("blue",)]
RED_DOGS = ["a", "Navy", "blue", "shirt"]


@pytest.fixture
def terms():
    torch.manual_seed(0)
    made = CatalogueTerms(FORMS, 3, 4)
    made.weight.copy_(torch.randn(4, 3))
    made.bias.copy_(torch.randn(4))
    made.gate.copy_(torch.randn(4))
    made.strengths.copy_(torch.tensor([2.0, -1.5, 0.5]))
    return made


def bags(*sizes):
    torch.manual_seed(len(sizes))
    return PaddedBags.of([torch.randn(size, 4) for size in sizes])


def test_the_longest_term_counts_from_the_left_in_any_form(terms):
    assert terms.find(RED_DOGS) == [(1, 3, 2), (3, 4, 0)]
    assert terms.find(["blue", "t", "shirt"]) == [(0, 1, 3), (1, 3, 1)]  # "tshirt"
    assert terms.find(["a", "dog"]) == []


def test_what_a_photo_shows_by_hand(terms):
    features, whole = torch.tensor([[1.0, 2.0, -1.0]]), torch.tensor([[0.5, 0.0, 1.0, 0.0]])
    ours = 1 / (1 + math.exp(-float(whole[0] @ terms.gate)))
    there = 1 / (1 + math.exp(-float(features[0] @ terms.weight[2] + terms.bias[2])))
    seen = terms.detect(features, whole)
    odds = (ours * there + LEAST) / (1 - ours * there + MOST)
    assert float(seen[0, 2]) == pytest.approx(math.log(odds * (1 + MOST) / LEAST), rel=1e-5)
    assert float(seen[0, -1]) == pytest.approx(ours)


def test_scores_gain_what_named_terms_give(terms):
    images, sentences = bags(3, 2), bags(4, 2)
    features = torch.randn(2, 3)
    score = SCORES["sum_of_max"]
    words = [RED_DOGS, ["a", "dog"]]
    after = score(terms.images(images, features), terms.sentences(sentences, words))
    gain = after - score(images, sentences)
    seen = terms.detect(features, images.vectors[:, 0])
    for image in range(2):
        strength, once, each = terms.strengths.tolist()
        named = sum(strength * float(seen[image, number]) for number in (2, 0))
        expected = named + float(seen[image, -1]) * (once + 2 * each)
        assert float(gain[image, 0]) == pytest.approx(expected, abs=1e-4)
        assert float(gain[image, 1]) == pytest.approx(0, abs=1e-4)


def test_terms_give_less_to_a_text_with_words_that_they_know_nothing_about(terms):
    few, many = ["a", "blue", "shirt"], ["a", "blue", "shirt", "on", "the", "moon", "!", "today"]
    assert share(few, terms.find(few)) == 1
    assert share(many, terms.find(many)) == 0.5  # moon and today
    assert share(["the", "moon"], terms.find(["the", "moon"])) == 0
    assert share(["in"], [(0, 1, 3)]) == 1  # a term that is a function word
    image, features = terms.images(bags(3), torch.randn(1, 3)), torch.zeros(1, 8, 4)
    texts = (
        PaddedBags(features[:, :3], torch.ones(1, 3).bool()),
        PaddedBags(features, torch.ones(1, 8).bool()),
    )
    score = SCORES["sum_of_max"]
    one, other = (
        float(score(image, terms.sentences(text, [words])))
        for text, words in zip(texts, (few, many), strict=True)
    )
    assert one != 0
    assert other == pytest.approx(one / 2, rel=1e-5)


def test_other_photos_score_as_they_did(terms):
    terms.gate_bias.fill_(-100)
    images, sentences = bags(3), bags(4)
    score = SCORES["sum_of_max"]
    longer = terms.images(images, torch.randn(1, 3)), terms.sentences(sentences, [RED_DOGS])
    torch.testing.assert_close(score(*longer), score(images, sentences))


def test_a_region_earns_its_box_without_what_the_whole_photo_shows_of_terms():
    boxes = (Box(0, 0, 1, 1), Box(0, 0, 0.5, 0.5))
    vectors = torch.tensor([[1.0, 20.0], [2.0, 20.0]])  # the last number is of a term
    image = FragmentBag(vectors, boxes, ("whole photo", "region 1"))
    shirt = FragmentBag(torch.ones(1, 2), (Span(0, 5),), ("shirt",), of_terms=1)
    links = SCORES["sum_of_max"].links(image, shirt)
    (phrase,) = phrases(image, Query.of(shirt), links)
    assert (phrase.region, phrase.similarity, phrase.whole) == (1, 22, 21)
    (plain,) = phrases(image, Query.of(replace(shirt, of_terms=0)), links)
    assert plain.region is None  # 1 of 22 is no clear share


def test_a_tower_without_whole_features_has_no_terms():
    parts = TowerOptions.of("image_towers", "frame", {}), TowerOptions.of("text_towers", "mean", {})
    config = Config(*parts, terms=[["shirts", "shirt"]])
    assert config.terms == (("shirts", "shirt"),)
