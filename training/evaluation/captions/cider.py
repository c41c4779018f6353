"""CIDEr-D of captions: tf-idf similarity of n-grams to references."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

ORDERS = 4
SIGMA = 6.0  # words; the standard deviation of the length penalty
FACTOR = 10.0

Text = Sequence[Hashable]  # words, or their numbers in a vocabulary
Ngram = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class References:
    """A photo's references: tf-idf of n-grams by sentence, norms (S, 4), lengths."""

    weights: Mapping[Ngram, list[tuple[int, float]]]
    norms: tuple[tuple[float, ...], ...]
    lengths: tuple[int, ...]


class Cider:
    """CIDEr-D against the references of K photos    (Vedantam, Zitnick & Parikh 2015, section 5).

    CIDEr-D_n(c, S) = 10/|S| Σ_s exp(−(l(c) − l(s))² / 2σ²) · min(g_n(c), g_n(s)) · g_n(s)
                      / (‖g_n(c)‖ ‖g_n(s)‖), σ = 6; CIDEr-D is its mean over n = 1…4.
    g_n counts each n-gram, times log(K / its photos): those that have it in a reference, at least
    1. As in the authors' code, counts are not divided by a sentence's length.

    A score is from 0 to 10, and 0.55 is what papers print as 55.

    >>> cider = Cider([["a dog runs fast".split()], ["the cat sits there".split()]])
    >>> cider.scores(["a dog runs fast".split(), "a cat runs fast".split()], [0, 0]).round(4)
    array([10.    ,  2.7083])
    """

    def __init__(self, references: Sequence[Sequence[Text]]) -> None:
        """Count the n-grams of photos' references; ValueError without any."""
        if not references or not all(references):
            raise ValueError(
                f"CIDEr-D needs reference sentences of every photo: {sum(map(bool, references))} "
                f"of {len(references)} photos have some"
            )
        counted = [[ngrams(sentence) for sentence in sentences] for sentences in references]
        photos = Counter(
            chain.from_iterable(set(chain.from_iterable(counts)) for counts in counted)
        )
        self.unseen = math.log(len(references))  # the weight of an n-gram of no reference
        self.rarity = {ngram: self.unseen - math.log(count) for ngram, count in photos.items()}
        self.photos = [
            self.weigh(counts, tuple(map(len, sentences)))
            for counts, sentences in zip(counted, references, strict=True)
        ]

    def weigh(self, counted: Sequence[Counter[Ngram]], lengths: tuple[int, ...]) -> References:
        """One photo's references by their n-grams."""
        weights = defaultdict[Ngram, list[tuple[int, float]]](list)
        for sentence, counts in enumerate(counted):
            for ngram, count in counts.items():
                weights[ngram].append((sentence, count * self.rarity[ngram]))
        return References(dict(weights), tuple(map(self.norms, counted)), lengths)

    def norms(self, counts: Counter[Ngram]) -> tuple[float, ...]:
        """‖g_n‖ of a sentence for n = 1…4."""
        squares = [0.0] * ORDERS
        for ngram, count in counts.items():
            squares[len(ngram) - 1] += (count * self.rarity.get(ngram, self.unseen)) ** 2
        return tuple(map(math.sqrt, squares))

    def scores(self, candidates: Sequence[Text], photos: Sequence[int]) -> NDArray[np.float64]:
        """Compute CIDEr-D (N,) of N candidates against the references of their photos.

        Raises ValueError if there is not one photo a candidate, IndexError for an unknown photo.
        """
        if len(candidates) != len(photos):
            raise ValueError(
                f"every candidate needs its photo: got {len(candidates)} candidates and "
                f"{len(photos)} photos"
            )
        scores = map(self.score, candidates, photos)
        return np.fromiter(scores, np.float64, len(candidates))

    def score(self, candidate: Text, photo: int) -> float:
        """CIDEr-D of one candidate."""
        references, counts = self.photos[photo], ngrams(candidate)
        products = [[0.0] * ORDERS for _ in references.lengths]
        for ngram, count in counts.items():
            for sentence, weight in references.weights.get(ngram, ()):
                clipped = min(count * self.rarity[ngram], weight)
                products[sentence][len(ngram) - 1] += clipped * weight
        norms = self.norms(counts)
        total = 0.0
        for product, lengths, reference_norms in zip(
            products, references.lengths, references.norms, strict=True
        ):
            penalty = math.exp(-((len(candidate) - lengths) ** 2) / (2 * SIGMA**2))
            total += penalty * sum(map(cosine, product, norms, reference_norms))
        return FACTOR * total / (ORDERS * len(products))


def cider(candidates: Sequence[Text], references: Sequence[Sequence[Text]]) -> float:
    """Compute the mean CIDEr-D of a candidate for each photo, times 100."""
    return 100 * float(Cider(references).scores(candidates, range(len(candidates))).mean())


def ngrams(text: Text) -> Counter[Ngram]:
    """Count each run of 1 to 4 words."""
    return Counter(
        tuple(text[start : start + order])
        for order in range(1, ORDERS + 1)
        for start in range(len(text) - order + 1)
    )


def cosine(product: float, norm: float, reference_norm: float) -> float:
    """Divide a product by both norms.

    0 if a norm is 0.
    """
    return product / (norm * reference_norm) if product else 0.0
