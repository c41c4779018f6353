"""What a matcher is worth on a split, by the same path that a service takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from torch import Tensor

from models.images import decode
from models.registry import Matcher
from models.types import FragmentBag
from training.data.corpus import Example
from training.data.entities import GroundedSentence
from training.evaluation.grounding import Grounding, Outcome, grounding, judge
from training.evaluation.retrieval import Floats, Retrieval, retrieval
from training.evaluation.scores import score_matrix
from training.progress import Progress, silent

Item = TypeVar("Item")
Boxes = Mapping[str, Sequence[GroundedSentence]]
BATCH = 32


@dataclass(frozen=True, slots=True)
class Measured:
    """A split's metrics; grounding is None where the split has no true boxes."""

    images: int
    sentences: int
    retrieval: Retrieval
    grounding: Grounding | None
    seconds: float


def measure(
    matcher: Matcher,
    examples: Sequence[Example],
    boxes: Boxes | None = None,
    progress: Progress = silent,
    device: str = "cpu",
) -> Measured:
    """Embed a split's photos and sentences, score all pairs exactly, and rank them.

    `boxes` maps file names to grounded sentences. ValueError says which photo or sentence the
    matcher cannot take.
    """
    began = time.perf_counter()
    texts = [sentence for example in examples for sentence in example.sentences]
    paths = [example.image for example in examples]
    images = embedded(
        lambda part: matcher.embed_images([pixels(path) for path in part]),
        paths,
        progress,
        "photos",
    )
    grounded = [list((boxes or {}).get(example.image.name, ())) for example in examples]
    extra = {one.text for sentences in grounded for one in sentences} - set(texts)
    said = list(dict.fromkeys(texts)) + sorted(extra)
    spoken = embedded(matcher.embed_sentences, said, progress, "sentences")
    bags = dict(zip(said, spoken, strict=True))
    scored = partial(score_matrix, score=matcher.score, device=device, progress=progress)
    outcomes = judged(images, grounded, bags)
    return Measured(
        images=len(images),
        sentences=len(texts),
        retrieval=ranked(images, [bags[text] for text in texts], examples, scored),
        grounding=grounding(outcomes) if outcomes else None,
        seconds=time.perf_counter() - began,
    )


def ranked(
    images: Sequence[FragmentBag],
    sentences: Sequence[FragmentBag],
    examples: Sequence[Example],
    scored: Callable[[Sequence[Tensor], Sequence[Tensor]], Floats],
) -> Retrieval:
    """Retrieval among all photos' and all sentences' bags."""
    scores = scored([bag.vectors for bag in images], [bag.vectors for bag in sentences])
    owners = [number for number, example in enumerate(examples) for _ in example.sentences]
    return retrieval(scores, owners)


def embedded(
    embed: Callable[[Sequence[Item]], list[FragmentBag]],
    items: Sequence[Item],
    progress: Progress,
    what: str,
) -> list[FragmentBag]:
    """The bag of every item, a batch at a time."""
    starts = range(0, len(items), BATCH)
    return [
        bag for at in progress(starts, len(starts), what) for bag in embed(items[at : at + BATCH])
    ]


def judged(
    images: Sequence[FragmentBag],
    grounded: Sequence[Sequence[GroundedSentence]],
    bags: Mapping[str, FragmentBag],
) -> list[Outcome]:
    """What became of every boxed phrase of every photo."""
    return [
        judge(image, bags[sentence.text], phrase)
        for image, sentences in zip(images, grounded, strict=True)
        for sentence in sentences
        for phrase in sentence.phrases
    ]


def pixels(path: Path) -> Tensor:
    """A photo's pixels, uint8 (3, height, width); ValueError names the file that is broken."""
    try:
        return decode(path.read_bytes()).pixels
    except ValueError as broken:
        raise ValueError(f"{path}: {broken}") from broken
