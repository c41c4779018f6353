from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from models.image_towers.regions_in_context import ClassNames, Config, Model
from models.text import classes
from models.types import PaddedBags
from models.vision import backbones

CONFIG = Config(views=("lite0@32", "lite0@64"), embedding=8)
NAMED = replace(CONFIG, classifiers=("lite0@64",), names=2.0)


def built(config=CONFIG):
    torch.manual_seed(0)
    return Model(config).eval()


def bags(inputs):
    return PaddedBags(inputs, torch.ones(inputs.shape[:2], dtype=torch.bool))


def test_an_untrained_region_is_its_photo(photos, embed):
    for vectors in embed(built(), photos):
        assert torch.equal(vectors, vectors[:1].expand(20, -1))
        assert float(vectors[0].norm()) == pytest.approx(1 / CONFIG.temperature, rel=1e-5)


def test_a_region_adds_its_features_through_its_own_map():
    tower = built()
    torch.nn.init.normal_(tower.regions.project.weight)
    inputs = torch.rand(1, 21, tower.sight.channels)  # two views of the photo and 19 boxes
    vectors = tower(bags(inputs)).vectors
    own = tower.regions(inputs[0, 4])
    expected = CONFIG.region_scale / CONFIG.temperature * own
    torch.testing.assert_close(vectors[0, 3] - vectors[0, 0], expected, rtol=1e-3, atol=1e-4)


def test_each_view_of_a_photo_is_standardized_apart():
    tower = built()
    inputs = [torch.rand(21, 1280) * torch.linspace(1, 9, 21)[:, None] for _ in range(3)]
    tower.prepare(inputs)
    for view, standardize in enumerate(tower.standardize):
        rooted = torch.stack([F.normalize(photo[view].sqrt(), dim=0) for photo in inputs])
        torch.testing.assert_close(standardize.mean, rooted.mean(0))


def test_names_are_the_mean_name_of_what_a_classifier_makes_of_a_photo():
    """N Σ_c p(c | photo) names_c, by a literal loop."""
    torch.manual_seed(0)
    names = ClassNames(Config(("lite0@32", "lite2@64"), ("lite2@64",)), 8).eval()
    torch.nn.init.normal_(names.vectors)
    frames = torch.rand(1, 2, 1280)
    head = backbones.classifier("lite2")
    probabilities = torch.softmax(head.weight @ frames[0, 1] + head.bias, 0)
    mean = sum(p * vector for p, vector in zip(probabilities, names.vectors, strict=True))
    expected = names.project.weight @ (mean / mean.norm())
    torch.testing.assert_close(names.of_photos(bags(frames))[0], expected, rtol=1e-3, atol=1e-5)


def test_classes_of_regions_have_their_share_in_the_names_of_a_photo():
    """p = (1 − w) p(photo) + w mean_r p(region r), by a loop.

    Over what is there.
    """
    config = Config(("lite0@32", "lite0@64"), ("lite0@32",), region_classes=0.25)
    torch.manual_seed(0)
    names = ClassNames(config, 8).eval()
    torch.nn.init.normal_(names.vectors)
    inputs = torch.rand(1, 6, 1280)  # two views, three boxes, and a place that is empty
    mask = torch.tensor([[True] * 5 + [False]])
    head = backbones.classifier("lite0")
    regions = sum(torch.softmax(head(inputs[0, place]), 0) for place in (1, 2, 3, 4)) / 4
    p = 0.75 * torch.softmax(head(inputs[0, 0]), 0) + 0.25 * regions
    expected = names.project.weight @ F.normalize(p @ names.vectors, dim=0)
    found = names.of_photos(PaddedBags(inputs, mask))[0]
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-5)


def test_the_largest_of_each_feature_over_regions_is_one_more_view():
    tower = built(replace(CONFIG, maximum=True))
    several = [torch.rand(21, 1280) for _ in range(3)]
    tower.prepare(several)
    inputs = torch.zeros(1, 23, 1280)
    inputs[0, :21], inputs[0, 21:] = several[0], 9.0  # two places that are empty
    whole = tower.whole(PaddedBags(inputs, torch.arange(23)[None] < 21))
    largest = tower.maximum(several[0][1:].amax(0))
    assert whole.shape == (1, 3 * 1280) == (1, tower.whole_features)
    torch.testing.assert_close(whole[0, -1280:], largest)
    rooted = torch.stack([F.normalize(photo[1:].amax(0).sqrt(), dim=0) for photo in several])
    torch.testing.assert_close(tower.maximum.mean, rooted.mean(0))


def test_a_photo_starts_near_the_names_of_its_class():
    """Before training, along a text tower's `names`."""
    tower = built(replace(NAMED, embedding=64, names=100.0))
    inputs = torch.rand(1, 21, 1280)
    tower.prepare([inputs[0], 2 * inputs[0]])
    tower.begin()
    head = backbones.classifier("lite0")
    inputs[0, 1] = 6 * (head.weight[409] > 0) * inputs[0, 1]  # "analog clock"
    assert head(inputs[0, 1]).argmax() == 409
    photo = tower(bags(inputs)).vectors[0, 0]
    found = (classes.vectors() @ classes.directions(64)) @ photo
    assert found.argmax() == 409


def test_regions_add_the_names_of_what_is_in_them():
    tower = built(replace(NAMED, region_names=0.5))
    torch.nn.init.normal_(tower.names.project.weight)
    torch.nn.init.normal_(tower.names.vectors)
    inputs = torch.rand(1, 21, 1280)
    vectors = tower(bags(inputs)).vectors
    expected = 0.5 / CONFIG.temperature * tower.names.of_regions(inputs[0, 4])
    torch.testing.assert_close(vectors[0, 3] - vectors[0, 0], expected, rtol=1e-3, atol=1e-4)


def test_a_classifier_of_no_view_is_refused():
    with pytest.raises(ValueError, match="lite2@260"):
        Model(replace(CONFIG, classifiers=("lite2@260",)))


def test_a_likelihood_counts_the_order_of_boxes(photos, embed):
    tower = built(replace(CONFIG, likelihood=True))
    vectors = embed(tower, photos[:1])[0]
    assert vectors.shape == (20, tower.dimension) == (20, 9)
    ranks = torch.arange(1, 20).float()
    torch.testing.assert_close(vectors[:, -1], 5 * torch.cat([torch.tensor([-1.0]), -ranks.log()]))
