"""METEOR 1.5 of captions without Java.

Its data are in the installed package pycocoevalcap.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models import extras, packaged
from training.evaluation.captions import meteor_data
from training.evaluation.captions.meteor_alignment import Aligner

ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75  # the parameters of English rankings
WEIGHTS = np.array([1, 0.6, 0.8, 0.6])  # of matches: exact, stem, synonym, paraphrase
NORMALISED = (
    (re.compile(r"([^\W_.]|\.)-([^\W_])"), r"\1 \2"),  # "t-shirt" is two words
    (re.compile(r"(?<![^\W\d_])'(?=[^\W\d_])"), r"' "),  # and so is "'s"
    (re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])"), r" '"),
    (re.compile(r"(?<=[^\W\d_])'(?![^\W\d_])"), r" '"),
    (re.compile(r"(?<=[^\W\d_])\.(?=[^\W\d_]\.)|(?<=\.[^\W\d_])\."), ""),  # "u.s." is "us"
)

Counts = NDArray[np.float64]  # (2, 11): of a caption and of its reference, see `count_matches`


def meteor(
    captions: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
) -> float:
    """METEOR in percent    (Denkowski & Lavie 2014, section 2), of words of the Penn Treebank.

    P and R are the shares of a caption's and its reference's words that match, weighed by the kind
    of match and, function words against others, by 1 − δ and δ.
    METEOR = (1 − γ (chunks / matches)^β) · P R / (α P + (1 − α) R), over the counts of
    all captions, each with the reference that scores best.

    LookupError if the extra `captions` is not installed, whose data are read.
    """
    words = [normalise(caption) for caption in captions]
    reference_words = [[normalise(sentence) for sentence in sentences] for sentences in references]
    vocabulary = {
        word
        for sentences in (words, *reference_words)
        for sentence in sentences
        for word in sentence
    }
    aligner = Aligner(meteor_data.read(find_package(), vocabulary))
    total = sum(
        (
            max((count_matches(aligner, caption, sentence) for sentence in sentences), key=score)
            for caption, sentences in zip(words, reference_words, strict=True)
        ),
        start=np.zeros((2, 11)),
    )
    return 100 * score(total)


def find_package() -> Path:
    """Find METEOR's folder in pycocoevalcap.

    LookupError says how to install it.
    """
    try:
        return packaged.folder("pycocoevalcap.meteor.meteor")
    except (LookupError, ModuleNotFoundError):
        raise LookupError(f"METEOR needs pycocoevalcap: {extras.install('captions')}") from None


def normalise(words: Sequence[str]) -> list[str]:
    """Rewrite words of the Penn Treebank as METEOR's option -norm does."""
    text = " ".join(words)
    for pattern, replacement in NORMALISED:
        text = pattern.sub(replacement, text)
    return text.split()


def count_matches(aligner: Aligner, caption: Sequence[str], reference: Sequence[str]) -> Counts:
    """Counts (2, 11) of a caption and of its reference.

    Content words, function words, content words matched in each of four ways, function words
    matched in each, and half of the chunks, so that both rows add up to all.
    """
    matches, chunks = aligner.align(caption, reference)
    texts = (caption, reference)
    functional = [[word in aligner.data.function_words for word in text] for text in texts]
    counts = np.zeros((2, 11))
    for row, flags in enumerate(functional):
        counts[row, :2] = len(flags) - sum(flags), sum(flags)
    for match in matches:
        places = ((match.first, match.count), (match.start, match.length))
        for row, (start, length) in enumerate(places):
            for flag in functional[row][start : start + length]:
                counts[row, 2 + 4 * flag + match.kind] += 1
    counts[:, 10] = chunks / 2
    return counts


def score(counts: Counts) -> float:
    """METEOR of counts (2, 11), from 0 to 1."""
    matched = counts[:, 2:10].sum(axis=1)
    if not matched.all():
        return 0.0
    weighed = DELTA * counts[:, 2:6] @ WEIGHTS + (1 - DELTA) * counts[:, 6:10] @ WEIGHTS
    precision, recall = weighed / (DELTA * counts[:, 0] + (1 - DELTA) * counts[:, 1])
    chunks = counts[:, 10].sum()
    whole = chunks == 1 and (matched == counts[:, :2].sum(axis=1)).all()
    penalty = 0 if whole else GAMMA * (chunks / matched.mean()) ** BETA
    mean = 1 / ((1 - ALPHA) / precision + ALPHA / recall)
    return float(max(0, mean * (1 - penalty)))
