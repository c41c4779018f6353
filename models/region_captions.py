"""Region captions: what a captioner says of each region of a photo, without repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from models import alignment, queries
from models.calibration import Calibration
from models.registry import Caption, Captioner, Generation, Matcher
from models.types import Box, FragmentBag

REPEATED = 0.5  # of the smaller box's area: from there on an equal caption is a repetition


@dataclass(frozen=True, slots=True)
class RegionCaption:
    """A region of a photo and its caption.

    `score` is the matcher's for the caption and this region alone, and `probability` what that is
    worth, None without a calibration.
    """

    box: Box
    caption: Caption
    score: float
    probability: float | None

    @property
    def rank(self) -> float:
        """What regions are ordered by: scores of different texts do not compare."""
        return self.score if self.probability is None else self.probability

    def repeats(self, other: RegionCaption) -> bool:
        """Whether another one says the same of nearly the same place."""
        least = min(self.box.area, other.box.area)
        near = self.box.shared(other.box) >= REPEATED * least
        return near and self.caption.text == other.caption.text


def described(
    captioner: Captioner, inputs: Tensor, boxes: Tensor, generation: Generation
) -> list[tuple[Box, Caption]]:
    """The best caption of every region of a photo but the whole frame, in one batch.

    Shapes: inputs (F, C) and boxes (R, 4) are the sight's; the last R inputs are those of the
    boxes, the whole frame's first. Regions of which nothing is said are left out.
    """
    regions = inputs[len(inputs) - len(boxes) + 1 :]  # (R - 1, C)
    captions = captioner.describe(list(regions[:, None]), replace(generation, count=1))
    return [
        (Box(*box), best[0])
        for box, best in zip(boxes[1:].tolist(), captions, strict=True)
        if best and best[0].words
    ]


def ranked(
    matcher: Matcher,
    calibration: Calibration | None,
    image: FragmentBag,
    found: Sequence[tuple[Box, Caption]],
) -> list[RegionCaption]:
    """Captions of a photo's regions, those that the matcher finds likeliest first.

    `image` is the photo's bag; each caption is compared with the fragment nearest to its box.
    """
    known = calibration.words if calibration else ()
    texts = list(dict.fromkeys(caption.text for _, caption in found))
    made = queries.of_several(matcher, [[(text, 1.0)] for text in texts], known)
    asked = dict(zip(texts, made, strict=True))
    judged = []
    for box, caption in found:
        region, query = nearest(image, box), asked[caption.text]
        links = alignment.query_links(region, query, matcher.score)
        probability = calibration.of_pair(region, query, matcher.score) if calibration else None
        score = sum(link.similarity for link in links)
        judged.append(RegionCaption(box, caption, score, probability))
    return sorted(judged, key=lambda region: -region.rank)


def nearest(image: FragmentBag, box: Box) -> FragmentBag:
    """The bag of one fragment of a photo, whose box has the largest IoU with a box."""
    overlaps = [place.iou(box) for place in image.places if isinstance(place, Box)]
    best = max(range(len(overlaps)), key=overlaps.__getitem__)
    place = image.places[best]
    assert isinstance(place, Box)
    return replace(
        image, vectors=image.vectors[best : best + 1], places=(place,), labels=(image.labels[best],)
    )


def distinct(found: Sequence[RegionCaption], count: int) -> list[RegionCaption]:
    """The first `count` that do not repeat one before them."""
    kept: list[RegionCaption] = []
    for region in found:
        if len(kept) == count:
            break
        if not any(region.repeats(other) for other in kept):
            kept.append(region)
    return kept
