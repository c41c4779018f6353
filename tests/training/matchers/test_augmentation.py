import pytest
import torch

from training.evaluation.embedding import read_pixels
from training.matchers import augmentation
from training.matchers.augmentation import Augmentation, SeenPhotos


def test_a_part_has_at_least_its_share_of_each_side_and_lies_inside():
    torch.manual_seed(0)
    pixels = torch.arange(40 * 60).reshape(1, 40, 60).expand(3, -1, -1)
    parts = [Augmentation(cropped=0.5).change(pixels) for _ in range(200)]
    heights, widths = ({part.shape[axis] for part in parts} for axis in (1, 2))
    assert (min(heights) >= 20, max(heights) <= 40) == (True, True)
    assert (min(widths) >= 30, max(widths) <= 60) == (True, True)
    assert len(heights) > 10
    for part in parts:  # rows of neighbours, as in the photo
        assert (part[0, 0].diff() == 1).all()
        assert (part[0, :, 0].diff() == 60).all()


def test_half_of_the_photos_are_mirrored_and_all_stay_whole_without_a_share():
    torch.manual_seed(0)
    pixels = torch.arange(12).reshape(3, 1, 4)
    changed = [Augmentation(mirrored=True).change(pixels) for _ in range(200)]
    turned = sum(torch.equal(one, pixels.flip(-1)) for one in changed)
    assert 60 < turned < 140
    assert all(torch.equal(one, pixels) or torch.equal(one, pixels.flip(-1)) for one in changed)


@pytest.mark.parametrize("room", [0, 1 << 20])
def test_a_photo_is_read_once_as_far_as_memory_reaches(corpus, monkeypatch, room):
    paths = [example.image for example in corpus.split("train")[:3]]
    read = []
    monkeypatch.setattr(
        augmentation,
        "read_photos",
        lambda wanted: [read_pixels(path) for path in wanted if not read.append(path)],
    )
    monkeypatch.setattr(augmentation, "KEPT", room)
    photos = SeenPhotos(paths, list)
    for order in ([2, 0, 2], [0, 1]):
        taken = photos.take(order)
        assert all(
            torch.equal(pixels, read_pixels(paths[k]))
            for pixels, k in zip(taken, order, strict=True)
        )
    assert len(set(read)) == 3
    assert (len(read) == 3) == bool(room)
