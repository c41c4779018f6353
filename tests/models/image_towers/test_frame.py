import pytest
import torch

from models.image_towers.frame import Config, Model


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
