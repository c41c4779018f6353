"""Blocks of stored rows, or of their regions, whose scores are computed together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from index.search.regions import regions_of
from index.segments.heads import Extremes, Heads
from index.segments.rows import Numbers, Rows, fragments_of
from models.machine_code import compile_loop
from models.scores.kernels import Floats

ROUNDING = np.float32(2**-23)  # of a number in single precision, up and down


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Some rows' arrays, as in Rows, cut or copied out.

    Codes and summaries are not copied: the rows' own are those of some `fragments` (N,), and
    `summarised` rows (B,), or all without these.
    Of heads, codes, scales and reach are theirs; `rest` is, too, and `noise` is what the codes of
    the rows themselves may be off by, in any number of a fragment. Of extremes, each row has one
    vector for its fragments, of which `sizes` says how many. Of regions, each is a row of one
    fragment, and `owners` are the places of their photos among the summaries.
    """

    codes: NDArray[np.int8]
    fragments: Numbers | None
    offsets: Numbers
    sizes: Numbers
    scales: Floats
    reach: Floats
    bases: Floats
    summaries: NDArray[np.float16]
    summarised: Numbers | None = None
    rest: Floats | None = None
    noise: Floats | None = None
    owners: Numbers | None = None

    def errors(self, fragments: int) -> Floats:
        """The errors (B, E) of products of rows with a query."""
        sizes = self.sizes
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
    def of(
        cls, rows: Rows, chosen: slice | Numbers, heads: Heads | Extremes | None = None
    ) -> RowBlock:
        """The rows of a slice, not copied, or of some numbers."""
        coded = heads or rows
        if isinstance(chosen, slice):
            sizes = np.diff(rows.offsets[chosen.start : chosen.stop + 1])
            summaries, summarised = rows.summaries[chosen], None
        else:
            sizes = rows.offsets[chosen + 1] - rows.offsets[chosen]
            summaries, summarised = rows.summaries, chosen
        if isinstance(heads, Extremes):
            codes, fragments = heads.codes, summarised
            if isinstance(chosen, slice):
                codes = codes[chosen]
            offsets = np.arange(len(sizes) + 1)
        else:
            codes, fragments, offsets = cut_fragments(coded.codes, rows.offsets, chosen)
        return cls(
            codes,
            fragments,
            offsets,
            sizes,
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
            np.ones(len(fragments), np.int64),
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


def cut_fragments(
    codes: NDArray[np.int8], offsets: Numbers, chosen: slice | Numbers
) -> tuple[NDArray[np.int8], Numbers | None, Numbers]:
    """The codes of rows' fragments, which of them are meant, and the rows' offsets among them."""
    if isinstance(chosen, slice):
        ends = offsets[chosen.start : chosen.stop + 1]
        return codes[ends[0] : ends[-1]], None, ends - ends[0]
    return codes, *fragments_of(offsets, chosen)


@compile_loop
def bound_products(
    scales: Floats, reach: Floats, bases: Floats, sizes: Numbers, terms: int, out: Floats
) -> None:
    """Write the first three factors (B, ≥ 3) of RowBlock.errors."""
    for b in range(len(sizes)):
        out[b, 0], out[b, 1] = scales[b], reach[b]
        out[b, 2] = ROUNDING * (terms + sizes[b]) * (bases[b] + 2 * reach[b])
