"""Candidates: the rows with the best summaries, found by FAISS."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from index.segments.rows import Numbers, Rows
from models.scores.half_dots import HalfDots
from models.scores.kernels import Floats

PAIR, BITS = 2, 4  # numbers of a summary that one code stands for, and the bits of a code
SCANNED = 2_048  # rows up to which all are scored without candidates
TRAINED = 2**12  # rows that the codes are learned from
SPLIT = 2**17  # rows from which on they lie in cells of like ones
CELL, TRAINED_OF_CELL = 256, 40  # rows of a cell, and those that its centre is learned from
GRAPH = 2_048  # cells from which on a graph finds the nearest one
FOUND_BY_GRAPH = 32  # centres of it that are looked at, at least
LOOKED_AT, USUAL, TOGETHER = 160 * CELL, 2**18, 4  # see count_looked_at()
SPARE = 4  # times as many rows are looked at as are found
REFINED, COARSE = 3, 0.7  # see count_by_codes()
REFINED_IN_CELLS, FINER, TWO_THIRDS = 2, 0.4, 2 / 3
FINE = 7 / 8  # share of rows in cells from which on codes count as fine
WIDER = 2  # factor of candidates for queries with a negation
LEAST, PER_HIT, GROWTH, POWER = 64, 8, 4.1, 0.4  # see count_candidates()
FEW, LONG = 600, 12  # see count_candidates()
DEVIATIONS = 3  # see count_of_shard()


def count_candidates(rows: int, reach: int, words: int) -> int:
    """Choose how many candidates to take for the best `reach` rows.

    For the same recall the number grows with the rows, and is larger for few words, for
    which regions can add most to the whole photo.
    """
    more = max(0.0, FEW / max(words, 1) - FEW / LONG)
    return max(LEAST, PER_HIT * reach, int(GROWTH * math.pow(rows, POWER) + more))


def count_by_codes(rows: int, wanted: int, *, fine: bool) -> int:
    """Choose how many rows to find by codes for `wanted` candidates.

    Codes are coarse, so of more rows more have products like the best. Those of rows in cells are
    finer.
    """
    if fine:
        return max(REFINED_IN_CELLS * wanted, round(FINER * math.pow(rows, TWO_THIRDS)))
    return max(REFINED * wanted, int(math.pow(rows, COARSE)))


def count_looked_at(rows: int, share: float) -> int:
    """Choose how many rows to look at in a segment's cells.

    Of more rows more are near to a query. A segment that has a small share of all rows has few of
    the best.
    """
    larger, alone = max(1.0, rows / USUAL), min(1.0, TOGETHER * share)
    return round(LOOKED_AT * math.pow(larger, TWO_THIRDS) * math.pow(alone, 1 / 6))


def are_fine(structures: Sequence[Structure | None], sizes: Sequence[int]) -> bool:
    """Return whether most rows of segments, of some sizes, lie in cells."""
    pairs = zip(structures, sizes, strict=True)
    in_cells = sum(size for structure, size in pairs if structure and structure.cells > 1)
    return in_cells >= FINE * sum(sizes)


def count_of_shard(count: int, share: float, together: float = 1.0) -> int:
    """Estimate how many of the best rows a shard has.

    It has a share of the items.
    A hash of an item's id gives the item its shard, with all of its rows. If these are equally
    good, in groups of `together`, the number of items is binomial, and this is the mean plus three
    standard deviations of their rows.
    """
    deviation = math.sqrt(together * count * share * (1 - share))
    return min(count, math.ceil(count * share + DEVIATIONS * deviation))


def rows_per_item(sides: Sequence[Rows]) -> float:
    """Compute the average row's number of rows of its item.

    Σ m_i² / Σ m_i, for items of m_i rows.
    Uses the positions of all rows, live or not: 0, 1, … or -1, -2, … in each item.
    """
    rows = sum(map(len, sides))
    if not rows:
        return 1.0
    positions = sum(int(side.positions.sum(dtype=np.int64)) for side in sides)
    before = positions if positions >= 0 else -positions - rows  # Σ m_i (m_i - 1) / 2
    return 1 + 2 * before / rows


@dataclass(frozen=True)
class Structure:
    """FAISS's codes of one side's summaries; an id is a row number."""

    index: Any

    @property
    def cells(self) -> int:
        """The number of cells."""
        return int(self.index.nlist)

    @cached_property
    def cells_of_rows(self) -> NDArray[np.int32]:
        """The cell (B,) of each row."""
        cells, lists = np.zeros(self.index.ntotal, np.int32), self.index.invlists
        for cell in range(self.cells):
            if size := lists.list_size(cell):
                rows = library().rev_swig_ptr(lists.get_ids(cell), size)
                # Numbers of a mapped file, as in nearest().
                cells[rows[(rows >= 0) & (rows < len(cells))]] = cell
        return cells

    @cached_property
    def sizes(self) -> Numbers:
        """The number of rows (C,) of each cell."""
        return self._count_rows(self.cells_of_rows)

    def _count_rows(self, cells: NDArray[np.int32]) -> Numbers:
        counts: Numbers = np.bincount(cells, minlength=self.cells)
        return counts

    def choose_cells(
        self, query: Floats, looked_at: int, allowed: NDArray[np.bool_] | None
    ) -> tuple[Numbers, Floats]:
        """Choose the cells (C,) to search, and their centres' products with (1, D).

        They are the best ones that hold so many rows of the mask `allowed` (B,), however few of
        these lie near the query.
        """
        if self.cells == 1:
            products, cells = self.index.quantizer.search(query, 1)
            return cells[0], products[0]
        sizes = self.sizes if allowed is None else self._count_rows(self.cells_of_rows[allowed])
        # Few are sorted sooner than all, and mostly hold enough.
        few = math.ceil(2 * looked_at / CELL) if allowed is None else self.cells
        few = min(few, self.cells)
        while True:
            products, cells = self.index.quantizer.search(query, few)
            held = sizes[cells[0]].cumsum()
            if few == self.cells or held[-1] >= looked_at:
                break
            few = self.cells
        enough = int(np.searchsorted(held, looked_at)) + 1
        return cells[0, :enough], products[0, :enough]

    def nearest(
        self,
        query: Floats,
        count: int,
        allowed: NDArray[np.bool_] | None,
        looked_at: int = LOOKED_AT,
        parts: int = 1,
        map_parts: Callable[..., Iterable[Candidates]] = map,
    ) -> Candidates:
        """Find the rows with the highest codes' products with (D,).

        Only rows of the mask `allowed` (B,), if given. In cells, of about `looked_at` rows, in so
        many parts that `map_parts` may give to several threads.
        """
        faiss, count = library(), min(count, self.index.ntotal)
        faiss.omp_set_num_threads(1)
        padded, pointer = _pad(query[None], self.index.d), faiss.swig_ptr
        cells, centres = self.choose_cells(padded, max(looked_at, SPARE * count), allowed)
        # FAISS reads the bits when it searches, so the array must live that long.
        bits = None if allowed is None else np.packbits(allowed, bitorder="little")
        chosen = None if bits is None else faiss.IDSelectorBitmap(bits)

        def search(first: int) -> Candidates:
            faiss.omp_set_num_threads(1)  # for this thread: requests run in parallel
            part, products_of_part = cells[first::parts].copy(), centres[first::parts].copy()
            parameters = faiss.SearchParametersIVF(nprobe=len(part))
            if chosen is not None:
                parameters.sel = chosen
            products, rows = np.empty(count, np.float32), np.empty(count, np.int64)
            # Not by FAISS's wrapper, which checks and copies what is right already.
            self.index.search_preassigned_c(
                1,
                pointer(padded),
                count,
                pointer(part),
                pointer(products_of_part),
                pointer(products),
                pointer(rows),
                False,
                parameters,
            )
            nearest = Candidates(rows, products)
            # FAISS pads with -1; and its file is mapped, on a disk that may fail.
            if rows.min() < 0 or rows.max() >= self.index.ntotal:
                return nearest.only((rows >= 0) & (rows < self.index.ntotal))
            return nearest

        parts = min(parts, len(cells))
        joined = Candidates.together([*map_parts(search, range(parts))])
        if len(joined.rows) <= count:
            return joined
        return joined.only(np.argpartition(-joined.products, count - 1)[:count])


@dataclass(frozen=True, slots=True)
class Candidates:
    """Rows of a segment by number (N,), and summaries' products (N,)."""

    rows: Numbers
    products: Floats

    def only(self, chosen: NDArray[np.bool_] | Numbers) -> Candidates:
        """Select the rows of a mask (N,), or at some places."""
        return Candidates(self.rows[chosen], self.products[chosen])

    @classmethod
    def together(cls, parts: Sequence[Candidates]) -> Candidates:
        """Join rows of one segment."""
        if len(parts) == 1:
            return parts[0]
        rows = np.concatenate([part.rows for part in parts])
        return cls(rows, np.concatenate([part.products for part in parts]))


def multiply_summaries(rows: Rows, numbers: Numbers, query: HalfDots) -> Candidates:
    """Compute products of some rows' summaries with a query's one vector.

    In row order.
    """
    numbers = np.sort(numbers)  # neighbours are read in one go
    every = len(numbers) == len(rows)
    return Candidates(numbers, query(rows.summaries, None if every else numbers)[:, 0])


def best(promising: Sequence[Candidates], count: int) -> list[Candidates]:
    """Select the rows with the highest products over several segments.

    Infinite products are of rows that are selected in addition.
    """
    products = np.concatenate([listed.products for listed in promising])
    count += int(np.count_nonzero(products == np.inf))
    if len(products) <= count:
        return list(promising)
    least = np.partition(products, -count)[-count]
    return [listed.only(listed.products >= least) for listed in promising]


def library() -> ModuleType:
    """Import FAISS, only for many rows.

    With CUDA's libraries it takes 166 MB.
    """
    import faiss

    return faiss


def build(rows: Rows) -> Structure | None:
    """Build FAISS's codes of rows; None for a few.

    The summaries of a few are scanned.
    4-bit codes of pairs of numbers (product quantization: Jégou, Douze & Schmid 2011) in the order
    in which vector instructions look products up (André, Kermarrec & Le Scouarnec 2017), of what
    the nearest centre leaves. FAISS filters such codes only in inverted lists, so rows too few for
    cells have one.
    """
    if len(rows) <= SCANNED:
        return None
    faiss = library()
    pairs = 2 * math.ceil(rows.summaries.shape[1] / (2 * PAIR))  # FAISS wants an even number
    dimension = PAIR * pairs
    cells = len(rows) // CELL if len(rows) >= SPLIT else 1
    sample = max(TRAINED, TRAINED_OF_CELL * cells)
    # A row's cell is that of the nearest centre; a query's are those of the highest products.
    nearest: Any = faiss.IndexFlatL2(dimension)
    if cells >= GRAPH:  # Malkov & Yashunin 2018: of 4,096 in a third of the time
        nearest = faiss.IndexHNSWFlat(dimension, 16)
        nearest.hnsw.efSearch = FOUND_BY_GRAPH
    index: Any = faiss.IndexIVFPQFastScan(
        nearest, dimension, cells, pairs, BITS, faiss.METRIC_INNER_PRODUCT
    )
    index.by_residual, index.cp.spherical = cells > 1, False
    index.cp.max_points_per_centroid = math.ceil(sample / cells)
    for learning, iterations in ((index.cp, 6), (index.pq.cp, 10)):
        learning.niter, learning.seed, learning.min_points_per_centroid = iterations, 1, 1
    faiss.omp_set_num_threads(1)  # more threads are slower for clusters this small
    index.train(_pad(rows.summaries[:: math.ceil(len(rows) / sample)], dimension))
    for start in range(0, len(rows), 2**14):
        index.add(_pad(rows.summaries[start : start + 2**14], dimension))
    highest: Any = faiss.IndexFlatIP(dimension)
    highest.add(nearest.reconstruct_n(0, cells))
    index.quantizer, index.own_fields = highest, True
    highest.this.disown()
    return Structure(index)


def write(structure: Structure, path: Path) -> None:
    """Write a structure to a file; OSError if that fails."""
    try:
        library().write_index(structure.index, str(path))
    except RuntimeError as failed:  # FAISS raises it for any failure
        raise OSError(f"{path} was not written: {failed}") from failed


def read(path: Path, rows: int) -> Structure:
    """Read a structure of `rows` rows; ValueError for any other file."""
    faiss = library()
    try:
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as broken:
        raise ValueError(f"{path.name} cannot be read: {broken}") from broken
    if not isinstance(index, faiss.IndexIVFPQFastScan):
        raise ValueError(f"{path.name} is of another version: it holds {type(index).__name__}")
    if index.ntotal != rows:
        raise ValueError(f"{path.name} has {index.ntotal} rows, not {rows}")
    return Structure(index)


def _pad(summaries: NDArray[np.float16] | Floats, dimension: int) -> Floats:
    padded = np.zeros((len(summaries), dimension), np.float32)
    padded[:, : summaries.shape[1]] = summaries
    return padded
