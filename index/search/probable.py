"""Photos from a probability on: all of them, told apart exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from index.distinct import find_distinct
from index.search.contenders import Contenders
from index.search.exact_scores import HitsOfRow, Refused
from index.search.requests import Request
from index.search.scan import SLACK, Scored, probabilities
from index.segments.rows import Numbers
from models.scores.calibration import Calibration
from models.scores.kernels import Floats

ROUNDING = 1e-4  # of exact scores, which depends on what is scored together
BATCH = 1_000  # rows whose bags are read at a time
Rescore = Callable[[Sequence[tuple[int, int]]], tuple[HitsOfRow, Refused]]


@dataclass(frozen=True, slots=True)
class ProbableRows:
    """Rows by revision and position (M,), and facts of the search.

    rows: how many were searched. rescored: those that only exact scores could tell. behind: how
    many changes of the catalog are not searched yet. coverage: the share of the collection that
    was. damaged: items with a bag that is not as it was stored. total: the rows' scores, off by
    `error` at most, (M,); none where nothing was scored.
    """

    revisions: Numbers
    positions: Numbers
    rows: int
    rescored: int = 0
    behind: int = 0
    coverage: float = 1.0
    damaged: frozenset[str] = frozenset()
    total: Floats = field(default_factory=lambda: np.empty(0, np.float32))
    error: Floats = field(default_factory=lambda: np.empty(0, np.float32))

    @property
    def contenders(self) -> Contenders:
        """The rows as possible best hits, if they were scored."""
        highest = self.total + self.error
        return Contenders(self.revisions, self.positions, self.total, self.error, highest)

    @property
    def items(self) -> Numbers:
        """The different revisions, in order."""
        return find_distinct(self.revisions)

    def of_items(self, revisions: Sequence[int]) -> list[tuple[int, int]]:
        """The revisions and positions of rows of items with some revisions."""
        chosen = np.flatnonzero(np.isin(self.revisions, revisions))
        pairs = zip(self.revisions[chosen].tolist(), self.positions[chosen].tolist(), strict=True)
        return list(pairs)

    @classmethod
    def together(cls, parts: Sequence[ProbableRows], coverage: float, behind: int) -> ProbableRows:
        """Join the rows of several shards."""
        none = np.empty(0, np.int64)
        return cls(
            np.concatenate([none, *(part.revisions for part in parts)]),
            np.concatenate([none, *(part.positions for part in parts)]),
            rows=sum(part.rows for part in parts),
            rescored=sum(part.rescored for part in parts),
            behind=behind,
            coverage=coverage,
            damaged=frozenset().union(*(part.damaged for part in parts)),
            total=np.concatenate([np.empty(0, np.float32), *(part.total for part in parts)]),
            error=np.concatenate([np.empty(0, np.float32), *(part.error for part in parts)]),
        )


def tell_apart(
    calibration: Calibration, scored: Sequence[Scored], request: Request, rescore: Rescore
) -> ProbableRows:
    """Find the rows with a probability of `least` among scored ones.

    Codes tell most rows apart by the bounds of their errors; bags tell the others.
    """
    assert request.least is not None
    chosen, doubtful = [np.empty((2, 0), np.int64)], list[tuple[int, int]]()
    scores = [np.empty((2, 0), np.float32)]
    for part in scored:
        at = np.stack([part.rows.revisions[part.numbers], part.rows.positions[part.numbers]])
        lowest, highest = (
            probabilities(calibration, part, request, share)
            for share in (np.float32(-1), np.float32(1))
        )
        surely = lowest >= request.least + SLACK
        chosen.append(at[:, surely])
        scores.append(np.stack([part.total, part.error])[:, surely])
        perhaps = at[:, (highest >= request.least - SLACK) & ~surely]
        doubtful += [(revision, position) for revision, position in perhaps.T.tolist()]
    damaged = set[str]()
    for start in range(0, len(doubtful), BATCH):
        hits, refused = rescore(doubtful[start : start + BATCH])
        damaged.update(refused.values())
        probable = {
            key: (hit.score, ROUNDING * (1 + abs(hit.score)))
            for key, (hit,) in hits.items()
            if (hit.probability or 0) >= request.least
        }
        chosen.append(np.array([*probable], np.int64).reshape(-1, 2).T)
        scores.append(np.array([*probable.values()], np.float32).reshape(-1, 2).T)
    revisions, positions = np.concatenate(chosen, axis=1)
    total, error = np.concatenate(scores, axis=1)
    return ProbableRows(
        revisions,
        positions,
        rows=0,
        rescored=len(doubtful),
        damaged=frozenset(damaged),
        total=total,
        error=error,
    )
