"""Similarity of sentences: cosines of sums of fragments, split into pairs.

    S = gᵀ h / (|g| |h|) = Σ_t Σ_u s_tᵀ s_u / (|g| |h|),  g = Σ_t s_t and h = Σ_u s_u

One vector a sentence, as Socher et al. (2014, section 6.1) compare sentences; they take inner
products. Divided by the lengths, the most similar sentence of all is always the sentence itself.
"""

from __future__ import annotations

from math import fsum

import numpy as np
from numpy.typing import NDArray

from models.machine_code import compile_loop
from models.scores.kernels import Floats
from models.types import FragmentBag, Link

TINY = 1e-30  # a length below it is that of a sum of nothing
ANSWERS = 3  # words that a link is shown to, at most
CLEAR = 0.5  # the least part of such a word, as a share of the best one's


def unit_sums(vectors: Floats, starts: NDArray[np.int64], width: int) -> Floats:
    """Compute g / |g| (B, D) of fragments (N, D) from `starts` (B,).

    Only the first `width` numbers count; the others are zeros.
    """
    sums = np.zeros((len(starts), vectors.shape[1]))  # in double: squares of large numbers fit
    add_fragments(vectors, starts, width, sums)
    units: Floats = (sums / measure_lengths(sums)[:, None]).astype(np.float32)
    return units


@compile_loop
def add_fragments(
    vectors: Floats, starts: NDArray[np.int64], width: int, out: NDArray[np.float64]
) -> None:
    """Add fragments (N, D) from `starts` (B,) to out (B, D).

    Their first `width` numbers count.
    """
    for b in range(len(starts)):
        end = starts[b + 1] if b + 1 < len(starts) else len(vectors)
        for n in range(starts[b], end):
            for w in range(width):
                out[b, w] += vectors[n, w]


def measure_lengths(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Measure |g| (B,) of sums (B, D); TINY for those of nothing."""
    lengths: NDArray[np.float64] = np.sqrt(np.square(sums).sum(axis=1))
    return np.maximum(lengths, TINY)


def pairs(query: FragmentBag, sentence: FragmentBag) -> NDArray[np.float64]:
    """The part (T, U) of each pair of words; all parts add up to S.

    A catalogue's terms do not count: they are requests of a photo.
    """
    width = query.vectors.shape[1] - query.of_terms
    asked, stored = (
        bag.vectors[:, :width].numpy(force=True).astype(np.float64) for bag in (query, sentence)
    )
    lengths = measure_lengths(np.stack([asked.sum(axis=0), stored.sum(axis=0)]))
    parts: NDArray[np.float64] = asked @ stored.T / lengths.prod()
    return parts


def links(sentence: FragmentBag, query: FragmentBag) -> tuple[Link, ...]:
    """Links of each word of a query to the words of a sentence that answer it; they add up to S.

    `region` counts in the sentence. The first link of a word has all that it gave: `added` with the
    best word of the sentence, and `whole` with the words without a link. Further links are to words
    that are about as clear.
    """
    every = list[Link]()
    of_pairs = pairs(query, sentence)
    best_words = np.argsort(-of_pairs, axis=1, kind="stable")[:, :ANSWERS].tolist()
    # Lists, as arrays of a dozen numbers take several times as long.
    for fragment, (parts, best) in enumerate(zip(of_pairs.tolist(), best_words, strict=True)):
        answering = [u for u in best if parts[u] > 0 and parts[u] >= CLEAR * parts[best[0]]]
        answering = answering or best[:1]
        rest = fsum(parts) - fsum(parts[u] for u in answering)
        wholes = [rest] + [0.0] * (len(answering) - 1)
        every += [
            Link(fragment, u, parts[u] + whole, whole)
            for u, whole in zip(answering, wholes, strict=True)
        ]
    return tuple(every)
