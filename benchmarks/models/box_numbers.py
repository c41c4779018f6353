"""Fewer numbers for boxes alone, and their effect.

Photos are exact; an adopted encoder ranks and links.

What sets boxes apart is projected onto its principal components, fitted to other photos.

    python -m benchmarks.models.box_numbers truth/clip.safetensors truth/scenes --numbers 16
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from models import checkpoint
from training.data import readers as folders
from training.data.corpus import Example
from training.encoders import tune as tuning
from training.runs.progress import silent


def link(apart: Sequence[Tensor], words: Sequence[Tensor], owners: Sequence[int]) -> Tensor:
    """The box of every word in its own photo, (N,)."""
    pairs = zip(owners, words, strict=True)
    return torch.cat([(sentence @ apart[k].T).argmax(1) for k, sentence in pairs])


def main() -> None:
    """Print recalls and the share of equal boxes, by components."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("checkpoint", type=Path)
    options.add_argument("data", type=Path)
    options.add_argument("--fitted", default="val", help="the split that components are fitted to")
    options.add_argument("--split", default="test")
    options.add_argument("--numbers", type=int, action="append")
    chosen = options.parse_args()
    matcher = checkpoint.load(chosen.checkpoint).model
    image = matcher.config.image.options
    corpus = folders.read(chosen.data, None)

    def boxes(examples: Sequence[Example]) -> tuple[list[Tensor], list[Tensor]]:
        vectors, _ = tuning.embed_boxes(matcher, examples, silent)
        return vectors, [tuning.compute_differences(photo, image.against) for photo in vectors]

    examples = corpus.split(chosen.split)
    owners = [k for k, example in enumerate(examples) for _ in example.sentences]
    words = tuning.embed_words(matcher, examples, silent)
    vectors, apart = boxes(examples)
    fitted = torch.cat(boxes(corpus.split(chosen.fitted))[1])
    directions = torch.linalg.svd(fitted, full_matrices=False).Vh  # (D, D)
    before = link(apart, words, owners)
    for count in (len(directions), *(chosen.numbers or (32, 16, 8, 4))):
        basis = directions[:count]
        fewer = [photo @ basis.T @ basis for photo in apart]
        terms = tuning.compute_terms(vectors, fewer, words, "cpu", silent)
        scores = terms.scores(image.regions)
        measurement = tuning.measure_trial(
            (image.recipe, image.against), image.regions, scores, owners
        )
        same = (link(fewer, words, owners) == before).float().mean()
        print(
            f"{count} numbers a box: text → image R@1 {measurement.search_1:.1f}, "
            f"image → text {measurement.annotation_1:.1f}, "
            f"{100 * same:.1f} % of words keep their box"
        )


if __name__ == "__main__":
    main()
