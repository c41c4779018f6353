"""Score matrices of images and sentences, without all links in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from models.scores.scoring import SCORES
from models.scores.sentences import unit_sums
from models.types import FragmentBag, PaddedBags
from training.evaluation.retrieval import Floats
from training.runs.progress import Progress, silent

IMAGES, SENTENCES = 128, 256  # in a block: about 128 × 256 × 20 × 12 links


def score_matrix(
    images: Sequence[Tensor],
    sentences: Sequence[Tensor],
    score: str,
    device: str = "cpu",
    progress: Progress = silent,
) -> Floats:
    """Compute exact scores (K, L) of bags (R_k, D) and (T_l, D), in blocks."""
    scores = np.empty((len(images), len(sentences)), dtype=np.float32)
    starts = range(0, len(sentences), SENTENCES)
    with torch.inference_mode():
        for first in progress(starts, len(starts), "scores"):
            words = pad(sentences[first : first + SENTENCES], device)
            for start in range(0, len(images), IMAGES):
                block = SCORES[score](pad(images[start : start + IMAGES], device), words)
                scores[start : start + IMAGES, first : first + SENTENCES] = block.cpu().numpy()
    return scores


def sentence_cosines(sentences: Sequence[FragmentBag]) -> Floats:
    """Compute the similarities (L, L) of sentences, see models.scores.sentences."""
    units = sum_to_units(sentences)
    similarities: Floats = units @ units.T
    return similarities


def sum_to_units(sentences: Sequence[FragmentBag]) -> Floats:
    """Sum fragments of sentences to vectors of length one (L, D).

    A sentence without fragments, as of pairs of words without a relation, has zeros.
    """
    sums = torch.stack([sentence.vectors.float().sum(0) for sentence in sentences]).numpy()
    return unit_sums(sums, np.arange(len(sums)), sums.shape[1] - sentences[0].of_terms)


def pad(bags: Sequence[Tensor], device: str) -> PaddedBags:
    """Bags as one float32 batch on a device."""
    return PaddedBags.of([bag.to(device, torch.float32) for bag in bags])
