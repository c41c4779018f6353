"""Scores of stored rows from their codes, block by block, by threads or on a GPU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from index.search.estimates import Coded, Estimates, RowBlock
from index.search.gpu import Device
from index.search.query import QueryPart, SentenceRole, exact
from index.search.threads import Workers
from index.segments.heads import Heads
from index.segments.rows import Numbers, Rows, of_vectors
from models.scores.byte_dots import CHUNK
from models.scores.scoring import Score

BLOCK = 2**10  # rows whose products lie in the processor's second cache together
ALONE = 4  # blocks up to which another thread costs more time than it saves


class Rescorer:
    """Scores rows for queries. Safe to call from several threads, and uses its workers'."""

    def __init__(self, score: Score, workers: Workers, device: str | None = None) -> None:
        self.score = score
        self.device = None if device in (None, "cpu") else Device(str(device), score)
        self._workers = workers

    def estimates(
        self,
        parts: Sequence[Coded],
        rows: Rows,
        numbers: Numbers | None = None,
        heads: Heads | None = None,
    ) -> Estimates:
        """Score the rows of some sorted numbers, or all rows, for a query's parts: (P, B).

        By the codes of `heads` instead of the rows' own, if the parts are for these.
        """
        if self.device is not None and numbers is None and len(rows):
            return self._on_device(self.device, parts, rows)
        count = len(rows) if numbers is None else len(numbers)
        scores, errors = np.empty((2, len(parts), count), np.float32)

        def estimate(start: int) -> None:
            places = slice(start, min(start + BLOCK, count))
            block = RowBlock.of(rows, places if numbers is None else numbers[places], heads)
            for number, part in enumerate(parts):
                estimates = part.estimates(block)
                scores[number, places] = estimates.scores
                errors[number, places] = estimates.errors

        starts = range(0, count, BLOCK)
        self._workers.map(estimate, starts, alone=len(starts) < ALONE)
        return Estimates(scores, errors)

    def _on_device(self, device: Device, parts: Sequence[Coded], rows: Rows) -> Estimates:
        scores = [
            device.scores(
                rows,
                part.term.vectors,
                rows_are_images=part.role is SentenceRole.QUERY_IS_SENTENCE,
                floored=part.term.floored,
            )
            for part in parts
        ]
        block = RowBlock.of(rows, slice(0, len(rows)))
        return Estimates(np.stack(scores), np.stack([part.errors(block) for part in parts]))


def compile_kernel(score: Score) -> None:
    """Compile products of codes and a score's kernel, or read them from numba's cache."""
    vectors, role = np.ones((1, CHUNK), np.float32), SentenceRole.QUERY_IS_SENTENCE
    term = QueryPart(vectors, 1.0)
    rows = of_vectors([vectors], [0], [0], "images", score, dimension=CHUNK)
    Coded(term, score, role, rows_have_base=True).estimates(RowBlock.of(rows, slice(0, 1)))
    exact(score, [vectors], term, role)
