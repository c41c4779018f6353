"""Scores of stored rows by their codes: block after block, by several threads or on a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from index.blocks import Block
from index.coded_queries import Coded, Estimates
from index.device import Device
from index.heads import Heads
from index.query_parts import Role
from index.rows import Numbers, Rows
from models.scoring import Score

BLOCK = 2**10  # rows whose products lie in the processor's second cache together
ALONE = 4  # blocks up to which another thread costs more time than it saves


class Rescorer:
    """Scores rows for queries. Safe to call from several threads, and uses some of its own."""

    def __init__(self, score: Score, threads: int | None = None, device: str | None = None) -> None:
        self.score = score
        self.device = None if device in (None, "cpu") else Device(str(device), score)
        self._threads = threads or len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(self._threads, "rescorer")

    def estimates(
        self,
        part: Coded,
        rows: Rows,
        numbers: Numbers | None = None,
        heads: Heads | None = None,
    ) -> Estimates:
        """Scores of the rows of these numbers, in their order, or of all rows.

        By the codes of `heads` instead of the rows' own, if the part is for these.
        """
        if self.device is not None and numbers is None and len(rows):
            return self._on_device(self.device, part, rows)
        blocks = list(_blocks(rows, numbers))
        if len(blocks) < ALONE or self._threads < 2:
            results = [_estimated(part, rows, blocks, heads)] if blocks else []
        else:
            shares = [blocks[start :: self._threads] for start in range(self._threads)]
            work = [self._pool.submit(_estimated, part, rows, share, heads) for share in shares]
            results = [done.result() for done in work]
        count = len(rows) if numbers is None else len(numbers)
        scores, errors = np.empty(count, np.float32), np.empty(count, np.float32)
        for (start, _), found in (pair for result in results for pair in result):
            scores[start : start + len(found.scores)] = found.scores
            errors[start : start + len(found.errors)] = found.errors
        return Estimates(scores, errors)

    def _on_device(self, device: Device, part: Coded, rows: Rows) -> Estimates:
        asked = part.role is Role.QUERY_IS_SENTENCE
        scores = device.scores(
            rows, part.term.vectors, rows_are_images=asked, negated=part.term.negated
        )
        return Estimates(scores, part.errors(Block.between(rows, 0, len(rows))))


Piece = tuple[int, Numbers | int]  # where its results go; its rows' numbers, or its end


def _blocks(rows: Rows, numbers: Numbers | None) -> Iterator[Piece]:
    count = len(rows) if numbers is None else len(numbers)
    for start in range(0, count, BLOCK):
        end = min(start + BLOCK, count)
        yield start, end if numbers is None else numbers[start:end]


def _estimated(
    part: Coded, rows: Rows, pieces: Sequence[Piece], heads: Heads | None
) -> list[tuple[Piece, Estimates]]:
    found = []
    for start, piece in pieces:
        block = (
            Block.between(rows, start, piece, heads)
            if isinstance(piece, int)
            else Block.of(rows, piece, heads)
        )
        found.append(((start, piece), part.estimates(block)))
    return found
