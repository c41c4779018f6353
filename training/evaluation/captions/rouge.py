"""ROUGE-L of captions: their longest common subsequences with reference sentences."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

BETA = 1.2  # as published captioners are measured; recall counts β² times as much as precision


def rouge(
    captions: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
) -> float:
    """The mean of ROUGE-L over captions, in percent    (Lin 2004, section 3).

    F = (1 + β²) P R / (R + β² P), where P and R are the largest shares of the caption and of a
    reference that their longest common subsequence has; as in pycocoevalcap each is the largest
    over the references, which need not be of one reference.

    >>> round(rouge([["a", "dog", "runs"]], [[["a", "black", "dog"]]]), 2)
    66.67
    """
    return 100 * mean(map(rouge_of_one, captions, references))


def rouge_of_one(caption: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """ROUGE-L of a caption, from 0 to 1."""
    lengths = [common(caption, reference) for reference in references]
    if not any(lengths):
        return 0.0
    precision = max(lengths) / len(caption)
    recall = max(
        length / len(reference)
        for length, reference in zip(lengths, references, strict=True)
        if reference
    )
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)


def common(words: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for word in words:
        before = row.copy()
        for at, against in enumerate(other, 1):
            row[at] = before[at - 1] + 1 if word == against else max(before[at], row[at - 1])
    return row[-1]
