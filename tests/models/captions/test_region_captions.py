"""Regions are described in one batch, judged by fragment."""

from __future__ import annotations

import pytest
import torch

from models.captions.region_captions import (
    RegionCaption,
    describe_regions,
    distinct,
    names_thing,
    nearest,
    rank_regions,
)
from models.registry import Caption, CaptionWord, Generation
from models.text.parsing import parse_trees
from models.types import Box

LEFT = Box(0, 0, 0.5, 0.5)


def region(box: Box, word: str, probability: float | None = None) -> RegionCaption:
    return RegionCaption(box, Caption((CaptionWord(word, -1.0),), -1.0), 1.0, probability)


@pytest.fixture
def models(describing):
    return describing.models


@pytest.fixture
def photo():
    """Red on the left and blue on the right."""
    photo = torch.zeros(3, 30, 40, dtype=torch.uint8)
    photo[0, :, :20], photo[2, :, 20:] = 255, 255
    return photo


def test_every_region_but_the_whole_frame_is_described(models, photo):
    (inputs,), (boxes,) = models.matcher.sight([photo])
    views = torch.cat([torch.zeros(2, 3), inputs])  # two more views of the whole photo come first
    for given in (inputs, views):
        found = describe_regions(models.region_captioner, given, boxes, Generation(beam=1, count=1))
        assert [(box, caption.text) for box, caption in found] == [
            (LEFT, "Red thing"),
            (Box(0.5, 0, 1, 0.5), "Blue thing"),
            (Box(0, 0.5, 0.5, 1), "Red thing"),
            (Box(0.5, 0.5, 1, 1), "Blue thing"),
        ]


def test_a_caption_that_names_nothing_is_left_out():
    texts = ["a large", "two", "a red ball", "sunglasses"]
    assert [names_thing(tree, ()) for tree in parse_trees(texts)] == [False, False, True, True]


def test_a_caption_names_a_known_thing_if_things_are_known():
    texts = ["a red ball", "sitting", "two balls"]
    assert [names_thing(tree, {"ball"}) for tree in parse_trees(texts)] == [True, False, True]


def test_the_candidate_of_a_region_that_it_shows_wins(models, photo):
    (bag,) = models.matcher.embed_images([photo])
    likelier = Caption((CaptionWord("lime", -0.1),), -0.1)
    found = [(LEFT, likelier), (LEFT, region(LEFT, "red").caption)]
    (best,) = rank_regions(models.matcher, models.calibration, bag, found)
    assert best.caption.text == "Red"
    (uncalibrated,) = rank_regions(models.matcher, None, bag, found)
    assert uncalibrated.caption.text == "Lime"


def test_a_caption_is_judged_by_its_own_region(models, photo):
    (bag,) = models.matcher.embed_images([photo])
    right = Box(0.52, 0, 1, 0.5)
    found = [(right, region(right, "red").caption), (LEFT, region(LEFT, "red").caption)]
    first, second = rank_regions(models.matcher, models.calibration, bag, found)
    assert (first.box, second.box) == (LEFT, right)
    assert (first.score, second.score) == (pytest.approx(3), pytest.approx(-1))
    assert first.probability == pytest.approx(0.9526, abs=1e-4)  # σ(3 · 3 − 6)
    (uncalibrated, _) = rank_regions(models.matcher, None, bag, found)
    assert (uncalibrated.box, uncalibrated.probability) == (LEFT, None)


def test_the_nearest_fragment_has_the_largest_iou(models, photo):
    (bag,) = models.matcher.embed_images([photo])
    assert nearest(bag, Box(0.4, 0.1, 1, 0.5)).places == (Box(0.5, 0, 1, 0.5),)


def test_the_same_words_are_told_once_of_a_place():
    small, far = Box(0.1, 0.1, 0.3, 0.3), Box(0.6, 0.6, 0.9, 0.9)
    found = [region(LEFT, "red"), region(small, "red"), region(small, "blue"), region(far, "red")]
    assert distinct(found, 9) == [found[0], found[2], found[3]]
    assert distinct(found, 2) == [found[0], found[2]]
    assert distinct([], 2) == []


def test_improbable_captions_are_left_out():
    sure, weak = region(LEFT, "red", 0.5), region(LEFT, "blue", 0.1)
    assert distinct([sure, weak], 9, 0.12) == [sure]
    assert distinct([sure, weak], 9) == [sure, weak]
    assert distinct([region(LEFT, "red")], 9, 0.12) != []  # no one knows


@pytest.mark.parametrize(
    ("other", "iou"),
    [(Box(0, 0, 0.5, 0.5), 1.0), (Box(0.25, 0, 0.75, 0.5), 1 / 3), (Box(0.5, 0, 1, 1), 0.0)],
)
def test_iou_is_intersection_over_union(other, iou):
    assert LEFT.iou(other) == pytest.approx(iou)
