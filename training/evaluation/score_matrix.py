"""Score matrices of images and sentences, without all links in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from models.scores.scoring import SCORES
from models.types import PaddedBags
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


def pad(bags: Sequence[Tensor], device: str) -> PaddedBags:
    """Bags as one float32 batch on a device."""
    return PaddedBags.of([bag.to(device, torch.float32) for bag in bags])
