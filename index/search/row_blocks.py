"""Blocks of stored rows, or of their regions, whose scores are computed together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from index.search.regions import regions_of
from index.segments.heads import Heads
from index.segments.rows import Numbers, Rows, fragments_of
from models.scores.kernels import Floats, compile_loop

ROUNDING = np.float32(2**-23)  # of a number in single precision, up and down


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Some rows' arrays, as in Rows, cut or copied out.

    Codes and summaries are not copied: the rows' own are those of some `fragments` (N,), and
    `summarised` rows (B,), or all without these.
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
    summarised: Numbers | None = None
    rest: Floats | None = None
    noise: Floats | None = None
    owners: Numbers | None = None

    def errors(self, fragments: int, sizes: Numbers) -> Floats:
        """The errors (B, E) of products of rows with a query."""
        # Sums in single precision, here and in `exact`: of D products, and of what they give.
        width = self.summaries.shape[1]
        factors = np.empty((len(sizes), 3 if self.rest is None else 5), np.float32)
        bound_products(self.scales, self.reach, self.bases, sizes, width + fragments, factors)
        if self.rest is not None and self.noise is not None:
            turned = self.reach + self.rest  # ‖v_i‖₂ at most; directions are rounded as well
            factors[:, 3] = self.rest
            factors[:, 4] = self.noise + 2 * ROUNDING * width * turned
        return factors

    @classmethod
    def of(cls, rows: Rows, chosen: slice | Numbers, heads: Heads | None = None) -> RowBlock:
        """The rows of a slice, not copied, or of some numbers."""
        coded = heads or rows
        if isinstance(chosen, slice):
            offsets = rows.offsets[chosen.start : chosen.stop + 1]
            codes, fragments = coded.codes[offsets[0] : offsets[-1]], None
            offsets, summaries, summarised = offsets - offsets[0], rows.summaries[chosen], None
        else:
            summaries, summarised = rows.summaries, chosen
            codes = coded.codes
            fragments, offsets = fragments_of(rows.offsets, chosen)
        return cls(
            codes,
            fragments,
            offsets,
            # Of arrays that are read-only, as slices would be, kernels are compiled once more.
            np.array(coded.scales[chosen]),
            np.array(coded.reach[chosen]),
            np.array(rows.bases[chosen]),
            summaries,
            summarised,
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
            rows.summaries,
            numbers,
            None if heads is None else heads.rest[photos],
            None if heads is None else rows.scales[photos] / np.float32(2),
            owners,
        )
        return block, offsets


@compile_loop
def bound_products(
    scales: Floats, reach: Floats, bases: Floats, sizes: Numbers, terms: int, out: Floats
) -> None:
    """Write the first three factors (B, ≥ 3) of RowBlock.errors."""
    for b in range(len(sizes)):
        out[b, 0], out[b, 1] = scales[b], reach[b]
        out[b, 2] = ROUNDING * (terms + sizes[b]) * (bases[b] + 2 * reach[b])
