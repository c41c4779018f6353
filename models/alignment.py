"""Which region answers each word, and which phrases share a region."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from models.scoring import SMOOTHING
from models.types import WHOLE_SENTENCE, FragmentBag, Link, Span

# β that joins neighbours whose regions differ little, with the scores of the shipped matcher.
BETA = 0.05


@dataclass(frozen=True, slots=True)
class Phrase:
    """Neighbouring words that one region explains; similarity is the sum over its words."""

    span: Span
    region: int
    similarity: float


def links(image: FragmentBag, sentence: FragmentBag, score: str = "sum_of_max") -> tuple[Link, ...]:
    """The terms of a score of models.scoring; they add up to it.

    For sum_of_max every sentence fragment's best region (Karpathy & Fei-Fei 2015, eq. 8), for
    mean_of_positive every pair that agrees (Karpathy et al. 2014, eq. 6).
    """
    similarity = sentence.vectors @ image.vectors.T  # (T, R)
    if score == "sum_of_max":
        shares, regions = similarity.max(dim=1)  # (T,)
        pairs = torch.stack([torch.arange(len(regions)), regions], dim=1)
    elif score == "mean_of_positive":
        pairs = (similarity > 0).nonzero()  # (N, 2)
        shares = similarity[similarity > 0] / (len(image) * (len(sentence) + SMOOTHING))
    else:
        raise LookupError(f"no links for score {score!r}")
    return tuple(
        Link(fragment, region, share)
        for (fragment, region), share in zip(pairs.tolist(), shares.tolist(), strict=True)
    )


def decode_chain(similarity: Tensor, beta: float) -> list[int]:
    """argmax_a Σ_j v_{a_j}ᵀ s_j + β Σ_j 1[a_j = a_{j+1}]   (Karpathy & Fei-Fei 2015, eq. 10-12).

    The paper speaks of minimising this energy; its terms are similarities, so the best alignment
    is the one that maximises it. similarity is (T, R); the result names a region for each word.
    β = 0 aligns every word alone; a large β gives the whole sentence one region.
    """
    if not beta >= 0:
        raise ValueError(f"beta is {beta}; it must be 0 or more")
    T, R = similarity.shape
    best = similarity[0]  # (R,) the best energy of a chain that ends in each region
    came_from = torch.zeros(T, R, dtype=torch.long)
    for t in range(1, T):
        switch, switched_from = best.max(dim=0)
        stays = best + beta >= switch  # switching pays only when it beats staying
        came_from[t] = torch.where(stays, torch.arange(R), switched_from)
        best = torch.where(stays, best + beta, switch) + similarity[t]
    regions = [int(best.argmax())]
    for t in range(T - 1, 0, -1):
        regions.append(int(came_from[t, regions[-1]]))
    return regions[::-1]


def decode_phrases(image: FragmentBag, sentence: FragmentBag, beta: float) -> tuple[Phrase, ...]:
    """The contiguous phrases of a sentence and the region of each, by chain decoding.

    A fragment that stands for the whole sentence is no link of the chain, unless it is alone.
    """
    words = [i for i, label in enumerate(sentence.labels) if label != WHOLE_SENTENCE] or [0]
    similarity = sentence.vectors[words] @ image.vectors.T  # (T, R)
    regions = decode_chain(similarity, beta)
    phrases: list[Phrase] = []
    for t, region in enumerate(regions):
        span, value = sentence.places[words[t]], float(similarity[t, region])
        assert isinstance(span, Span)
        if phrases and phrases[-1].region == region:
            last = phrases.pop()
            span, value = Span(last.span.start, span.end), last.similarity + value
        phrases.append(Phrase(span, region, value))
    return tuple(phrases)
