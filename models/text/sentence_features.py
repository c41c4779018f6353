"""Sentence vectors without training: the mean of the words, or tf-idf."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.text.fisher import FisherVectors
from models.text.words import MINILM_HIDDEN


class MeanVector(nn.Module):
    """The mean of a sentence's word vectors, standardized as on train.

    Shapes: word vectors (L, T, W) and mask (L, T) give (L, W).
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, words: int) -> None:
        super().__init__()
        self.features = words
        self.register_buffer("mean", torch.zeros(words))
        self.register_buffer("deviation", torch.ones(words))

    def fit(self, sentences: Sequence[Tensor]) -> None:
        """Measure train's sentences, each (T, W)."""
        means = torch.stack([sentence.float().mean(0) for sentence in sentences])  # (L, W)
        self.mean.copy_(means.mean(0))
        # Word vectors have channels that never move.
        deviation = means.std(0, correction=0)
        self.deviation.copy_(deviation.clamp(min=max(0.1 * float(deviation.median()), 1e-4)))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """One vector a sentence; padding does not count."""
        total = (x.float() * mask[..., None]).sum(1)  # (L, W)
        return (total / mask.sum(1, keepdim=True) - self.mean) / self.deviation


class TfIdf(nn.Module):
    """Counts of a sentence's words, weighted by rarity, of length √V.

    idf_v = log(L / n_v) for a word in n_v of train's L sentences: no list of stop words is needed.
    Shapes: word numbers (L, T, 1), from 0 to V − 1, and mask (L, T) give (L, V).
    """

    idf: Tensor

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.features = vocabulary
        self.register_buffer("idf", torch.ones(vocabulary))

    def fit(self, sentences: Sequence[Tensor]) -> None:
        """Count train's sentences, each (T, 1)."""
        present = torch.cat([torch.unique(sentence) for sentence in sentences])
        counts = present.bincount(minlength=self.features).clamp(min=1)
        self.idf.copy_((len(sentences) / counts).log())

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """One vector a sentence, of length √V: unit vectors have tiny numbers."""
        counts = x.new_zeros(len(x), self.features, dtype=torch.float)
        counts = counts.scatter_add(1, x[..., 0], mask.float())  # (L, V)
        lengthened: Tensor = F.normalize(counts * self.idf, dim=1) * math.sqrt(self.features)
        return lengthened


FEATURES = ("hglmm", "mean", "tfidf")


def sentence_features(
    kind: str, words: int, axes: int, components: int, principal: int
) -> FisherVectors | MeanVector | TfIdf:
    """A module of one vector a sentence, to be fitted on train's.

    tfidf: of a vocabulary of `words`. hglmm: `axes` numbers a word, `components` of the mixture,
    `principal` numbers a sentence.
    """
    if kind == "tfidf":
        return TfIdf(1 + words)
    if kind == "mean":
        return MeanVector(MINILM_HIDDEN)
    return FisherVectors(MINILM_HIDDEN, axes, components, principal)
