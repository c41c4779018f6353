"""Scores of stored rows from their codes, with bounds of errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from index.codes import encode, steps, steps_of
from index.search.gpu import Device
from index.search.query import QueryPart, SentenceRole, exact, exact_sentences
from index.search.row_blocks import RowBlock
from index.segments.heads import Extremes, Heads, split_signs
from index.segments.rows import Numbers, Rows, of_vectors
from models.scores.byte_dots import ByteDots
from models.scores.half_dots import HalfDots
from models.scores.kernels import Floats
from models.scores.scoring import ProductErrors, Score
from models.threads import Workers

BLOCK = 2**10  # rows whose products lie in the processor's second cache together
EXTREMES = 2**12  # rows of a block of extremes
ALONE = 4  # blocks up to which another thread costs more time than it saves
WIDE = 64  # numbers of vectors that a processor's own instructions multiply

FINE = 254.0  # a vector's second code is of what its first leaves, which is half a step at most


@dataclass(frozen=True, slots=True)
class Estimates:
    """Scores of rows, (B,) or (P, B), and their errors' bounds."""

    scores: Floats
    errors: Floats


class Coded:
    """A query part in 8 bits, for the rows of one side.

    Its vectors are scales[t] · codes[t].
    Where the rows are sentences, what the part's fragments have in common (the summary of an image)
    is taken out first, as from stored images, and coded twice: with a coarse and a fine step. It
    may be for the heads of rows, or for their extremes.
    """

    def __init__(
        self,
        term: QueryPart,
        score: Score,
        role: SentenceRole,
        *,
        rows_have_base: bool,
        heads: Heads | Extremes | None = None,
    ) -> None:
        self.term, self.role, self.score = term, role, score
        # What a row's base gives to all of the fragments together is as good, and found sooner.
        self.together = (
            score.adds_shifts and role is SentenceRole.QUERY_IS_SENTENCE and not term.bounded
        )
        vectors, rest = term.vectors, None
        if heads is not None:
            assert role is SentenceRole.QUERY_IS_SENTENCE
            vectors = np.ascontiguousarray(term.vectors @ heads.directions)
            rest = np.linalg.norm(term.vectors - vectors @ heads.directions.T, axis=1)
        if isinstance(heads, Extremes):
            vectors = split_signs(vectors)
            if self.together:  # a row has one vector for all fragments, too
                vectors = vectors.sum(axis=0, keepdims=True)
        self.common: Floats | None = None
        if role is SentenceRole.ROWS_ARE_SENTENCES:
            self.common = score.image_summary(vectors, np.zeros(1, np.int64))[0]
            vectors = vectors - self.common
        sizes = np.abs(vectors)
        self.scales = steps_of(sizes)
        self.all_codes = encode(vectors, self.scales)  # (T [+ 2], D)
        if self.common is not None:
            self.common_scale = steps(self.common[None])
            coarse = encode(self.common[None], self.common_scale)
            fine = self.common - coarse[0] * self.common_scale
            both = coarse, encode(fine[None], self.common_scale / FINE)
            self.all_codes = np.concatenate([self.all_codes, *both])
        self.codes = ByteDots(self.all_codes)
        together = term.vectors.sum(axis=0, keepdims=True) if self.together else term.vectors
        self.base_vectors = together if rows_have_base else None
        self.base = HalfDots(together) if rows_have_base else None
        self.errors_by_row = self._errors_by_row(sizes, rest)  # (E, T)

    @property
    def common_steps(self) -> tuple[float, float]:
        """The steps of the coarse and the fine code of what fragments have in common."""
        coarse = 0.0 if self.common is None else float(self.common_scale[0])
        return coarse, coarse / FINE

    def _errors_by_row(self, sizes: Floats, rest: Floats | None) -> Floats:
        """The effect (E, T) of RowBlock.errors on products with fragments.

        Their numbers have sizes (T, D).
        |v·s − v'·s'| ≤ ‖v − v'‖∞ ‖s‖₁ + ‖v'‖₁ ‖s − s'‖∞; of heads also rest(v) · rest(s).
        """
        lengths = sizes.sum(axis=1)  # ‖s_t‖₁
        by_scale, by_reach = lengths / 2, self.scales / 2
        if self.common is not None:
            by_scale = by_scale + np.abs(self.common).sum() / 2
            by_reach = by_reach + self.common_scale / np.float32(2 * FINE)
        changed = self.common is not None or rest is not None  # vectors, before they were coded
        before = np.abs(self.term.vectors) if changed else sizes
        by_rounding = before.max(axis=1)  # ‖s_t‖∞
        factors = [by_scale, by_reach, by_rounding]
        if rest is not None:
            factors += [rest, before.sum(axis=1)]
        if len(sizes) < len(before):  # one vector for all fragments
            factors = [factor.sum(keepdims=True) for factor in factors]
        return np.array(factors, np.float32)

    def estimates(self, rows: RowBlock) -> Estimates:
        """Scores of rows by their codes."""
        T, B = len(self.scales), len(rows.scales)
        dots = self.codes(rows.codes, rows.fragments)  # (N, ≥ T [+ 2])
        fragment_shifts = np.zeros(len(dots), np.float32)
        if self.common is not None:
            common = dots[:, T] + dots[:, T + 1] / np.float32(FINE)
            fragment_shifts = (self.common_scale * common).astype(np.float32)
        row_shifts = np.zeros((B, T), np.float32)
        if self.base is not None:
            shifts = self.base(rows.summaries, rows.summarised)
            width = shifts.shape[1]
            row_shifts[:, :width] = shifts if rows.owners is None else shifts[rows.owners]
        scores = np.empty(B, np.float32)
        self.score.kernel(
            dots,
            rows.offsets,
            rows.scales,
            self.scales,
            row_shifts,
            fragment_shifts,
            self.role is SentenceRole.QUERY_IS_SENTENCE,
            self.term.least,
            scores,
        )
        return Estimates(scores, self.errors(rows))

    def errors(self, rows: RowBlock) -> Floats:
        """The bounds (B,) of the errors of rows' scores from their codes."""
        errors_by_part = rows.errors(len(self.term.vectors)), self.errors_by_row
        images = self.role is SentenceRole.QUERY_IS_SENTENCE
        return self.score.error(ProductErrors(*errors_by_part, rows.sizes, images))


class Rescorer:
    """Scores rows for queries, by workers' threads.

    Safe to call from several threads.
    """

    def __init__(self, score: Score, workers: Workers, device: str | None = None) -> None:
        self.score = score
        self.device = None if device in (None, "cpu") else Device(str(device), score)
        self._workers = workers

    def estimates(
        self,
        parts: Sequence[Coded],
        rows: Rows,
        numbers: Numbers | None = None,
        heads: Heads | Extremes | None = None,
    ) -> Estimates:
        """Score some sorted rows, or all, for a query's parts: (P, B).

        By the codes of `heads` instead of the rows' own, if the parts are for these. What a row's
        parts give by extremes may be too high by any amount, but too low by no more than their
        errors: parts that only lower rows lower none.
        """
        if self.device is not None and numbers is None and heads is None and len(rows):
            scored = self.device.score(parts, rows)
            return Estimates(scored.scores.cpu().numpy(), scored.errors.cpu().numpy())
        count = len(rows) if numbers is None else len(numbers)
        scores, errors = np.empty((2, len(parts), count), np.float32)
        bounding = isinstance(heads, Extremes)
        size = EXTREMES if bounding else BLOCK

        def estimate(start: int) -> None:
            places = slice(start, min(start + size, count))
            block = RowBlock.of(rows, places if numbers is None else numbers[places], heads)
            for number, part in enumerate(parts):
                if bounding and part.term.score_if_absent is not None:
                    scores[number, places], errors[number, places] = part.term.score_if_absent, 0
                    continue
                estimates = part.estimates(block)
                scores[number, places] = estimates.scores
                errors[number, places] = estimates.errors

        starts = range(0, count, size)
        self._workers.map(estimate, starts, alone=len(starts) < ALONE)
        return Estimates(scores, errors)

    def best_regions(
        self,
        parts: Sequence[Coded],
        rows: Rows,
        numbers: Numbers,
        heads: Heads | None = None,
    ) -> Estimates:
        """Score the best region of some sorted rows for all of a query's parts: (1, B)."""
        scores, errors = np.empty((2, 1, len(numbers)), np.float32)

        def estimate(start: int) -> None:
            places = slice(start, start + BLOCK)
            block, offsets = RowBlock.of_regions(
                rows, numbers[places], heads, self.score.whole_first
            )
            total, off = np.zeros((2, len(block.scales)), np.float32)
            for part in parts:
                estimates = part.estimates(block)
                total += np.float32(part.term.weight) * estimates.scores
                off += np.float32(abs(part.term.weight)) * estimates.errors
            scores[0, places] = np.maximum.reduceat(total, offsets[:-1])
            errors[0, places] = np.maximum.reduceat(off, offsets[:-1])

        starts = range(0, len(numbers), BLOCK)
        self._workers.map(estimate, starts, alone=len(starts) < ALONE)
        return Estimates(scores, errors)


def compile_kernels(score: Score) -> None:
    """Compile the kernels of a score, or read them from numba's cache."""
    vectors, role = np.ones((1, WIDE), np.float32), SentenceRole.QUERY_IS_SENTENCE
    term = QueryPart(vectors, 1.0)
    rows = of_vectors([vectors], [0], [0], "images", score, dimension=WIDE)
    part = Coded(term, score, role, rows_have_base=True)
    for chosen in (slice(0, 1), np.zeros(1, np.int64)):
        part.estimates(RowBlock.of(rows, chosen))
    exact(score, [vectors], term, role)
    exact_sentences(vectors, rows.offsets, term, WIDE)
