"""Scores of stored rows for a query: from their codes, with a bound of the error, or exact."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum

import numkong
import numpy as np
from numpy.typing import NDArray

from index.codes import LOW, coded, halves, steps
from index.device import Device
from index.heads import Heads
from index.rows import Numbers, Rows, fragments_of, offsets_of
from models.scoring import Floats, Score

BLOCK = 2**10  # rows whose products lie in the processor's second cache together
ALONE = 4  # blocks up to which another thread costs more time than it saves
FINE = 254.0  # a vector's second code is of what its first leaves, which is half a step at most
ROUNDING = np.float32(2**-23)  # of a number in single precision, up and down
NEGATED_LEAST, LEAST = np.float32(0), np.float32(-np.inf)


class Role(Enum):
    """Which side of a pair is the sentence: its fragments are the ones that are summed over."""

    QUERY_IS_SENTENCE = "query"
    ROWS_ARE_SENTENCES = "rows"


@dataclass(frozen=True, slots=True)
class Term:
    """One part of a query, vectors (T, D), and its weight in the score: below 0 if negated."""

    vectors: Floats
    weight: float

    @property
    def negated(self) -> bool:
        """Whether it counts only where a row has it."""
        return self.weight < 0

    @property
    def least(self) -> np.float32:
        """What no maximum over fragments counts less than."""
        return NEGATED_LEAST if self.negated else LEAST


@dataclass(frozen=True, slots=True)
class Estimates:
    """Scores (B,) of rows, and how far each can be from the exact one."""

    scores: Floats
    errors: Floats


class Coded:
    """A query part in 8 bits, for the rows of one side. Its vectors are scales[t] · codes[t].

    Where the rows are sentences, what the part's fragments have in common (the summary of an image)
    is taken out first, as from stored images, and coded twice: with a coarse and a fine step. With
    `directions` (D, M) it is for the heads of rows that have these.
    """

    def __init__(
        self,
        term: Term,
        score: Score,
        role: Role,
        *,
        rows_have_base: bool,
        directions: Floats | None = None,
    ) -> None:
        self.term, self.role, self.score = term, role, score
        vectors, rest = term.vectors, None
        if directions is not None:
            assert role is Role.QUERY_IS_SENTENCE
            vectors = np.ascontiguousarray(term.vectors @ directions)
            rest = np.linalg.norm(term.vectors - vectors @ directions.T, axis=1)
        self.common: Floats | None = None
        if role is Role.ROWS_ARE_SENTENCES:
            self.common = score.image_summary(vectors, np.zeros(1, np.int64))[0]
            vectors = vectors - self.common
        self.scales = steps(vectors)
        codes = [coded(vectors, self.scales)]
        if self.common is not None:
            self.common_scale = steps(self.common[None])
            coarse = coded(self.common[None], self.common_scale)
            fine = self.common - coarse[0] * self.common_scale
            codes += [coarse, coded(fine[None], self.common_scale / FINE)]
        self.codes = numkong.dots_pack(np.concatenate(codes))
        # What a row's base gives to all of the fragments together is as good, and found sooner.
        together = score.adds_shifts and role is Role.QUERY_IS_SENTENCE and not term.negated
        asked = term.vectors.sum(axis=0, keepdims=True) if together else term.vectors
        self.base_scales = 127 * steps(asked)  # half precision holds no large numbers
        self.base = halves(asked / self.base_scales[:, None]) if rows_have_base else None
        self.errors_by_row = self._errors_by_row(vectors, rest)  # (E, T)

    def __len__(self) -> int:
        return len(self.scales)

    def _errors_by_row(self, vectors: Floats, rest: Floats | None) -> Floats:
        """What each of a row's errors (Block.errors) does to products with the fragments: (E, T).

        |v·s − v'·s'| ≤ ‖v − v'‖∞ ‖s‖₁ + ‖v'‖₁ ‖s − s'‖∞; of heads also rest(v) · rest(s).
        """
        lengths = np.abs(vectors).sum(axis=1)  # ‖s_t‖₁
        by_scale, by_reach = lengths / 2, self.scales / 2
        if self.common is not None:
            by_scale = by_scale + np.abs(self.common).sum() / 2
            by_reach = by_reach + self.common_scale / np.float32(2 * FINE)
        by_rounding = 127 * steps(self.term.vectors)  # ‖s_t‖∞
        factors = [by_scale, by_reach, by_rounding]
        if rest is not None:
            factors += [rest, np.abs(self.term.vectors).sum(axis=1)]
        return np.stack(factors).astype(np.float32)

    def estimates(self, rows: Block) -> Estimates:
        """Scores of rows by their codes."""
        T, B = len(self), len(rows.scales)
        dots = np.asarray(numkong.dots_packed(rows.codes, self.codes))  # (N, T [+ 2])
        fragment_shifts = np.zeros(len(dots), np.float32)
        if self.common is not None:
            common = dots[:, T] + dots[:, T + 1] / np.float32(FINE)
            fragment_shifts = (self.common_scale * common).astype(np.float32)
            dots = dots[:, :T]
        row_shifts = np.zeros((B, T), np.float32)
        if self.base is not None:
            both = np.asarray(numkong.dots_packed(rows.summaries, self.base))  # high, then low
            width = len(self.base_scales)
            row_shifts[:, :width] = (both[:, :width] + both[:, width:] / LOW) * self.base_scales
        scores = np.empty(B, np.float32)
        self.score.kernel(
            np.ascontiguousarray(dots),
            rows.offsets,
            rows.scales.copy(),  # of what nobody may write to, a kernel is compiled once more
            self.scales,
            row_shifts,
            fragment_shifts,
            self.role is Role.QUERY_IS_SENTENCE,
            self.term.least,
            scores,
        )
        return Estimates(scores, self.errors(rows))

    def errors(self, rows: Block) -> Floats:
        """How far the scores of rows by their codes can be off, (B,)."""
        sizes = np.diff(rows.offsets)
        return self.score.error(
            rows.errors(len(self), sizes),
            self.errors_by_row,
            sizes,
            rows_are_images=self.role is Role.QUERY_IS_SENTENCE,
        )


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows' arrays, as in Rows, cut or copied out.

    Of heads, codes, scales and reach are theirs; `rest` is, too, and `noise` is what the codes of
    the rows themselves may be off by, in any number of a fragment.
    """

    codes: NDArray[np.int8]
    offsets: Numbers
    scales: Floats
    reach: Floats
    bases: Floats
    summaries: NDArray[np.float16]
    rest: Floats | None = None
    noise: Floats | None = None

    def errors(self, fragments: int, sizes: Numbers) -> Floats:
        """What products of rows with so many fragments of a query may be off by: (B, E)."""
        # Sums in single precision, here and in `exact`: of D products, and of what they give.
        width = self.summaries.shape[1]
        terms = ROUNDING * (width + fragments + sizes)
        factors = [self.scales, self.reach, terms * (self.bases + 2 * self.reach)]
        if self.rest is not None and self.noise is not None:
            turned = self.reach + self.rest  # ‖v_i‖₂ at most; directions are rounded as well
            factors += [self.rest, self.noise + 2 * ROUNDING * width * turned]
        return np.stack(factors, axis=1).astype(np.float32)

    @classmethod
    def between(cls, rows: Rows, start: int, end: int, heads: Heads | None = None) -> Block:
        """Neighbouring rows, not copied."""
        offsets = rows.offsets[start : end + 1]
        own, coded = slice(start, end), heads or rows
        return cls(
            coded.codes[offsets[0] : offsets[-1]],
            offsets - offsets[0],
            coded.scales[own],
            coded.reach[own],
            rows.bases[own],
            rows.summaries[own],
            None if heads is None else heads.rest[own],
            None if heads is None else rows.scales[own] / np.float32(2),
        )

    @classmethod
    def of(cls, rows: Rows, numbers: Numbers, heads: Heads | None = None) -> Block:
        """Chosen rows, copied."""
        coded = heads or rows
        return cls(
            coded.codes.take(fragments_of(rows.offsets, numbers), axis=0),
            offsets_of(rows.offsets[numbers + 1] - rows.offsets[numbers]),
            coded.scales[numbers],
            coded.reach[numbers],
            rows.bases[numbers],
            rows.summaries[numbers],
            None if heads is None else heads.rest[numbers],
            None if heads is None else rows.scales[numbers] / np.float32(2),
        )


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


def exact(score: Score, vectors: Sequence[Floats], term: Term, role: Role) -> Floats:
    """Scores (B,) of some bags (F_b, D) and one part of a query, in single precision.

    Each is to the bit what it is among others, as a product of two vectors is.
    """
    offsets = offsets_of([len(bag) for bag in vectors])
    return exact_rows(score, np.concatenate(vectors), offsets, term, role)


def exact_rows(score: Score, vectors: Floats, offsets: Numbers, term: Term, role: Role) -> Floats:
    """As `exact`, of bags with the fragments offsets[b : b + 2] of vectors (N, D)."""
    scores = np.empty(len(offsets) - 1, np.float32)
    packed = numkong.dots_pack(np.ascontiguousarray(term.vectors))
    products = np.asarray(numkong.dots_packed(vectors, packed))  # (N, T)
    score.kernel(
        products.astype(np.float32),
        offsets,
        np.ones(len(scores), np.float32),
        np.ones(len(term.vectors), np.float32),
        np.zeros((len(scores), len(term.vectors)), np.float32),
        np.zeros(len(products), np.float32),
        role is Role.QUERY_IS_SENTENCE,
        term.least,
        scores,
    )
    return scores


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
