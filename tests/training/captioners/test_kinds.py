"""Classes and words of kinds, by WordNet, and their learning."""

from pathlib import Path

import pytest
import torch

from models.captioners.attentive import Config, Model
from models.captions.kinds import ThingKind
from models.text.parsing import parse_trees
from training.captioners.kinds import (
    classes_of,
    find_nouns,
    find_usual_words,
    fit_kinds,
    measure_share,
)
from training.data.corpus import Example
from training.evaluation.captions.wordnet import FOLDER, PERSONS, WordNet

pytestmark = pytest.mark.skipif(
    not (FOLDER / "data.noun").is_file(), reason="WordNet is not installed: apt wordnet-base"
)
PERSON, ANIMAL = ThingKind(PERSONS, 2.0, 0.0), ThingKind(("animal",), 1.0, 0.0)


@pytest.fixture(scope="module")
def wordnet():
    return WordNet()


def example(*sentences):
    return Example(sentences[0], Path("photo.jpg"), sentences)


def test_nouns_are_words_that_mostly_are_and_have_a_singular():
    trees = parse_trees(["A man walks two dogs .", "A white dog .", "A man in white ."])
    found = find_nouns(trees)
    assert (found["man"], found["dogs"], found["dog"]) == ("man", "dog", "dog")
    assert "walks" not in found
    assert "a" not in found


def test_the_share_of_sentences_that_name_a_kind(wordnet):
    trees = parse_trees(["Two women talk .", "A dog sleeps .", "People stand .", "A red ball ."])
    assert measure_share(trees, PERSON, wordnet) == 0.5
    assert measure_share(trees, ANIMAL, wordnet) == 0.25


def test_classes_are_of_a_kind_by_their_broader_terms():
    found = classes_of([ANIMAL, PERSON])
    assert found.shape == (2, 1000)
    assert found[0].sum() == 398  # of the thousand
    assert not (found[0] & found[1]).any()


def test_words_that_stand_with_other_photos_do_not_name_a_kind():
    examples = [example("a man on a branch"), *[example("a bird on a branch")] * 3]
    found = find_usual_words(
        examples, ("man", "branch", "nurse"), torch.tensor([[1.0], [0], [0], [0]])
    )
    assert found.tolist() == [[True, False, True]]


def test_a_captioner_learns_of_which_photos_it_must_name_no_person(wordnet):
    torch.manual_seed(0)
    photos = [torch.randint(0, 256, (3, 64, 64), dtype=torch.uint8) for _ in range(6)]
    views = {"views": ("lite0@32", "lite0@64"), "classifiers": ("lite0@32",), "embedding": 16}
    tower = {"name": "regions_in_context", "options": views}
    sizes = {"joint": 16, "embedding": 16, "hidden": 16, "attention": 8, "shortest": 2}
    model = Model(Config(("a", "dog", "man", "women", "grass"), tower, **sizes)).eval()
    inputs = model.sight(photos)[0]
    examples = [*[example("a man .", "two women .")] * 2, *[example("a dog .")] * 4]
    made = fit_kinds(model, inputs, examples, wordnet, (PERSON, ANIMAL))
    assert made.config.kinds == (PERSON, ANIMAL)
    assert made.language.kinds.words.tolist() == [[0, 0, 1, 1, 0], [0, 1, 0, 0, 0]]
    torch.testing.assert_close(made.language.out.weight, model.language.out.weight)
    again = fit_kinds(made, inputs, examples, wordnet, (PERSON,))  # instead of the kinds before
    torch.testing.assert_close(again.language.kinds.shares, made.language.kinds.shares[:1])
