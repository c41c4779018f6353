from dataclasses import replace

import pytest
import torch

from models.text import classes
from models.text_towers.minilm import Config, Model

CONFIG = Config(embedding=8, frozen_layers=5, frequencies=(("a", 0.09),), rarity=0.01)
TEXTS = ["A dog runs on the beach", "dog", "Two pinnipeds and a naïve café"]


@pytest.fixture(scope="module")
def tower():
    torch.manual_seed(0)
    return Model(CONFIG).eval()


def test_words_of_a_sentence_sum_to_length_one(tower, embed):
    for bag in embed(tower, TEXTS):
        assert float(bag.vectors.sum(0).norm()) == pytest.approx(1, abs=1e-5)


def test_a_frequent_word_weighs_rarity_over_rarity_plus_share(tower):
    (states,), _ = tower.reader(["A dog"])
    assert states[:, -1].tolist() == pytest.approx([0.0, 0.01 / (0.01 + 0.09), 1.0, 0.0])


def test_a_prior_is_shared_out_over_words(embed):
    tower = Model(replace(CONFIG, prior=2.0)).eval()
    (bag,) = embed(tower, TEXTS[:1])
    assert bag.vectors.shape == (6, tower.dimension) == (6, 9)
    torch.testing.assert_close(bag.vectors[:, -1], torch.full((6,), 0.2 * 2.0 / 6))


def test_what_is_cached_is_named_by_all_that_it_depends_on(tower):
    others = [{"frozen_layers": 4}, {"rarity": 0.1}, {"frequencies": (("the", 0.1),)}]
    keys = {tower.reader.key(), *(Model(replace(CONFIG, **one)).reader.key() for one in others)}
    assert len(keys) == 4


@pytest.mark.parametrize(("names", "starts_from_names"), [(True, True), (False, False)])
def test_with_names_the_map_starts_along_the_names_of_classes(names, starts_from_names):
    torch.manual_seed(0)
    tower = Model(replace(CONFIG, names=names))
    tower.begin()
    found = torch.allclose(tower.project.weight, classes.directions(8).T)
    assert found == starts_from_names
