"""How well links find the boxes of phrases: pointing, and localisation at IoU ≥ 0.5."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from models.types import WHOLE_SENTENCE, Box, FragmentBag, Span
from training.data.entities import TruePhrase

IOU = 0.5


@dataclass(frozen=True, slots=True)
class Grounding:
    """Percent of phrases, and how many there were.

    localised: the chosen box has IoU ≥ 0.5 with the true one. pointed: its centre lies in a true
    box. reachable: some box of the image has IoU ≥ 0.5, the most that localised could be.
    """

    localised: float
    pointed: float
    reachable: float
    phrases: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one phrase."""

    localised: bool
    pointed: bool
    reachable: bool


def grounding(outcomes: Iterable[Outcome]) -> Grounding:
    """Sum up outcomes; ValueError if there are none."""
    seen = list(outcomes)
    if not seen:
        raise ValueError("no phrase with a box to be found; are the boxes of these photos?")
    rows = torch.tensor([(one.localised, one.pointed, one.reachable) for one in seen])  # (P, 3)
    localised, pointed, reachable = (100 * rows.double().mean(dim=0)).tolist()
    return Grounding(localised, pointed, reachable, len(seen))


def judge(image: FragmentBag, sentence: FragmentBag, phrase: TruePhrase) -> Outcome:
    """Whether the phrase's best box is right.

    The best box is the one with the largest summed similarity over the phrase's words; where the
    sentence has no fragment in the phrase it is the image's first. As is customary on Flickr30K
    Entities, several true boxes are joined into the box around them.
    """
    words = fragments_in(sentence, phrase.span)
    similarity: Tensor = (sentence.vectors[words] @ image.vectors.T).sum(dim=0)  # (R,)
    boxes = [place for place in image.places if isinstance(place, Box)]
    chosen, true = boxes[int(similarity.argmax())], around(phrase.boxes)
    return Outcome(
        localised=iou(chosen, true) >= IOU,
        pointed=any(holds_centre(box, chosen) for box in phrase.boxes),
        reachable=any(iou(box, true) >= IOU for box in boxes),
    )


def fragments_in(sentence: FragmentBag, span: Span) -> list[int]:
    """The fragments that overlap a span, the whole sentence apart."""
    return [
        position
        for position, (place, label) in enumerate(
            zip(sentence.places, sentence.labels, strict=True)
        )
        if isinstance(place, Span)
        and label != WHOLE_SENTENCE
        and place.start < span.end
        and span.start < place.end
    ]


def iou(one: Box, other: Box) -> float:
    """Intersection over union of two boxes."""
    width = min(one.right, other.right) - max(one.left, other.left)
    height = min(one.bottom, other.bottom) - max(one.top, other.top)
    shared = max(width, 0.0) * max(height, 0.0)
    return shared / (one.area + other.area - shared)


def around(boxes: tuple[Box, ...]) -> Box:
    """The smallest box that holds all."""
    return Box(
        min(box.left for box in boxes),
        min(box.top for box in boxes),
        max(box.right for box in boxes),
        max(box.bottom for box in boxes),
    )


def holds_centre(box: Box, other: Box) -> bool:
    """Whether the centre of another box lies in a box."""
    x, y = (other.left + other.right) / 2, (other.top + other.bottom) / 2
    return box.left <= x <= box.right and box.top <= y <= box.bottom
