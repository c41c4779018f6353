from dataclasses import replace

import pytest
import torch

from models.matchers.tessera import Config, Model
from models.scoring import sum_of_max
from models.types import PaddedBags

CONFIG = Config(
    sizes=(32, 64), embedding=8, frozen_layers=5, frequencies=(("a", 0.09),), rarity=0.01
)
TEXTS = ["A dog runs on the beach", "dog", "Two pinnipeds and a naïve café"]


@pytest.fixture(scope="module")
def matcher():
    torch.manual_seed(0)
    return Model(CONFIG).eval()


def test_words_of_a_sentence_sum_to_length_one(matcher):
    for bag in matcher.embed_sentences(TEXTS):
        assert float(bag.vectors.sum(0).norm()) == pytest.approx(1, abs=1e-5)


def test_an_untrained_region_is_its_photo(matcher, photos):
    for bag in matcher.embed_images(photos):
        assert torch.equal(bag.vectors, bag.vectors[:1].expand(20, -1))
        assert float(bag.vectors[0].norm()) == pytest.approx(1 / CONFIG.temperature, rel=1e-5)


def test_a_score_is_the_match_of_the_wholes_plus_what_regions_add(photos):
    torch.manual_seed(0)
    matcher = Model(CONFIG).eval()
    torch.nn.init.normal_(matcher.regions.project.weight)
    (image,), (sentence,) = matcher.embed_images(photos[:1]), matcher.embed_sentences(TEXTS[:1])
    f, s = image.vectors[0], sentence.vectors
    added = image.vectors - f  # l_i, and l_0 = 0
    assert added[1:].abs().max() > 0
    expected = f @ s.sum(0) + (s @ added.T).max(dim=1).values.sum()
    (score,) = sum_of_max(PaddedBags.of([image.vectors]), PaddedBags.of([s]))[0]
    torch.testing.assert_close(score, expected, rtol=1e-4, atol=1e-4)


def test_a_region_adds_its_finest_features_through_its_own_map(matcher):
    torch.manual_seed(0)
    other = Model(CONFIG).eval()
    torch.nn.init.normal_(other.regions.project.weight)
    inputs = torch.rand(1, 20, other.sight.channels)
    vectors = other.encode_images(PaddedBags(inputs, torch.ones(1, 20, dtype=torch.bool))).vectors
    own = other.regions(inputs[0, 3, -other.finest :])
    expected = CONFIG.region_scale / CONFIG.temperature * own
    torch.testing.assert_close(vectors[0, 3] - vectors[0, 0], expected, rtol=1e-3, atol=1e-4)


def test_a_frequent_word_weighs_rarity_over_rarity_plus_share(matcher):
    (states,) = matcher.sentence_inputs(["A dog"])
    assert states[:, -1].tolist() == pytest.approx([0.0, 0.01 / (0.01 + 0.09), 1.0, 0.0])


def test_a_prior_counts_the_order_of_boxes_and_shares_itself_out_over_words(photos):
    matcher = Model(replace(CONFIG, prior=2.0)).eval()
    (image,), (sentence,) = matcher.embed_images(photos[:1]), matcher.embed_sentences(TEXTS[:1])
    assert image.vectors.shape[1] == sentence.vectors.shape[1] == matcher.dimension == 9
    ranks = torch.arange(1, 20).float()
    torch.testing.assert_close(
        image.vectors[:, -1], 5 * torch.cat([torch.tensor([-1.0]), -ranks.log()])
    )
    torch.testing.assert_close(sentence.vectors[:, -1], torch.full((6,), 0.2 * 2.0 / 6))
    # Untrained regions look alike, so every word takes the likeliest box.
    assert (sentence.vectors @ image.vectors.T).argmax(dim=1).tolist() == [1] * 6
