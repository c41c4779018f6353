"""Score matrices of images and sentences, without all links in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from models.scores.scoring import SCORES
from models.scores.sentences import unit_sums
from models.types import FragmentBag, PaddedBags
from training.evaluation.retrieval import Direction, Floats, similarity
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


def measure_similarity(
    sentences: Sequence[Tensor], owners: Sequence[int], terms: int = 0
) -> Direction | None:
    """Rank sentences (T_l, D) by their cosines, see models.scores.sentences.

    The last `terms` numbers are a catalogue's and do not count. None if a photo has one sentence.
    """
    if np.unique(np.asarray(owners), return_counts=True)[1].min() < 2:
        return None
    units = sum_vectors_to_units(sentences, terms)
    return similarity(units @ units.T, owners)


def sum_to_units(sentences: Sequence[FragmentBag]) -> Floats:
    """Sum fragments of sentences to vectors of length one (L, D).

    A sentence without fragments, as of pairs of words without a relation, has zeros.
    """
    return sum_vectors_to_units([sentence.vectors for sentence in sentences], sentences[0].of_terms)


def sum_vectors_to_units(sentences: Sequence[Tensor], terms: int) -> Floats:
    """Sum vectors (T_l, D), without their last `terms` numbers, to length one."""
    sums = torch.stack([vectors.float().sum(0) for vectors in sentences]).numpy(force=True)
    return unit_sums(sums, np.arange(len(sums)), sums.shape[1] - terms)


def pad(bags: Sequence[Tensor], device: str) -> PaddedBags:
    """Bags as one float32 batch on a device."""
    return PaddedBags.of([bag.to(device, torch.float32) for bag in bags])
