"""Examples of the shipped models on the sample photos.

    python -m benchmarks.models.example_pictures docs/research/results/examples.webp

Each text gets the photos whose best region answers it most, one region a photo; each region of the
last row is described by the captioner of regions. Nothing is chosen by hand but the texts.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from models import checkpoint, shipped
from models.matcher import TwoTowerMatcher
from models.registry import Generation
from models.types import Box, FragmentBag
from models.vision.regions import crop
from training.captioners.regions import require_regions
from training.evaluation.embedding import read_pixels
from training.evaluation.outstanding_parts import RankedRegion, rank_regions
from training.report.examples import Row, Shown, draw

SAMPLES = Path("app/demos/photos")
TEXTS = ("a red apple", "an animal", "a bridge over water", "a yellow flower")
BEST = 4


def main() -> None:
    """Embed the samples, and draw the answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    files = sorted(SAMPLES.glob("*.jpg"))
    photos = [read_pixels(file) for file in files]
    matcher = checkpoint.load(shipped.MATCHER).model
    bags = [bag for photo in photos for bag in matcher.embed_images([photo])]
    rows = [find_photos(matcher, files, photos, bags, text) for text in TEXTS]
    best = [rank_regions(bags, embed(matcher, text), matcher.score, 1)[0] for text in TEXTS]
    print(draw([*rows, describe_crops(photos, best)], out))


def embed(matcher: TwoTowerMatcher, text: str) -> FragmentBag:
    """Embed a text."""
    return matcher.embed_sentences([text])[0]


def find_photos(
    matcher: TwoTowerMatcher,
    files: Sequence[Path],
    photos: Sequence[Tensor],
    bags: Sequence[FragmentBag],
    text: str,
) -> Row:
    """Rank the regions of photos for a text."""
    ranked = rank_regions(bags, embed(matcher, text), matcher.score, BEST)
    shown = [
        Shown(photos[region.photo], f"{files[region.photo].stem}: {region.value:.1f}", region.box)
        for region in ranked
    ]
    return Row(f"“{text}”: the best region of each photo, and its score", shown)


def describe_crops(photos: Sequence[Tensor], regions: Sequence[RankedRegion]) -> Row:
    """Describe regions, each by the features in its box."""
    captioner = checkpoint.load(shipped.REGION_CAPTIONER).model
    sight = require_regions(captioner)
    shown = []
    for region in regions:
        photo = photos[region.photo]
        corners = torch.tensor([to_corners(region.box)])
        (rows,) = sight.inside([photo], [corners])
        (candidates,) = captioner.describe([rows[:1]], Generation(beam=5))
        shown.append(Shown(crop(photo, region.box), candidates[0].text))
    return Row("what the captioner of regions says of the first region of each text", shown)


def to_corners(box: Box) -> list[float]:
    """List a box's corners."""
    return [box.left, box.top, box.right, box.bottom]


if __name__ == "__main__":
    main()
