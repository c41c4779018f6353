"""Rows: compact arrays of stored bags, to find the best in.

The catalog has the bags themselves; shown parts and final scores come from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from index.codes import encode_runs, single
from index.segments.heads import Heads
from models.machine_code import compile_loop
from models.scores.kernels import Floats
from models.scores.scoring import Score

Side = Literal["images", "sentences"]
SIDES: tuple[Side, Side] = ("images", "sentences")
Numbers = NDArray[np.int64]
Allocate = Callable[[str, tuple[int, ...], Any], NDArray[Any]]
BLOCK = 2**13  # rows that are copied at a time in a join
LARGEST = np.finfo(np.float16).max


@dataclass(frozen=True, slots=True)
class Rows:
    """Bags of one side; row b has fragments offsets[b : b + 2].

    In the order of revisions.
    A row's fragments are v_i = base + scale · code_i + noise. An image's base is its summary and a
    sentence's is 0, so that with an image's summary f (models.scores.scoring)
    v_i · s = f · s + scale · code_i · s. Every number of the noise is at most scale / 2. The
    absolute numbers of scale · code_i add up to at most `reach`, and those of the base to `bases`.

    Shapes: codes (N, D) int8, offsets (B + 1,), scales, reach and bases (B,), summaries (B, D)
    float16, revisions and positions (B,). `live` (B,) is False for rows whose item has been
    replaced or deleted; it is not stored. No array is ever written to. Rows of a published segment
    may have heads, and pooled rows of the same revisions and positions (index.segments.pooled).
    """

    codes: NDArray[np.int8]
    offsets: Numbers
    scales: Floats
    reach: Floats
    bases: Floats
    summaries: NDArray[np.float16]
    revisions: Numbers
    positions: NDArray[np.int32]
    live: NDArray[np.bool_]
    heads: Heads | None = None
    pooled: Rows | None = None

    def __len__(self) -> int:
        return len(self.revisions)

    @property
    def size(self) -> int:
        """Bytes of the long arrays."""
        heads = self.heads.size if self.heads else 0
        pooled = self.pooled.size if self.pooled else 0
        return self.codes.nbytes + self.summaries.nbytes + heads + pooled

    @property
    def sizes(self) -> Numbers:
        """How many fragments each row has, (B,)."""
        return np.diff(self.offsets)

    def without(self, retired: Numbers) -> Rows:
        """Return the rows after some revisions were retired."""
        if not len(retired) or not len(self):
            return self
        places = np.searchsorted(self.revisions, retired)
        ends = np.searchsorted(self.revisions, retired, side="right")
        if not (places < ends).any():
            return self
        live = self.live.copy()
        for start, end in zip(places.tolist(), ends.tolist(), strict=True):
            live[start:end] = False
        return replace(self, live=live)

    def until(self, revision: int) -> Rows:
        """Return the rows up to a revision."""
        return self._cut(slice(0, int(np.searchsorted(self.revisions, revision, side="right"))))

    def since(self, revision: int) -> Rows:
        """Return the rows after a revision."""
        return self._cut(slice(int(np.searchsorted(self.revisions, revision, side="right")), None))

    def _cut(self, rows: slice) -> Rows:
        offsets = self.offsets[rows.start : None if rows.stop is None else rows.stop + 1]
        shifted = offsets - offsets[0]
        shifted.flags.writeable = False  # see freeze
        return Rows(
            codes=self.codes[offsets[0] : offsets[-1]],
            offsets=shifted,
            **{name: getattr(self, name)[rows] for name in (*BY_ROW, "live")},
        )


STORED = tuple(
    field.name for field in fields(Rows) if field.name not in ("live", "heads", "pooled")
)
BY_ROW = ("scales", "reach", "bases", "summaries", "revisions", "positions")
TYPES = {
    "codes": np.int8,
    "offsets": np.int64,
    "scales": np.float32,
    "reach": np.float32,
    "bases": np.float32,
    "summaries": np.float16,
    "revisions": np.int64,
    "positions": np.int32,
}


def of_vectors(
    bags: Sequence[Floats],
    revisions: Sequence[int],
    positions: Sequence[int],
    side: Side,
    score: Score,
    dimension: int,
) -> Rows:
    """Make rows in memory of bags (F_b, D) in revision order."""
    if not bags:
        return empty(dimension)
    vectors = np.concatenate(bags)  # (N, D)
    offsets = offsets_of([len(bag) for bag in bags])
    starts, lengths = offsets[:-1], np.zeros(len(bags), np.float32)
    bases = np.empty((0, dimension), np.float32)
    if side == "images":
        summaries = halve(score.image_summary(vectors, starts))
        lengths = np.abs(summaries).sum(axis=1, dtype=np.float32)
        bases = single(summaries)
    else:
        summaries = halve(score.sentence_summary(vectors, starts))
    coded = encode_runs(vectors, offsets, bases)
    return freeze(
        {
            "codes": coded.codes,
            "offsets": offsets,
            "scales": coded.scales,
            "reach": coded.reach,
            "bases": lengths,
            "summaries": summaries,
            "revisions": np.array(revisions, np.int64),
            "positions": np.array(positions, np.int32),
        }
    )


def halve(summaries: Floats) -> NDArray[np.float16]:
    """Convert summaries to half precision, clipped to its range."""
    clipped: NDArray[np.float16] = np.clip(summaries, -LARGEST, LARGEST).astype(np.float16)
    return clipped


def empty(dimension: int) -> Rows:
    """Make an array of no rows."""
    shapes = {"codes": (0, dimension), "offsets": (1,), "summaries": (0, dimension)}
    return freeze({name: np.zeros(shapes.get(name, (0,)), kind) for name, kind in TYPES.items()})


def join(parts: Sequence[Rows], allocate: Allocate) -> Rows:
    """Join the live rows of parts.

    `allocate` makes arrays from (name, shape, dtype).
    """
    live_rows = [np.flatnonzero(rows.live) for rows in parts]
    offsets = offsets_of(
        np.concatenate([rows.sizes[live] for rows, live in zip(parts, live_rows, strict=True)])
    )
    rows, dimension = len(offsets) - 1, parts[0].codes.shape[1]
    arrays = {
        "codes": allocate("codes", (int(offsets[-1]), dimension), np.int8),
        "offsets": allocate("offsets", (rows + 1,), np.int64),
    }
    for name in BY_ROW:
        shape = (rows, dimension) if name == "summaries" else (rows,)
        arrays[name] = allocate(name, shape, TYPES[name])
    arrays["offsets"][:] = offsets
    at = 0
    for part, live in zip(parts, live_rows, strict=True):
        for start in range(0, len(live), BLOCK):  # for constant memory
            block = live[start : start + BLOCK]
            for name in BY_ROW:
                arrays[name][at : at + len(block)] = getattr(part, name)[block]
            arrays["codes"][offsets[at] : offsets[at + len(block)]] = part.codes[
                fragments_of(part.offsets, block)[0]
            ]
            at += len(block)
    return freeze(arrays)


def fragments_of(offsets: Numbers, rows: Numbers) -> tuple[Numbers, Numbers]:
    """List the numbers of some rows' fragments, with offsets in the list."""
    places = np.empty(len(rows) + 1, np.int64)
    fragments = np.empty(count_fragments(offsets, rows, places), np.int64)
    list_fragments(offsets, rows, places, fragments)
    return fragments, places


@compile_loop
def count_fragments(offsets: Numbers, rows: Numbers, places: Numbers) -> int:
    """Write rows' offsets in a list of their fragments; return its length."""
    places[0] = 0
    for b in range(len(rows)):
        places[b + 1] = places[b] + offsets[rows[b] + 1] - offsets[rows[b]]
    return places[len(rows)]  # type: ignore[no-any-return]


@compile_loop
def list_fragments(offsets: Numbers, rows: Numbers, places: Numbers, out: Numbers) -> None:
    """Write the numbers of rows' fragments into out (N,)."""
    for b in range(len(rows)):
        first = offsets[rows[b]] - places[b]
        for n in range(places[b], places[b + 1]):
            out[n] = first + n


def in_memory(_name: str, shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
    """Allocate an array in memory, for join."""
    return np.empty(shape, kind)


def freeze(arrays: dict[str, NDArray[Any]]) -> Rows:
    """Make rows of arrays, now read-only; ValueError for contradicting ones."""
    for name, array in arrays.items():
        # Like mapped files: a kernel would be compiled twice, for each kind.
        array.flags.writeable = False
        if array.dtype != TYPES[name]:
            raise ValueError(f"{name} holds {array.dtype}, not {np.dtype(TYPES[name])}")
    offsets, rows = arrays["offsets"], len(arrays["revisions"])
    consistent = (
        len(offsets) == rows + 1
        and all(len(arrays[name]) == rows for name in BY_ROW)
        and arrays["codes"].ndim == arrays["summaries"].ndim == 2
        and arrays["codes"].shape[1] == arrays["summaries"].shape[1]
        # Kernels read memory by these numbers, so none may point outside.
        and offsets[0] == 0
        and offsets[-1] == len(arrays["codes"])
        and not (np.diff(offsets) <= 0).any()
        and not (np.diff(arrays["revisions"]) < 0).any()
    )
    if not consistent:
        raise ValueError("the arrays do not belong together")
    return Rows(**arrays, live=np.ones(rows, np.bool_), heads=None, pooled=None)


def offsets_of(lengths: Sequence[int] | Numbers) -> Numbers:
    """Compute starts and end of runs from their lengths: (B + 1,)."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
