import pytest
import torch

from models.image_towers.regions import Config, Model
from models.types import PaddedBags
from models.vision.proposals import REGIONS


def built(**options):
    torch.manual_seed(0)
    return Model(Config(sizes=(64,), embedding=12, **options)).eval()


def test_a_photo_has_a_vector_for_each_box(photos, embed):
    assert embed(built(), photos).shape == (3, REGIONS, 12)


def test_the_whole_frame_can_be_a_photo_s_only_region(photos, embed):
    tower = built(proposals="frame")
    assert embed(tower, photos).shape == (3, 1, 12)
    _, (box, _, _) = tower.sight(photos)
    assert box.tolist() == [[0, 0, 1, 1]]


def test_a_region_is_an_affine_map_of_its_own_features(photos, embed):
    tower = built()
    tower.prepare(tower.sight(photos)[0])
    (features,), _ = tower.sight(photos[:1])
    expected = tower.regions.project(tower.regions.standardize(features[3]))
    torch.testing.assert_close(embed(tower, photos[:1])[0, 3], expected.detach())


def test_what_is_cached_is_named_by_all_that_it_depends_on():
    keys = {one.sight.key() for one in (built(), built(proposals="frame"))}
    assert len({*keys, Model(Config(sizes=(32,))).sight.key()}) == 3


def test_a_region_can_be_an_affine_map_of_its_components():
    tower = built(components=4)
    inputs = list(torch.rand(30, REGIONS, 1280, generator=torch.Generator().manual_seed(0)))
    tower.prepare(inputs)
    fixed = tower.precompute(PaddedBags.of(inputs[:2]))
    assert fixed.vectors.shape == (2, REGIONS, 4)
    z = tower.regions.reduce(tower.regions.standardize(inputs[1][3]))
    torch.testing.assert_close(fixed.vectors[1, 3], z)
    torch.testing.assert_close(tower(fixed).vectors[1, 3], tower.regions.project(z))


def test_a_tuned_network_has_no_fixed_components():
    with pytest.raises(ValueError, match="leave them out"):
        Config(tuned=True, components=4)
