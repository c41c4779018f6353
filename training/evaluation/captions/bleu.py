"""Corpus BLEU of captions against several references, after Papineni et al. (2002)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from training.evaluation.captions.treebank import treebank_words

ORDERS = 4


@dataclass(frozen=True, slots=True)
class Bleu:
    """Corpus BLEU-1 to BLEU-4 in percent, and captions' length against references'."""

    scores: tuple[float, ...]
    length_ratio: float


def bleu(captions: Sequence[str], references: Sequence[Sequence[str]]) -> Bleu:
    """B-N = min(1, e^(1 − r/c)) · (Π_{n ≤ N} p_n)^(1/N)    (Papineni et al. 2002, section 2.3).

    p_n is the clipped n-gram precision over the whole corpus, c the captions' length and r the
    references' closest lengths (the shorter of two as close). Words are those of the Penn
    Treebank, punctuation dropped. ValueError for no captions or a caption without references.
    """
    if not captions or len(captions) != len(references) or not all(references):
        raise ValueError(
            f"every caption needs a reference: got {len(captions)} captions "
            f"and references for {sum(map(bool, references))}"
        )
    candidates = [treebank_words(caption) for caption in captions]
    reference_words = [
        [treebank_words(sentence) for sentence in sentences] for sentences in references
    ]
    candidate_length = sum(map(len, candidates))
    reference_length = sum(
        min((abs(len(sentence) - len(caption)), len(sentence)) for sentence in sentences)[1]
        for caption, sentences in zip(candidates, reference_words, strict=True)
    )
    brevity = (
        min(1.0, math.exp(1 - reference_length / candidate_length)) if candidate_length else 0.0
    )
    precisions = [
        ngram_precision(candidates, reference_words, order) for order in range(1, ORDERS + 1)
    ]
    return Bleu(
        tuple(100 * brevity * geometric_mean(precisions[:n]) for n in range(1, ORDERS + 1)),
        candidate_length / reference_length,
    )


def ngram_precision(
    candidates: Sequence[list[str]], references: Sequence[Sequence[list[str]]], order: int
) -> float:
    """Compute the share of n-grams in a reference.

    A reference has them at least as often.
    """
    matched = total = 0
    for caption, sentences in zip(candidates, references, strict=True):
        counts, allowed = ngrams(caption, order), Counter[tuple[str, ...]]()
        for sentence in sentences:
            allowed |= ngrams(sentence, order)
        matched += (counts & allowed).total()
        total += counts.total()
    return matched / total if total else 0.0


def ngrams(text: list[str], order: int) -> Counter[tuple[str, ...]]:
    """Count each run of `order` words."""
    return Counter(zip(*(text[start:] for start in range(order)), strict=False))


def geometric_mean(values: Sequence[float]) -> float:
    """Take the n-th root of the product of n values."""
    return math.prod(values) ** (1 / len(values))
