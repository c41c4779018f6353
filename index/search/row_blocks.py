"""Blocks of stored rows, or of their regions, whose scores are computed together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from index.search.regions import regions_of
from index.segments.heads import Heads
from index.segments.rows import Numbers, Rows, fragments_of, offsets_of
from models.scores.kernels import Floats

ROUNDING = np.float32(2**-23)  # of a number in single precision, up and down


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Some rows' arrays, as in Rows, cut or copied out.

    Codes are not copied: the rows' own are those of some `fragments` (N,), or all without these.
    Of heads, codes, scales and reach are theirs; `rest` is, too, and `noise` is what the codes of
    the rows themselves may be off by, in any number of a fragment. Of regions, each is a row of one
    fragment, and `owners` are the places of their photos among the summaries.
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
    owners: Numbers | None = None

    def errors(self, fragments: int, sizes: Numbers) -> Floats:
        """The errors (B, E) of products of rows with a query."""
        # Sums in single precision, here and in `exact`: of D products, and of what they give.
        width = self.summaries.shape[1]
        terms = ROUNDING * (width + fragments + sizes)
        factors = [self.scales, self.reach, terms * (self.bases + 2 * self.reach)]
        if self.rest is not None and self.noise is not None:
            turned = self.reach + self.rest  # ‖v_i‖₂ at most; directions are rounded as well
            factors += [self.rest, self.noise + 2 * ROUNDING * width * turned]
        return np.stack(factors, axis=1).astype(np.float32)

    @classmethod
    def of(cls, rows: Rows, chosen: slice | Numbers, heads: Heads | None = None) -> RowBlock:
        """The rows of a slice, not copied, or of some numbers."""
        coded = heads or rows
        if isinstance(chosen, slice):
            offsets = rows.offsets[chosen.start : chosen.stop + 1]
            codes, fragments = coded.codes[offsets[0] : offsets[-1]], None
            offsets = offsets - offsets[0]
        else:
            codes, fragments = coded.codes, fragments_of(rows.offsets, chosen)
            offsets = offsets_of(rows.offsets[chosen + 1] - rows.offsets[chosen])
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

    @classmethod
    def of_regions(
        cls, rows: Rows, numbers: Numbers, heads: Heads | None, whole_first: bool
    ) -> tuple[RowBlock, Numbers]:
        """The regions of rows of some numbers, each as a row, and the rows' offsets among them."""
        fragments, offsets = regions_of(rows.offsets, numbers, whole_first)
        owners = np.repeat(np.arange(len(numbers)), np.diff(offsets))
        photos, coded = numbers[owners], heads or rows
        block = cls(
            coded.codes,
            fragments,
            np.arange(len(fragments) + 1),
            coded.scales[photos],
            coded.reach[photos],
            rows.bases[photos],
            rows.summaries[numbers],
            None if heads is None else heads.rest[photos],
            None if heads is None else rows.scales[photos] / np.float32(2),
            owners,
        )
        return block, offsets
