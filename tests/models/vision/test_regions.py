import pytest
import torch
from torch import nn

from models.types import Box
from models.vision.proposals import Windows
from models.vision.regions import RegionEncoder, RegionFeatures, Standardize, crop, pool


def boxes(*edges):
    return torch.tensor([edges])


class Shrink(nn.Module):
    """A backbone of one weight: a cell is the mean of 8 × 8 pixels."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))

    def pyramid(self, pixels):
        return (nn.functional.avg_pool2d(pixels, 8) * self.weight,)


def test_the_whole_frame_pools_to_the_mean():
    maps = torch.randn(2, 3, 4, 6)
    pooled = pool(maps, boxes([0.0, 0.0, 1.0, 1.0]).expand(2, -1, -1))
    torch.testing.assert_close(pooled[:, 0], maps.mean(dim=(2, 3)))


def test_a_half_pools_to_the_mean_of_that_half():
    maps = torch.randn(1, 3, 4, 6)
    left_and_bottom = boxes([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
    pooled = pool(maps, left_and_bottom)[0]
    torch.testing.assert_close(pooled[0], maps[0, :, :, :3].mean(dim=(1, 2)))
    torch.testing.assert_close(pooled[1], maps[0, :, 2:].mean(dim=(1, 2)))


def test_a_box_that_is_cut_out_sees_nothing_around_it():
    photo = torch.zeros(3, 40, 80, dtype=torch.uint8)
    photo[:, :20, :40] = 200
    corner = [Box(0.0, 0.0, 1.0, 1.0), Box(0.0, 0.0, 0.5, 0.5), Box(0.5, 0.5, 1.0, 1.0)]
    features, _ = RegionFeatures(Shrink(), 3, (16,), crop_size=8)([photo], Windows(corner))
    assert features.shape == (1, 3, 3)
    torch.testing.assert_close(features[0, :, 0], torch.tensor([50.0, 200.0, 0.0]), rtol=0, atol=3)


def test_a_crop_has_at_least_a_pixel():
    photo = torch.arange(48, dtype=torch.uint8).view(3, 4, 4)
    assert crop(photo, Box(0.25, 0.5, 0.75, 1.0)).tolist() == photo[:, 2:, 1:3].tolist()
    assert crop(photo, Box(0.3, 0.3, 0.31, 0.31)).shape == (3, 1, 1)


def test_features_stand_side_by_side_for_every_size(photos):
    features, places = RegionFeatures(Shrink(), 3, (16, 32))(photos, Windows())
    assert features.shape == (3, 20, 6)
    assert places.shape == (3, 20, 4)
    colours = torch.stack([photo.float().mean(dim=(1, 2)) for photo in photos])
    torch.testing.assert_close(features[:, 0, 3:], colours, rtol=0.02, atol=2.0)


def test_standardized_training_features_have_mean_0_and_deviation_1():
    torch.manual_seed(0)
    photos = [torch.rand(R, 5) * torch.tensor([1.0, 9.0, 1.0, 4.0, 2.0]) for R in (20, 30, 50)]
    standardize = Standardize(5)
    standardize.fit(photos)
    done = standardize(torch.cat(photos))
    torch.testing.assert_close(done.mean(0), torch.zeros(5), rtol=0, atol=1e-4)
    torch.testing.assert_close(done.std(0, correction=0), torch.ones(5), rtol=0, atol=1e-3)


def test_roots_have_unit_length_and_nothing_stays_nothing():
    rooted = Standardize(2).root(torch.tensor([[9.0, 16.0], [0.0, 0.0]]))
    torch.testing.assert_close(rooted, torch.tensor([[0.6, 0.8], [0.0, 0.0]]))


def test_a_channel_that_hardly_moves_does_not_explode():
    torch.manual_seed(0)
    features = torch.rand(100, 5)
    features[:, 0] = 0.0  # silent on every training photo
    standardize = Standardize(5)
    standardize.fit([features])
    assert standardize.deviation[0] >= 0.1 * standardize.deviation.median()
    assert standardize(torch.ones(1, 5)).abs().max() < 100


def test_an_embedded_region_is_an_affine_map_of_its_features():
    encoder = RegionEncoder(2, 2, dropout=0.5).eval()
    encoder.fit([torch.tensor([[1.0, 0.0], [0.0, 1.0]])])  # roots of mean ½ and deviation ½
    with torch.no_grad():
        encoder.project.weight.copy_(torch.tensor([[1.0, 0.0], [1.0, 1.0]]))
        encoder.project.bias.copy_(torch.tensor([0.0, 10.0]))
        embedded = encoder(torch.tensor([[[4.0, 0.0]]]))  # stands at (1, -1)
    assert embedded[0, 0].tolist() == pytest.approx([1.0, 10.0], abs=1e-5)
