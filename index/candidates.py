"""Candidates: the rows whose summaries promise most, found by FAISS where there are many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import faiss
import numkong
import numpy as np
from numpy.typing import NDArray

from index.codes import LOW, halves, steps
from index.rows import Numbers, Rows
from models.scoring import Floats

WIDTH = 16  # FAISS's 8-bit codes are quick where a vector's length is a multiple of this
SCANNED = 2_048  # rows up to which all are scored, and there is nothing to choose from
LISTED = 50_000  # rows from which on they lie in lists by their nearest centroid
TRAINED = 40  # rows of the sample for each centroid
PROBED = 9.0  # times the root of the lists' number are looked at, where nothing is filtered
WIDER = 2  # times as many are looked at where some are then left out for what is negated
LEAST, PER_HIT, GROWTH, POWER = 64, 8, 2.5, 0.45  # see wanted()


def wanted(rows: int, reach: int) -> int:
    """How many candidates hold the best `reach` of so many rows.

    For the same recall the number has to grow with the rows (docs/performance.md).
    """
    return max(LEAST, PER_HIT * reach, int(GROWTH * math.pow(rows, POWER)))


@dataclass(frozen=True, slots=True)
class Structure:
    """FAISS's index over the summaries of one side's rows; an id is a row's number."""

    index: Any
    kind: str

    def best(self, query: Floats, count: int, allowed: NDArray[np.bool_] | None) -> Found:
        """The rows with the highest products of their summaries and a query (D,), best first."""
        options: dict[str, Any] = {}
        passing = 1.0
        if allowed is not None:
            # FAISS reads the bits when it searches, so the array must live that long.
            bits = np.packbits(allowed, bitorder="little")
            options["sel"] = faiss.IDSelectorBitmap(bits)  # type: ignore[call-arg,arg-type]
            passing = max(float(allowed.mean()), 1 / len(allowed))
        faiss.omp_set_num_threads(1)  # of this thread: requests are what runs in parallel
        if self.kind == "flat":
            return self._found(query, count, faiss.SearchParameters(**options))
        lists: int = self.index.nlist
        # What passes a filter lies in lists that are less full: so more of them are looked at, and
        # all where it lies far from the query.
        some = min(lists, math.ceil(PROBED * math.sqrt(lists) / passing))
        for probed in (some, lists):
            found = self._found(query, count, self._lists(probed, options))
            if len(found.rows) == count:
                break
        return found

    @staticmethod
    def _lists(probed: int, options: dict[str, Any]) -> Any:
        return faiss.SearchParametersIVF(nprobe=probed, **options)  # type: ignore[call-arg]

    def _found(self, query: Floats, count: int, parameters: Any) -> Found:
        padded = np.zeros((1, self.index.d), np.float32)
        padded[0, : len(query)] = query
        products, rows = self.index.search(padded, count, params=parameters)
        there = rows[0] >= 0
        return Found(rows[0][there].astype(np.int64), products[0][there])


@dataclass(frozen=True, slots=True)
class Found:
    """Rows by number, and what their summaries promise."""

    rows: Numbers
    products: Floats


def scan(rows: Rows, numbers: Numbers, query: Floats) -> Found:
    """All of some rows, by number, with the products of their summaries and a query (D,)."""
    whole = len(numbers) == len(rows)
    summaries = rows.summaries if whole else rows.summaries[numbers]
    scale = steps(query[None])  # half precision holds no large numbers
    both = np.asarray(numkong.dots_packed(summaries, halves(query[None] / scale)))  # high, low
    products: Floats = (scale * (both[:, 0] + both[:, 1] / LOW)).astype(np.float32)
    return Found(numbers, products)


def best(found: Sequence[Found], count: int) -> list[Found]:
    """The rows with the highest products of several segments, those of each together."""
    products = np.concatenate([one.products for one in found])
    if len(products) <= count:
        return list(found)
    least = np.partition(products, -count)[-count]
    return [
        Found(one.rows[one.products >= least], one.products[one.products >= least]) for one in found
    ]


def kind_for(rows: int) -> str | None:
    """What is built over so many rows: nothing, a flat array, or lists by centroid."""
    if rows <= SCANNED:
        return None
    return "flat" if rows < LISTED else "lists"


def build(rows: Rows) -> Structure | None:
    """Build what serves rows of this number; None where their codes are scanned instead."""
    kind = kind_for(len(rows))
    if kind is None:
        return None
    dimension = -(-rows.summaries.shape[1] // WIDTH) * WIDTH
    code, metric = faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    index: Any
    if kind == "flat":
        index = faiss.IndexScalarQuantizer(dimension, code, metric)
    else:
        lists = round(4 * np.sqrt(len(rows)))
        coarse: Any = faiss.IndexFlatIP(dimension)
        index = faiss.IndexIVFScalarQuantizer(coarse, dimension, lists, code, metric)
        index.own_fields = True
        coarse.this.disown()
        index.cp.niter, index.cp.seed = 6, 1
    sample = len(rows) if kind == "flat" else TRAINED * index.nlist
    step = max(1, len(rows) // min(sample, 100_000))
    index.train(_padded(rows.summaries[::step], dimension))
    for start in range(0, len(rows), 2**14):
        index.add(_padded(rows.summaries[start : start + 2**14], dimension))
    return Structure(index, kind)


def write(structure: Structure, path: Path) -> None:
    """Write a structure to a file; OSError where it cannot be."""
    try:
        faiss.write_index(structure.index, str(path))
    except RuntimeError as failed:  # FAISS's own word for any failure
        raise OSError(f"{path} was not written: {failed}") from failed


def read(path: Path, rows: int) -> Structure:
    """The structure of so many rows that a file holds; ValueError where it does not."""
    try:
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as broken:
        raise ValueError(f"{path.name} cannot be read: {broken}") from broken
    if index.ntotal != rows:
        raise ValueError(f"{path.name} has {index.ntotal} rows, not {rows}")
    return Structure(index, "lists" if hasattr(index, "nlist") else "flat")


def _padded(summaries: NDArray[np.float16], dimension: int) -> Floats:
    padded = np.zeros((len(summaries), dimension), np.float32)
    padded[:, : summaries.shape[1]] = summaries
    return padded
