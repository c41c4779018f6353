"""How bags lie one after another in arrays, in memory or in mapped files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from index.bags import unpack_bag
from index.views import BagRow
from models.types import FragmentBag

Allocate = Callable[[str, tuple[int, ...], Any], NDArray[Any]]
STORED = ("vectors", "offsets", "revisions", "positions", "details", "ends")
BLOCK = 2**16  # values copied at a time when rows are joined


@dataclass(frozen=True, slots=True)
class Rows:
    """Bags one after another, by revision: row b has vectors[offsets[b] : offsets[b + 1]].

    Shapes: vectors (N, D) float32, offsets (B + 1,), revisions and positions (B,). Details are
    bytes, divided by `ends`: the item's id, a zero byte, then what index.bags packs. `live` (B,)
    is False for rows whose item has been replaced or deleted. No array is ever written to.
    """

    vectors: NDArray[np.float32]
    offsets: NDArray[np.int64]
    revisions: NDArray[np.int64]
    positions: NDArray[np.int64]
    details: NDArray[np.uint8]
    ends: NDArray[np.int64]
    live: NDArray[np.bool_]
    folder: Path | None = None  # where the arrays are mapped from; None in memory

    def __len__(self) -> int:
        return len(self.revisions)

    @property
    def size(self) -> int:
        """Bytes, the short arrays left out."""
        return self.vectors.nbytes + self.details.nbytes

    def item(self, row: int) -> str:
        """The id of the item that a row belongs to."""
        return self._details(row)[0].decode()

    def fragments(self, row: int) -> NDArray[np.float32]:
        """A row's vectors, (F, D)."""
        return self.vectors[self.offsets[row] : self.offsets[row + 1]]

    def bag(self, row: int) -> FragmentBag:
        """A row's bag, copied out."""
        return unpack_bag(self.fragments(row), self._details(row)[1], int(self.positions[row]))

    def chosen(self, allowed: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """The numbers of the live rows, of all revisions or of the allowed ones."""
        if allowed is None:
            return np.flatnonzero(self.live)
        return np.flatnonzero(self.live & np.isin(self.revisions, allowed))

    def without(self, retired: NDArray[np.int64]) -> Rows:
        """The same rows after some revisions stopped being current."""
        return replace(self, live=self.live & ~np.isin(self.revisions, retired))

    def _details(self, row: int) -> list[bytes]:
        return self.details[self.ends[row] : self.ends[row + 1]].tobytes().split(b"\0", 1)


def of_bags(bags: Sequence[BagRow], dimension: int) -> Rows:
    """Rows in memory of bags that come in the order of their revisions."""
    details = [bag.item.encode() + b"\0" + bag.details for bag in bags]
    return _closed(
        {
            "vectors": np.frombuffer(b"".join(bag.vectors for bag in bags), "<f4").reshape(
                -1, dimension
            ),
            "offsets": _offsets([len(bag.vectors) // (4 * dimension) for bag in bags]),
            "revisions": np.array([bag.revision for bag in bags], np.int64),
            "positions": np.array([bag.position for bag in bags], np.int64),
            "details": np.frombuffer(b"".join(details), np.uint8),
            "ends": _offsets([len(one) for one in details]),
        }
    )


def join(parts: Sequence[Rows], allocate: Allocate) -> Rows:
    """The live rows of all parts, in arrays that `allocate` makes from (name, shape, dtype)."""
    fragments = np.concatenate([np.diff(rows.offsets)[rows.live] for rows in parts])
    details = np.concatenate([np.diff(rows.ends)[rows.live] for rows in parts])
    short = {
        "offsets": _offsets(fragments),
        "revisions": np.concatenate([rows.revisions[rows.live] for rows in parts]),
        "positions": np.concatenate([rows.positions[rows.live] for rows in parts]),
        "ends": _offsets(details),
    }
    arrays = {name: allocate(name, values.shape, np.int64) for name, values in short.items()}
    for name, values in short.items():
        arrays[name][:] = values
    shape = (int(fragments.sum()), parts[0].vectors.shape[1])
    arrays["vectors"] = allocate("vectors", shape, np.float32)
    _gather(arrays["vectors"], [(rows.vectors, rows.offsets, rows.live) for rows in parts])
    arrays["details"] = allocate("details", (int(details.sum()),), np.uint8)
    _gather(arrays["details"], [(rows.details, rows.ends, rows.live) for rows in parts])
    return _closed(arrays)


def in_memory(_name: str, shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
    """Allocate an array in memory, for join."""
    return np.empty(shape, kind)


def on_disk(folder: Path) -> Allocate:
    """Allocate arrays as files of a folder, for join."""

    def allocate(name: str, shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
        return np.lib.format.open_memmap(folder / f"{name}.npy", "w+", kind, shape)

    return allocate


def mapped(folder: Path) -> Rows:
    """Rows as join wrote them; ValueError or OSError where the files are not whole."""
    arrays = {
        name: np.load(folder / f"{name}.npy", mmap_mode="r").view(np.ndarray) for name in STORED
    }
    rows = _closed(arrays, folder)
    lengths = {len(rows), len(rows.positions), len(rows.offsets) - 1, len(rows.ends) - 1}
    if len(lengths) > 1 or rows.vectors.dtype != np.float32 or rows.vectors.ndim != 2:
        raise ValueError(f"the arrays in {folder} do not belong together")
    _check(rows.offsets, len(rows.vectors), folder)
    _check(rows.ends, len(rows.details), folder)
    return rows


def _check(offsets: NDArray[np.int64], values: int, folder: Path) -> None:
    """The kernels read memory by these numbers, so none may point outside."""
    if offsets[0] != 0 or offsets[-1] != values or bool((np.diff(offsets) <= 0).any()):
        raise ValueError(f"the offsets in {folder} are broken")


def _closed(arrays: dict[str, NDArray[Any]], folder: Path | None = None) -> Rows:
    for array in arrays.values():
        # As mapped files are: a compiled kernel tells the two apart, and would be compiled twice.
        array.flags.writeable = False
    return Rows(**arrays, live=np.ones(len(arrays["revisions"]), np.bool_), folder=folder)


def _offsets(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _gather(
    out: NDArray[Any],
    parts: Iterable[tuple[NDArray[Any], NDArray[np.int64], NDArray[np.bool_]]],
) -> None:
    """Copy the values of live rows one after another, a block at a time: memory stays flat."""
    filled = 0
    for values, offsets, live in parts:
        kept = np.repeat(live, np.diff(offsets))
        for start in range(0, len(values), BLOCK):
            block = values[start : start + BLOCK][kept[start : start + BLOCK]]
            out[filled : filled + len(block)] = block
            filled += len(block)
    assert filled == len(out)
