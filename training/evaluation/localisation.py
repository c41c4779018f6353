"""Localisation of phrases: recall at K, pointing, upper bound, mean average precision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torchvision.ops import box_iou

from models.types import WHOLE_SENTENCE, Box, FragmentBag, Span
from training.data.entities import TruePhrase, enclose
from training.evaluation.average_precision import average_precision

IOU = 0.5


def fragments_in(sentence: FragmentBag, span: Span) -> list[int]:
    """Find the fragments of a span, without the whole sentence."""
    places: Sequence[Box | Span] = sentence.places
    return [
        position
        for position, (place, label) in enumerate(zip(places, sentence.labels, strict=True))
        if isinstance(place, Span)
        and label != WHOLE_SENTENCE
        and place.start < span.end
        and span.start < place.end
    ]


def holds_centre(box: Box, other: Box) -> bool:
    """Return whether the centre of another box lies in a box."""
    x, y = (other.left + other.right) / 2, (other.top + other.bottom) / 2
    return box.left <= x <= box.right and box.top <= y <= box.bottom


@dataclass(frozen=True, slots=True)
class LocatedPhrase:
    """A phrase, its true boxes, and its photo's boxes (R, 4) with scores (R,)."""

    text: str
    true: tuple[Box, ...]
    boxes: Tensor
    scores: Tensor


@dataclass(frozen=True, slots=True)
class Localisation:
    """Percent of phrases, with IoU ≥ 0.5 to the box around all true boxes.

    pointed: the best box's centre lies in a true box. bound: some box is right.
    mean_precision: the mean over unique phrases of the average precision of all boxes of all the
    photos that have the phrase (Wang, Li & Lazebnik 2016, table 3).
    """

    recall_1: float
    recall_5: float
    recall_10: float
    pointed: float
    bound: float
    mean_precision: float
    phrases: int


def locate(image: FragmentBag, sentence: FragmentBag, phrase: TruePhrase) -> LocatedPhrase:
    """Score boxes for a phrase by a matcher's links.

    Links are summed over fragments.

    Without a fragment in the phrase all boxes score alike, and the first is best.
    """
    words = fragments_in(sentence, phrase.span)
    scores: Tensor = (sentence.vectors[words] @ image.vectors.T).sum(dim=0)  # (R,)
    boxes = torch.tensor(image.places)  # (R, 4)
    return LocatedPhrase(phrase.text, phrase.boxes, boxes, scores)


def localisation(located_phrases: Iterable[LocatedPhrase]) -> Localisation:
    """Sum up phrases; ValueError without any, or without numbers."""
    phrases = list(located_phrases)
    if not phrases:
        raise ValueError("no phrase with a box to be found; are the boxes of these photos?")
    if any(phrase.scores.isnan().any() for phrase in phrases):
        raise ValueError("a score is not a number")
    right = [find_hits(phrase) for phrase in phrases]
    ranked = [
        hit[phrase.scores.argsort(descending=True, stable=True)]
        for phrase, hit in zip(phrases, right, strict=True)
    ]
    recall = {count: percent([bool(hit[:count].any()) for hit in ranked]) for count in (1, 5, 10)}
    return Localisation(
        recall_1=recall[1],
        recall_5=recall[5],
        recall_10=recall[10],
        pointed=percent([is_pointed_at(phrase) for phrase in phrases]),
        bound=percent([bool(hit.any()) for hit in ranked]),
        mean_precision=mean_precision(phrases, right),
        phrases=len(phrases),
    )


def percent(outcomes: Sequence[bool]) -> float:
    """Compute the share of true outcomes in percent."""
    return 100 * sum(outcomes) / len(outcomes)


def find_hits(phrase: LocatedPhrase) -> Tensor:
    """Find the right boxes, (R,)."""
    union = enclose(phrase.true)
    true = phrase.boxes.new_tensor([[union.left, union.top, union.right, union.bottom]])
    right: Tensor = box_iou(true, phrase.boxes)[0] >= IOU
    return right


def is_pointed_at(phrase: LocatedPhrase) -> bool:
    """Return whether the best box's centre lies in a true box."""
    best = Box(*phrase.boxes[phrase.scores.argmax()].tolist())
    return any(holds_centre(box, best) for box in phrase.true)


def mean_precision(phrases: Sequence[LocatedPhrase], right: Sequence[Tensor]) -> float:
    """Percent: the mean of `average_precision` over unique phrases, in lower case."""
    groups: dict[str, list[int]] = defaultdict(list)
    for at, phrase in enumerate(phrases):
        groups[phrase.text.lower()].append(at)
    precisions = [
        average_precision(
            torch.cat([phrases[at].scores for at in group]),
            torch.cat([first_of_each(phrases[at].scores, right[at]) for at in group]),
            len(group),
        )
        for group in groups.values()
    ]
    return 100 * sum(precisions) / len(precisions)


def first_of_each(scores: Tensor, right: Tensor) -> Tensor:
    """Keep the best right box alone, (R,), as in detection."""
    best = torch.zeros_like(right)
    if right.any():
        best[scores.masked_fill(~right, float("-inf")).argmax()] = True
    return best
