"""Neighbours: the rows with the most similar summaries, for many rows at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from index.codes import single
from index.segments.candidates import library
from index.segments.rows import Numbers, Rows
from models.scores.kernels import Floats

BLOCK = 2**14  # rows whose cosines are computed together
TOGETHER = 256  # rows that are looked for together
EXACT = 2**29  # pairs up to which every one is compared: a few seconds
CELLS, LOOKED_AT = 4, 16  # cells for the root of the number of rows; those that are looked at
TRAINED = 32  # rows for each cell that it is learned from


@dataclass(frozen=True, slots=True)
class RowVectors:
    """Summaries of chosen rows of several segments, (N, D), of length 1.

    `parts` are the rows of segments by number, in the order of their revisions.
    """

    parts: Sequence[tuple[Rows, Numbers]]
    _starts: Numbers = field(init=False)

    def __post_init__(self) -> None:
        sizes = [len(numbers) for _, numbers in self.parts]
        object.__setattr__(self, "_starts", np.cumsum([0, *sizes]))

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def revisions(self) -> Numbers:
        """The revision of each row (N,)."""
        none = np.empty(0, np.int64)
        return np.concatenate([none, *(rows.revisions[numbers] for rows, numbers in self.parts)])

    @property
    def dimension(self) -> int:
        """The length D of a vector."""
        return self.parts[0][0].summaries.shape[1] if self.parts else 1

    def of(self, places: Numbers) -> Floats:
        """The vectors (n, D) at some places."""
        vectors = np.empty((len(places), self.dimension), np.float32)
        for (rows, numbers), start in zip(self.parts, self._starts.tolist(), strict=False):
            here = (places >= start) & (places < start + len(numbers))
            vectors[here] = single(rows.summaries[numbers[places[here] - start]])
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        scaled: Floats = vectors / np.maximum(lengths, np.float32(1e-20))
        return scaled

    def blocks(self) -> Iterator[Numbers]:
        """The places of all rows, in blocks."""
        for start in range(0, len(self), BLOCK):
            yield np.arange(start, min(start + BLOCK, len(self)))


@dataclass(frozen=True, slots=True)
class AlikePairs:
    """Pairs of places with the cosines of their vectors, (P,)."""

    first: Numbers
    second: Numbers
    cosines: Floats

    @classmethod
    def of(cls, found: Sequence[tuple[Numbers, Numbers, Floats]]) -> AlikePairs:
        """Join lists of pairs."""
        none = np.empty(0, np.int64)
        return cls(
            np.concatenate([none, *(first for first, _, _ in found)]),
            np.concatenate([none, *(second for _, second, _ in found)]),
            np.concatenate([np.empty(0, np.float32), *(cosines for _, _, cosines in found)]),
        )


def find_pairs(vectors: RowVectors, places: Numbers, least: float, most: int) -> AlikePairs:
    """Pair rows at some places with others whose cosine is `least` or more.

    Of each up to `most`, the nearest. Many are looked for among the nearest of some cells of
    FAISS, so not all pairs are compared.
    """
    if not len(places) or len(vectors) < 2:
        return AlikePairs.of([])
    if len(places) * len(vectors) <= EXACT:
        nearest = _compare_all(vectors, places, most + 1)
    else:
        nearest = _compare_in_cells(vectors, places, most + 1)
    pairs = list[tuple[Numbers, Numbers, Floats]]()
    for first, others, cosines in nearest:
        alike = (cosines >= least) & (others >= 0) & (others != first[:, None])
        rows, columns = np.nonzero(alike)
        pairs.append((first[rows], others[rows, columns], cosines[rows, columns]))
    return AlikePairs.of(pairs)


Nearest = Iterator[tuple[Numbers, Numbers, Floats]]  # places (Q,), others and cosines (Q, K)


def _compare_all(vectors: RowVectors, places: Numbers, count: int) -> Nearest:
    for start in range(0, len(places), TOGETHER):
        chosen = places[start : start + TOGETHER]
        queries = vectors.of(chosen)
        others, cosines = np.empty((len(chosen), 0), np.int64), np.empty((len(chosen), 0))
        for block in vectors.blocks():
            products = queries @ vectors.of(block).T
            others = np.concatenate([others, np.broadcast_to(block, products.shape)], axis=1)
            cosines = np.concatenate([cosines, products], axis=1)
            if cosines.shape[1] > count:
                best = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
                others = np.take_along_axis(others, best, axis=1)
                cosines = np.take_along_axis(cosines, best, axis=1)
        yield chosen, others, cosines.astype(np.float32)


def _compare_in_cells(vectors: RowVectors, places: Numbers, count: int) -> Nearest:
    index = _build_cells(vectors)
    for start in range(0, len(places), TOGETHER):
        chosen = places[start : start + TOGETHER]
        cosines, others = index.search(vectors.of(chosen), count)
        yield chosen, others, cosines


def _build_cells(vectors: RowVectors) -> Any:
    """An index of cells around means, each with its vectors in half precision."""
    faiss = library()
    faiss.omp_set_num_threads(1)
    cells = CELLS * round(math.sqrt(len(vectors)))
    coarse: Any = faiss.IndexFlatIP(vectors.dimension)
    index: Any = faiss.IndexIVFScalarQuantizer(
        coarse,
        vectors.dimension,
        cells,
        faiss.ScalarQuantizer.QT_fp16,
        faiss.METRIC_INNER_PRODUCT,
    )
    index.own_fields = True
    coarse.this.disown()
    index.nprobe, index.cp.niter, index.cp.seed, index.cp.spherical = LOOKED_AT, 5, 1, True
    index.by_residual = False
    step = max(1, len(vectors) // (TRAINED * cells))
    index.cp.min_points_per_centroid = 1
    index.train(vectors.of(np.arange(0, len(vectors), step)))
    for block in vectors.blocks():
        index.add(vectors.of(block))
    return index
