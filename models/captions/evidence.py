"""Evidence for words: their similarity to a photo, against the usual."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.captions.captioning import FIRST_WORD

DEVIATIONS = (-4.0, 8.0)  # the limits of evidence
LEAST = 1e-3  # a standard deviation
FOREMOST = 20  # words for which most speaks
RELIABLE = (0.6, 0.8)  # AUC of evidence that is not, and that is, relied on
LEAST_PHOTOS = 20  # that have a word, so that its AUC is measured


class Evidence(nn.Module):
    """Similarities of a photo or a sentence to the vocabulary's words, standardized.

    e_w = (max_i v_i·n_w − μ_w) / σ_w for the fragments v_i of a photo; a sentence has the sum of
    its words' vectors instead. n_w is the word's own vector in the joint space. Means and
    deviations are train's, separate for photos and sentences. END and the unknown word have none.
    """

    names: Tensor
    photos: Tensor
    texts: Tensor
    reliability: Tensor

    def __init__(self, words: int, joint: int) -> None:
        super().__init__()
        self.register_buffer("names", torch.zeros(words, joint))
        self.register_buffer("photos", torch.stack([torch.zeros(words), torch.ones(words)]))
        self.register_buffer("texts", torch.stack([torch.zeros(words), torch.ones(words)]))
        self.register_buffer("reliability", torch.zeros(words))

    def forward(self, similarities: Tensor, usual: Tensor) -> Tensor:
        """Similarities (K, W) to evidence (K, V), with zeros for END and the unknown word."""
        deviations = ((similarities - usual[0]) / usual[1]).clamp(*DEVIATIONS)
        return F.pad(deviations, (FIRST_WORD, 0))

    def of_photos(self, fragments: Tensor) -> Tensor:
        """Similarities (K, W) of fragments (K, R, D)."""
        return (fragments @ self.names.T).amax(1)

    def of_texts(self, vectors: Tensor) -> Tensor:
        """Similarities (K, W) of sentences' vectors (K, D)."""
        return vectors @ self.names.T

    def doubt(self, evidence: Tensor) -> Tensor:
        """Doubt (K, V) of words with less evidence than the photo's foremost words.

        d_w = ρ_w max(0, (ē − e_w) / 2 − e_w), with ē the mean of the photo's 20 largest e. So a
        person is doubted if there is little evidence for one and much for fruit. ρ_w is 1 for words
        with reliable evidence on train's photos, and 0 for words such as "of".
        """
        most = evidence.topk(min(FOREMOST, evidence.shape[1]), dim=1).values.mean(1, keepdim=True)
        reliability = F.pad(self.reliability, (FIRST_WORD, 0))
        return reliability * ((most - evidence) / 2 - evidence).clamp_min(0)


def usual(similarities: Tensor) -> Tensor:
    """The mean and the standard deviation of each column of (N, W): (2, W)."""
    return torch.stack([similarities.mean(0), similarities.std(0).clamp_min(LEAST)])


def written(sentences: Sequence[Sequence[Tensor]], like: Tensor) -> Tensor:
    """Mark the words (N, W) of each photo's sentences."""
    has = torch.zeros(len(like), like.shape[1] + FIRST_WORD, dtype=torch.bool, device=like.device)
    for row, photo_sentences in zip(has, sentences, strict=True):
        row[torch.cat(list(photo_sentences)).to(like.device)] = True
    return has[:, FIRST_WORD:]


def reliability(similarities: Tensor, has: Tensor) -> Tensor:
    """ρ (W,) of similarities (N, W): 0 at an AUC of .6, 1 at .8.

    `has` (N, W) says which photos' sentences have the word; ρ is 0 of words of fewer than 20.
    """
    N, counts = len(has), has.sum(0).float()
    ranks = similarities.argsort(0).argsort(0).float() + 1
    above = (ranks * has).sum(0) - counts * (counts + 1) / 2
    auc = above / (counts * (N - counts)).clamp_min(1)
    measured = (counts >= LEAST_PHOTOS) & (counts <= N - LEAST_PHOTOS)
    low, high = RELIABLE
    return ((auc - low) / (high - low)).clamp(0, 1) * measured
