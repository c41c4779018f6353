"""Descriptions of a split's photos by a captioner, by the path that a service takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import Tensor

from models.registry import Caption, Captioner, Generation
from models.types import Box, Span
from training.data.corpus import Example
from training.evaluation.descriptions import Described
from training.evaluation.embedding import pixels
from training.progress import Progress, silent

BATCH = 16  # photos described at once


def described(
    captioner: Captioner,
    examples: Sequence[Example],
    generation: Generation | None = None,
    progress: Progress = silent,
    inputs: Sequence[Tensor] | None = None,
) -> list[Described]:
    """The best caption of each photo; by default of a beam of five.

    `inputs` are the sight's features (F, C) of each photo where they are known: the photos are then
    not read, and words have no boxes.
    """
    captions = []
    starts = range(0, len(examples), BATCH)
    for start in progress(starts, len(starts), "captions"):
        some = slice(start, start + BATCH)
        if inputs is None:
            features, boxes = captioner.sight([pixels(one.image) for one in examples[some]])
        else:
            features, boxes = inputs[some], [None] * len(inputs[some])
        for best, places in zip(
            captioner.describe(features, generation or Generation()), boxes, strict=True
        ):
            captions.append(Described(best[0].text, dict(attended(best[0], places))))
    return captions


def attended(caption: Caption, boxes: Tensor | None) -> Iterator[tuple[Span, Box]]:
    """The place of each word that attends to boxes (R, 4), and the box that it attends to most."""
    start = 0
    for word in caption.words:
        if word.attention is not None and boxes is not None:
            best = boxes[int(word.attention.argmax())]
            yield Span(start, start + len(word.text)), Box(*best.tolist())
        start += len(word.text) + 1
