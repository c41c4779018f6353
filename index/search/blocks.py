"""Blocks of rows: the arrays of some rows, and what their scores from codes may be off by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from index.segments.heads import Heads
from index.segments.rows import Numbers, Rows, fragments_of, offsets_of
from models.scores.kernels import Floats

ROUNDING = np.float32(2**-23)  # of a number in single precision, up and down


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows' arrays, as in Rows, cut or copied out.

    Codes are not copied: the rows' own are those of some `fragments` (N,), or all without these.
    Of heads, codes, scales and reach are theirs; `rest` is, too, and `noise` is what the codes of
    the rows themselves may be off by, in any number of a fragment.
    """

    codes: NDArray[np.int8]
    fragments: Numbers | None
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
        codes = (heads or rows).codes[offsets[0] : offsets[-1]]
        return cls._with(codes, None, offsets - offsets[0], rows, slice(start, end), heads)

    @classmethod
    def of(cls, rows: Rows, numbers: Numbers, heads: Heads | None = None) -> Block:
        """Chosen rows."""
        fragments = fragments_of(rows.offsets, numbers)
        sizes = rows.offsets[numbers + 1] - rows.offsets[numbers]
        codes = (heads or rows).codes
        return cls._with(codes, fragments, offsets_of(sizes), rows, numbers, heads)

    @classmethod
    def _with(
        cls,
        codes: NDArray[np.int8],
        fragments: Numbers | None,
        offsets: Numbers,
        rows: Rows,
        chosen: slice | Numbers,
        heads: Heads | None,
    ) -> Block:
        coded = heads or rows
        return cls(
            codes,
            fragments,
            offsets,
            coded.scales[chosen],
            coded.reach[chosen],
            rows.bases[chosen],
            rows.summaries[chosen],
            None if heads is None else heads.rest[chosen],
            None if heads is None else rows.scales[chosen] / np.float32(2),
        )
