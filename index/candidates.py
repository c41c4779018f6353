"""Which rows might win: everything, or what the centroids of their fragments let through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import faiss
import numpy as np
from numpy.typing import NDArray

from index.rescorer import Codes, Floats, Numbers, Rescorer, Role, Term
from index.rows import Rows


@dataclass(frozen=True, slots=True)
class Chosen:
    """Some rows of a segment, by number."""

    rows: Rows
    numbers: Numbers


class Candidates(Protocol):
    """Thins out the rows that are to be scored exactly. Safe to call from several threads."""

    def prepare(self, rows: Iterable[Rows]) -> None:
        """Build what `choose` likes to have for these rows; may take minutes."""
        ...

    def choose(
        self, parts: Sequence[Chosen], query: Sequence[Term], role: Role, best: int
    ) -> Sequence[Chosen]:
        """What of the parts might be among the `best` rows for a query of weighted terms."""
        ...


class Exact:
    """Every row: nothing is ever missed."""

    def prepare(self, rows: Iterable[Rows]) -> None:
        """Nothing is needed."""

    def choose(
        self,
        parts: Sequence[Chosen],
        query: Sequence[Term],  # noqa: ARG002 - the Protocol's
        role: Role,  # noqa: ARG002
        best: int,  # noqa: ARG002
    ) -> Sequence[Chosen]:
        """All of them."""
        return parts


class Centroids:
    """Rows ranked by their score with every fragment taken for its nearest centroid.

    Keeps each row's own sum, so it serves both directions, which nearest-fragment lists do not
    (PLAID's centroid interaction, Santhanam et al. 2022, over our scores). A fragment costs two
    bytes. Rows that are in memory, or that nobody has prepared, all pass.
    """

    def __init__(
        self, rescorer: Rescorer, *, centroids: int = 4096, keep: int = 500, smallest: int = 10_000
    ) -> None:
        assert centroids <= 2**16, "codes have 16 bits"
        self._rescorer = rescorer
        self._centroids = centroids
        self._keep = keep
        self._smallest = smallest

    def prepare(self, rows: Iterable[Rows]) -> None:
        """Write the codes of each mapped segment of some size; centroids are learned once."""
        learned: Floats | None = None
        for one in rows:
            if one.folder is None or len(one) < self._smallest:
                continue
            done = _coded(one.folder)
            if done is None:
                learned = _learn(one.vectors, self._centroids) if learned is None else learned
                _write(one.folder, learned, _nearest(one.vectors, learned))
            else:
                learned = done[0]

    def choose(
        self, parts: Sequence[Chosen], query: Sequence[Term], role: Role, best: int
    ) -> Sequence[Chosen]:
        """The rows of the highest estimates: `keep` of them, or ten for each that is wanted."""
        coded = [(part, _coded(part.rows.folder)) for part in parts]
        passed = [part for part, codes in coded if codes is None]
        thinned = [(part, codes) for part, codes in coded if codes is not None]
        estimates = [self._estimates(part, codes, query, role) for part, codes in thinned]
        keep = max(self._keep, 10 * best)
        for (part, _), scores in zip(thinned, _highest(estimates, keep), strict=True):
            passed.append(Chosen(part.rows, part.numbers[scores]))
        return passed

    def _estimates(
        self, part: Chosen, coded: tuple[Floats, Codes], query: Sequence[Term], role: Role
    ) -> Floats:
        """The score of each row with every fragment taken for its centroid."""
        centroids, codes = coded
        total = np.zeros(len(part.numbers), np.float32)
        for term in query:
            table = centroids @ term.vectors.T  # (C, T)
            total += term.weight * self._rescorer.coded(
                codes, part.rows.offsets, part.numbers, table, role, negated=term.negated
            )
        return total


def _highest(scores: list[Floats], keep: int) -> list[NDArray[np.bool_]]:
    """Masks of the `keep` highest of all scores together, ties included."""
    together = np.concatenate([*scores, np.empty(0, np.float32)])
    if len(together) <= keep:
        return [np.ones(len(one), np.bool_) for one in scores]
    threshold = np.partition(together, -keep)[-keep]
    return [one >= threshold for one in scores]


def _learn(vectors: Floats, centroids: int) -> Floats:
    """Spread centroids (C, D) over an even sample of the fragments, by k-means."""
    centroids = min(centroids, len(vectors))
    step = max(1, len(vectors) // (64 * centroids))
    sample = np.ascontiguousarray(vectors[::step])
    kmeans = faiss.Kmeans(vectors.shape[1], centroids, niter=10, seed=1, min_points_per_centroid=1)
    kmeans.train(sample)
    learned = kmeans.centroids
    assert learned is not None
    return learned


def _nearest(vectors: Floats, centroids: Floats) -> Codes:
    """The number of each fragment's nearest centroid, (N,)."""
    index = faiss.IndexFlatL2(vectors.shape[1])
    index.add(centroids)
    blocks = range(0, len(vectors), 2**16)
    found = [index.search(np.array(vectors[at : at + 2**16]), 1)[1][:, 0] for at in blocks]
    return np.concatenate(found).astype(np.uint16)


def _write(folder: Path, centroids: Floats, codes: Codes) -> None:
    for name, array in (("centroids", centroids), ("codes", codes)):
        partial = folder / f"{uuid4().hex}.partial.npy"
        np.save(partial, array)
        partial.replace(folder / f"{name}.npy")  # the codes come last: they make it whole


def _coded(folder: Path | None) -> tuple[Floats, Codes] | None:
    """Centroids (C, D) and mapped codes (N,) of a segment's side, if they are there."""
    if folder is None or not (folder / "codes.npy").exists():
        return None
    codes = np.load(folder / "codes.npy", mmap_mode="r").view(np.ndarray)
    return np.load(folder / "centroids.npy", mmap_mode="r").view(np.ndarray), codes
