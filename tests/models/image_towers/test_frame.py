import pytest
import torch

from models.image_towers.frame import Config, Model
from models.types import PaddedBags


@pytest.mark.parametrize("unit", [True, False])
def test_a_photo_is_one_vector_that_has_length_one_only_where_wanted(unit, photos, embed):
    torch.manual_seed(0)
    tower = Model(Config(unit=unit, sizes=(64,), components=6, embedding=8)).eval()
    vectors = embed(tower, photos)
    assert vectors.shape == (3, 1, 8)
    assert torch.allclose(vectors.norm(dim=-1), torch.ones(3, 1)) == unit


def test_a_frame_is_reduced_to_the_components_that_vary_most_on_train():
    tower = Model(Config(sizes=(64,), components=2, embedding=8))
    # Random, because a few photos leave most channels silent.
    inputs = list(torch.rand(40, 1, 1280, generator=torch.Generator().manual_seed(0)))
    tower.prepare(inputs)
    z = tower.reduce(tower.standardize(torch.cat(inputs)))
    assert z.shape == (40, 2)
    torch.testing.assert_close(z.mean(0), torch.zeros(2), atol=1e-4, rtol=0)
    first, second = z.square().mean(0).tolist()
    assert first > second > 0


def test_a_photo_can_be_the_mean_of_its_boxes():
    tower = Model(Config(sizes=(64,), proposals="windows", components=2, embedding=8)).eval()
    make = torch.Generator().manual_seed(0)
    inputs = list(torch.rand(40, 3, 1280, generator=make))
    tower.prepare(inputs)
    z = tower.precompute(PaddedBags.of([inputs[0], inputs[1][:2]]))
    assert z.mask.tolist() == [[True], [True]]
    means = torch.stack([inputs[0].mean(0), inputs[1][:2].mean(0)])
    torch.testing.assert_close(z.vectors[:, 0], tower.reduce(tower.standardize(means)))
