"""Regions ranked among all photos, by weights of whole photos.

    python -m benchmarks.models.region_ranking flickr8k/ --photos 150

Queries are the phrases of true boxes, each text once. A photo of the split val gives its best
region. It is right if it has IoU ≥ 0.5 to a true box, or to the box around all, of a phrase of that
photo with the same last word. A region's score is fᵀ g + w (v_i − f)ᵀ g, for the whole photo f and
the sum g of the words: w = 1 is the score of a photo of this region alone, which the links of
/search/regions add up to. Printed are the shares of right regions among the first one and the first
five, and how often a right one is among the first ten.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor
from torchvision.ops import box_iou

from models import checkpoint, shipped
from models.registry import Matcher
from models.types import Box, FragmentBag
from training.analysis import sample
from training.data import entities
from training.data import readers as folders
from training.data.corpus import Example
from training.data.entities import GroundedSentence, corners, enclose
from training.evaluation.embedding import read_pixels
from training.evaluation.localisation import IOU

WEIGHTS = (0.5, 1.0, 1.5, 2.0, 4.0, 8.0)
FIRST, FIVE, TEN = 1, 5, 10

Truth = Mapping[str, Tensor]  # boxes (N, 4) of a photo by the last words of its phrases


def main() -> None:
    """Embed, rank, and print a line a weight."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, help="a corpus with true boxes")
    parser.add_argument("--photos", type=int, default=150)
    parser.add_argument("--matcher", type=Path, default=shipped.MATCHER)
    options = parser.parse_args()
    corpus, boxes = folders.read(options.data), entities.find(options.data)
    if boxes is None:
        raise SystemExit(f"{options.data} has no true boxes")
    truth = entities.read(boxes)
    examples, name = sample(
        [photo for photo in corpus.split("val") if truth.get(photo.id)], "val", options.photos
    )
    matcher = checkpoint.load(options.matcher).model.eval()
    images = [embed(matcher, example) for example in examples]
    right = [group(truth[example.id]) for example in examples]
    texts = sorted({phrase for example in examples for phrase in texts_of(truth[example.id])})
    queries = [bag.vectors.sum(0) for bag in matcher.embed_sentences(texts)]
    print(f"{name}, {len(texts):,} phrases, {sum(map(len, images)):,} regions")
    for weight in WEIGHTS:
        ranked = [
            rank(images, right, g, text, weight) for text, g in zip(texts, queries, strict=True)
        ]
        print(f"w = {weight:3}: {describe(ranked)}", flush=True)


def embed(matcher: Matcher, example: Example) -> FragmentBag:
    """The bag of a photo."""
    (bag,) = matcher.embed_images([read_pixels(example.image)])
    return bag


def texts_of(sentences: Sequence[GroundedSentence]) -> set[str]:
    """The phrases of a photo, in lower case."""
    return {phrase.text.lower() for sentence in sentences for phrase in sentence.phrases}


def group(sentences: Sequence[GroundedSentence]) -> Truth:
    """True boxes of a photo by last words of phrases."""
    boxes = defaultdict[str, list[Box]](list)
    for sentence in sentences:
        for phrase in sentence.phrases:
            boxes[phrase.text.lower().split()[-1]] += [*phrase.boxes, enclose(phrase.boxes)]
    return {word: corners(true) for word, true in boxes.items()}


def rank(
    images: Sequence[FragmentBag], right: Sequence[Truth], g: Tensor, text: str, weight: float
) -> list[bool]:
    """Mark the right ones of the best regions, one a photo."""
    scored = []
    for image, true in zip(images, right, strict=True):
        whole = image.vectors[0] @ g
        scores = whole + weight * (image.vectors[1:] @ g - whole)
        best = int(scores.argmax())
        box = torch.tensor([image.places[1 + best]])
        boxes = true.get(text.split()[-1])
        hit = boxes is not None and bool((box_iou(box, boxes) >= IOU).any())
        scored.append((float(scores[best]), hit))
    return [hit for _, hit in sorted(scored, key=lambda pair: -pair[0])[:TEN]]


def describe(ranked: Sequence[Sequence[bool]]) -> str:
    """The shares in percent."""

    def share(count: int) -> float:
        return 100 * sum(sum(hits[:count]) for hits in ranked) / (count * len(ranked))

    some = 100 * sum(any(hits) for hits in ranked) / len(ranked)
    return (
        f"right first {share(FIRST):.1f} %, of five {share(FIVE):.1f} %, some of ten {some:.1f} %"
    )


if __name__ == "__main__":
    main()
