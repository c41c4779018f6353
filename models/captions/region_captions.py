"""Region captions: a caption of each region of a photo, without repetitions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from models.captions.forms import is_well_formed
from models.captions.support import rank
from models.registry import Caption, Captioner, Generation, Matcher
from models.scores import alignment
from models.scores.calibration import Calibration
from models.text import query_drafts
from models.text.parsing import parse_trees
from models.types import Box, FragmentBag, ParsedSentence

REPEATED = 0.5  # of the smaller box's area: from there on an equal caption is a repetition


@dataclass(frozen=True, slots=True)
class RegionCaption:
    """A region of a photo and its caption.

    `score` is the matcher's for the caption and this region alone. `probability` is its calibrated
    probability, None without a calibration.
    """

    box: Box
    caption: Caption
    score: float
    probability: float | None

    @property
    def order(self) -> float:
        """The value for sorting regions: scores of different texts do not compare."""
        return self.score if self.probability is None else self.probability

    def repeats(self, other: RegionCaption) -> bool:
        """Return whether another caption says the same of nearly the same place."""
        least = min(self.box.area, other.box.area)
        near = self.box.overlap(other.box) >= REPEATED * least
        return near and self.caption.text == other.caption.text


def describe_regions(
    captioner: Captioner,
    inputs: Tensor,
    boxes: Tensor,
    generation: Generation,
    things: Collection[str] = (),
) -> list[tuple[Box, Caption]]:
    """All candidate captions of a photo's regions, in one batch.

    The frame has none.

    Shapes: inputs (F, C) and boxes (R, 4) are the sight's; the last R inputs are those of the
    boxes, the whole frame's first. Captions of a broken form, or without a noun, such as "a large",
    are left out; with `things` one has to be among those nouns in the singular.
    """
    regions = inputs[len(inputs) - len(boxes) + 1 :]  # (R - 1, C)
    captions = captioner.describe(list(regions[:, None]), generation.candidates)
    texts = list(
        {caption.text for candidates in captions for caption in candidates if caption.words}
    )
    naming = {
        tree.text
        for tree in parse_trees(texts)
        if is_well_formed(tree) and names_thing(tree, things)
    }
    return [
        (Box(*box), caption)
        for box, candidates in zip(boxes[1:].tolist(), captions, strict=True)
        for caption in candidates
        if caption.text in naming
    ]


def names_thing(tree: ParsedSentence, things: Collection[str]) -> bool:
    """Whether a text has a noun: one of `things`, if any."""
    nouns = [word.lemma.lower() for word in tree.words if word.tag.startswith("NN")]
    return any(noun in things for noun in nouns) if things else bool(nouns)


def rank_regions(
    matcher: Matcher,
    calibration: Calibration | None,
    image: FragmentBag,
    candidates: Sequence[tuple[Box, Caption]],
) -> list[RegionCaption]:
    """The best candidate of each region, ordered by the matcher's probability.

    `image` is the photo's bag; each caption is compared with the fragment nearest to its box.
    Candidates are ranked by `support.rank`, without a reward for each word.
    """
    words = calibration.words if calibration else ()
    texts = list(dict.fromkeys(caption.text for _, caption in candidates))
    embedded = query_drafts.of_several(matcher, [[(text, 1.0)] for text in texts], words)
    query_of = dict(zip(texts, embedded, strict=True))
    regions = {box: nearest(image, box) for box, _ in candidates}
    best: dict[Box, RegionCaption] = {}
    for box, caption in candidates:
        region, query = regions[box], query_of[caption.text]
        links = alignment.query_links(region, query, matcher.score)
        probability = calibration.of_pair(region, query, matcher.score) if calibration else None
        score = sum(link.similarity for link in links)
        candidate = RegionCaption(box, caption, score, probability)
        best[box] = max(
            candidate,
            best.get(box, candidate),
            key=lambda entry: rank(entry.caption, entry.probability),
        )
    return sorted(best.values(), key=lambda region: -region.order)


def nearest(image: FragmentBag, box: Box) -> FragmentBag:
    """A bag of the fragment with the largest IoU with a box."""
    overlaps = [place.iou(box) for place in image.places if isinstance(place, Box)]
    best = max(range(len(overlaps)), key=overlaps.__getitem__)
    place = image.places[best]
    assert isinstance(place, Box)
    return replace(
        image, vectors=image.vectors[best : best + 1], places=(place,), labels=(image.labels[best],)
    )


def distinct(
    regions: Sequence[RegionCaption], count: int, least: float | None = None
) -> list[RegionCaption]:
    """The first `count` captions of probability `least` without repetitions."""
    chosen: list[RegionCaption] = []
    for region in regions:
        if len(chosen) == count:
            break
        probable = region.probability is None or region.probability >= (least or 0)
        if probable and not any(region.repeats(other) for other in chosen):
            chosen.append(region)
    return chosen
