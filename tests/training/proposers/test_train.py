import torch

from models.proposers.detector import Config
from models.types import Box, Span
from training.data.entities import GroundedSentence, TruePhrase, phrase_boxes
from training.proposers.train import Maps, list_boxes, mirror

LEFT, RIGHT = Box(0.0, 0.5, 0.25, 1.0), Box(0.5, 0.5, 0.75, 1.0)
BOTH, ALL = Box(0.0, 0.5, 0.75, 1.0), Box(0.0, 0.0, 1.0, 1.0)


def sentence(*phrases):
    return GroundedSentence("x", tuple(TruePhrase("x", Span(0, 1), boxes) for boxes in phrases))


def rows(*boxes):
    return [[box.left, box.top, box.right, box.bottom] for box in boxes]


def test_things_are_single_boxes_and_those_around_several_once_each_without_the_frame():
    found = list_boxes([sentence((LEFT, RIGHT), (ALL,)), sentence((LEFT,))])
    assert found.tolist() == rows(LEFT, BOTH, RIGHT)


def test_a_phrase_is_looked_for_in_the_box_around_all_that_it_means():
    found = phrase_boxes([sentence((LEFT, RIGHT), (ALL,)), sentence((LEFT,))])
    assert found.tolist() == rows(BOTH, ALL, LEFT)


def test_a_photo_without_phrases_has_no_box():
    assert list_boxes([]).shape == phrase_boxes([]).shape == (0, 4)


def test_a_mirror_swaps_left_and_right():
    assert mirror(torch.tensor(rows(LEFT))).tolist() == [[0.75, 0.5, 1.0, 1.0]]


class Still:
    """A backbone of given maps."""

    def __init__(self, maps):
        self.maps = maps

    def pyramid(self, pixels):
        return self.maps


def test_kept_maps_unfold_to_what_the_backbone_saw(monkeypatch):
    photos = [torch.zeros(3, 8, 8, dtype=torch.uint8)] * 2
    maps = [torch.randn(2, 3, 4, 4), torch.randn(2, 5, 2, 2)]
    monkeypatch.setattr("training.proposers.train.read_pixels", lambda photo: photo)
    fold = Maps(Config(fine=3, coarse=5, size=64), Still(maps), "cpu")
    kept = fold.compute(photos)
    assert [one.shape for one in kept] == [(4, 17), (4, 17)]
    for unfolded, seen in zip(fold.unfold(kept), maps, strict=True):
        torch.testing.assert_close(unfolded, seen)
