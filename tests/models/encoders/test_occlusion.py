"""Boxes' additions by their loss, worked by hand."""

from functools import partial

import torch

from models.encoders.occlusion import RIDGE, occlude, spread, veil_pixels


def test_a_veiled_patch_fades_into_the_photos_mean():
    pixels = torch.arange(16.0).view(1, 1, 4, 4)
    veil = torch.tensor([[1.0, 0.5, 0.0, 0.0]])
    expected = pixels.clone()
    expected[0, 0, :2, :2] = 7.5
    expected[0, 0, :2, 2:] = (7.5 + pixels[0, 0, :2, 2:]) / 2
    torch.testing.assert_close(veil_pixels(pixels, veil, (2, 2)), expected)


def test_pixels_beyond_all_patches_stay():
    pixels = torch.arange(9.0).view(1, 1, 3, 3)
    seen = veil_pixels(pixels, torch.ones(1, 1), (1, 1))
    assert torch.equal(seen, torch.full_like(pixels, 4.0))
    rest = veil_pixels(torch.arange(25.0).view(1, 1, 5, 5), torch.ones(1, 4), (2, 2))
    assert torch.equal(rest[0, 0, 4], torch.arange(20.0, 25.0))


def test_one_box_that_is_lost_has_its_loss_but_for_the_ridge():
    falls, weights = torch.tensor([[[2.0, -1.0]]]), torch.tensor([[[1.0, 0.5, 0.0, 0.0]]])
    added = spread(falls, weights)
    expected = falls / (1 + RIDGE)
    torch.testing.assert_close(added, expected)


def test_a_small_box_with_all_that_is_lost_adds_more_than_a_large_one_around_it():
    weights = torch.tensor([[[1.0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, 1]]])
    falls = torch.tensor([[[1.0], [1.0], [0.0]]])
    small, large, next_to = spread(falls, weights)[0, :, 0]
    assert small > 2 * large > 0
    assert abs(next_to) < 0.2 * small


def test_a_box_without_patches_adds_nothing_and_changes_no_other():
    weights = torch.tensor([[[1.0, 0, 0.5, 0], [1, 1, 1, 1], [0, 0, 1, 1]]])
    falls = torch.tensor([[[1.0, 0.5], [1.0, -1.0], [0.0, 2.0]]])
    next_to = (torch.full((1, 2, 2), 7.0), torch.zeros(1, 2, 4))
    more = spread(
        *(torch.cat([own, other], 1) for own, other in zip((falls, weights), next_to, strict=True))
    )
    torch.testing.assert_close(more[:, :3], spread(falls, weights))
    assert not more[:, 3:].any()
    assert not spread(*next_to).any()


def test_a_pass_is_made_for_boxes_that_some_photo_has():
    passes = []

    def see(pixels):
        passes.append(len(pixels))
        return pixels.sum((2, 3))

    weights = torch.zeros(2, 3, 4)
    weights[0, 0, 1] = weights[:, 2, 3] = 1
    occlude(see, partial(veil_pixels, grid=(2, 2)), torch.rand(2, 3, 8, 8), weights)
    assert passes == [2, 2, 2]  # the photos, the first box, the last


def test_the_box_with_the_bright_patch_adds_it():
    """A network of the sums of red and of blue pixels."""
    pixels = torch.full((1, 3, 8, 8), 0.1)
    pixels[0, 0, :4, :4] = 1.0  # red, top left
    pixels[0, 2, 4:, 4:] = 1.0  # blue, bottom right
    quarters = torch.eye(4)[None]  # a box a patch of 2 × 2
    photo, added = occlude(
        lambda seen: seen.sum((2, 3)), partial(veil_pixels, grid=(2, 2)), pixels, quarters
    )
    torch.testing.assert_close(photo.norm(dim=-1), torch.ones(1))
    red, blue = added[0, :, 0], added[0, :, 2]
    assert (int(red.argmax()), int(blue.argmax())) == (0, 3)
