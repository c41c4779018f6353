from dataclasses import replace

import pytest
import torch

from models.image_towers.regions_in_context import Config, Model
from models.types import PaddedBags

CONFIG = Config(sizes=(32, 64), embedding=8)


def built(config=CONFIG):
    torch.manual_seed(0)
    return Model(config).eval()


def test_an_untrained_region_is_its_photo(photos, embed):
    for vectors in embed(built(), photos):
        assert torch.equal(vectors, vectors[:1].expand(20, -1))
        assert float(vectors[0].norm()) == pytest.approx(1 / CONFIG.temperature, rel=1e-5)


def test_a_region_adds_its_finest_features_through_its_own_map():
    tower = built()
    torch.nn.init.normal_(tower.regions.project.weight)
    inputs = torch.rand(1, 20, tower.sight.channels)
    vectors = tower(PaddedBags(inputs, torch.ones(1, 20, dtype=torch.bool))).vectors
    own = tower.regions(inputs[0, 3, -tower.finest :])
    expected = CONFIG.region_scale / CONFIG.temperature * own
    torch.testing.assert_close(vectors[0, 3] - vectors[0, 0], expected, rtol=1e-3, atol=1e-4)


def test_a_likelihood_counts_the_order_of_boxes(photos, embed):
    tower = built(replace(CONFIG, likelihood=True))
    vectors = embed(tower, photos[:1])[0]
    assert vectors.shape == (20, tower.dimension) == (20, 9)
    ranks = torch.arange(1, 20).float()
    torch.testing.assert_close(vectors[:, -1], 5 * torch.cat([torch.tensor([-1.0]), -ranks.log()]))
