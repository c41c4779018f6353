"""Pooled rows: means of like fragments, to choose candidates by.

A row of many fragments has no one vector that ranks like its score. The score with a few means of
its fragments does, and is computed as that of any row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from index.codes import single
from index.segments.rows import Allocate, Rows, in_memory, join, of_vectors
from models.scores.kernels import Floats
from models.scores.scoring import Score

FACTOR = 8  # fragments a mean
LEAST = 256  # fewer rows are scored whole
HELD = 0.75  # least cosine of a fragment and its mean: with less, candidates miss hits
MOST = 0.25  # means a fragment, on average; with more, rows are scored whole
SAMPLE = 128  # rows that this is measured on
PASSES = 4  # of k-means
BLOCK = 2**9  # rows that are pooled at a time


def build(parts: Sequence[Rows], score: Score, allocate: Allocate) -> Rows | None:
    """Build the pooled rows of the live rows of photos of parts; None where they would not help.

    That is for few rows, and where fragments of a photo are too unlike each other. What a part has
    is taken over. `allocate` is as in index.segments.rows.join.
    """
    count = sum(int(part.live.sum()) for part in parts)
    fragments = sum(len(part.codes) for part in parts)
    if not score.ranked_by_pooling or count < LEAST or fragments < 2 * sum(map(len, parts)):
        return None
    if not any(part.pooled for part in parts) and measure_means(parts) > MOST:
        return None
    return join(
        [replace(part.pooled or pool_rows(part, score), live=part.live) for part in parts], allocate
    )


def measure_means(parts: Sequence[Rows]) -> float:
    """The means a fragment, on average, of some rows of parts."""
    step = -(-sum(map(len, parts)) // SAMPLE)
    sample = [decode(part, number) for part in parts for number in range(0, len(part), step)]
    return float(np.mean([len(pool(vectors)) / len(vectors) for vectors in sample]))


def pool_rows(rows: Rows, score: Score) -> Rows:
    """Pool the fragments of each row, a block at a time."""
    blocks = []
    for start in range(0, len(rows), BLOCK):
        numbers = range(start, min(start + BLOCK, len(rows)))
        blocks.append(
            of_vectors(
                [pool(decode(rows, number)) for number in numbers],
                rows.revisions[start : numbers.stop].tolist(),
                rows.positions[start : numbers.stop].tolist(),
                "images",
                score,
                rows.codes.shape[1],
            )
        )
    return join(blocks, in_memory)


def decode(rows: Rows, number: int) -> Floats:
    """Decode the fragments (F, D) of a row of photos."""
    codes = rows.codes[rows.offsets[number] : rows.offsets[number + 1]]
    vectors: Floats = single(rows.summaries[number : number + 1]) + rows.scales[number] * codes
    return vectors


def pool(vectors: Floats) -> Floats:
    """Pool vectors (F, D) to about F / FACTOR means, by spherical k-means.

    A mean is as long as its vectors are on average: shorter ones would score less. A vector unlike
    its mean is one of its own, or a small thing of a photo could not be found.
    """
    count = -(-len(vectors) // FACTOR)
    lengths = np.linalg.norm(vectors, axis=1)
    means = vectors[np.arange(count) * len(vectors) // count]
    for _ in range(PASSES):
        owners = (vectors @ turn_to_units(means).T).argmax(axis=1)
        shares = (owners == np.arange(count)[:, None]).astype(np.float32)  # (M, F)
        members = shares.sum(axis=1)
        size = shares @ lengths / np.maximum(members, 1)
        sums = turn_to_units(shares @ vectors) * size[:, None]
        means = np.where(members[:, None] > 0, sums, means).astype(np.float32)
    cosines = (turn_to_units(vectors) @ turn_to_units(means).T).max(axis=1)
    return np.concatenate([means, vectors[cosines < HELD]])


def turn_to_units(vectors: Floats) -> Floats:
    """Divide vectors (N, D) by their lengths."""
    units: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-20)
    return units
