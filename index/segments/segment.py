"""Segments: immutable files of rows of a range of revisions, with checksums.

A segment is a cache of the catalog, and belongs to its history: it may be deleted at any time,
and a broken one, or one of another history, is never used.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4
from weakref import finalize

import numpy as np
import xxhash
from numpy.typing import NDArray

from index.bags import IMAGE, unpack_together
from index.catalog.views import BagRow
from index.disk import sync
from index.distinct import find_distinct
from index.segments import candidates, heads, pooled, rows
from index.segments.candidates import Structure
from index.segments.heads import Heads
from index.segments.rows import SIDES, STORED, Numbers, Rows, Side
from models.scores.scoring import Score

LOCK = "in-use"
BROKEN = "broken"  # a file in the folder of a broken segment
SMALL = 2**12  # bytes
# Read into memory: if the disk failed later, kernels would read outside of arrays.
COPIED = ("offsets", "revisions")
Sums = dict[str, tuple[int, str]]  # sizes and checksums of files, by name
PIECE = 2**24  # bytes that are read at a time


@dataclass(frozen=True, slots=True)
class RevisionSpan:
    """The span of a segment: items of revisions in (after, until].

    Its rows were live at revision `seen`, whose `mark` tells one history of a catalog from another.
    """

    after: int
    until: int
    seen: int
    mark: str


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows of both sides, in memory or mapped from files."""

    span: RevisionSpan
    sides: Mapping[Side, Rows]
    structures: dict[Side, Structure] = field(default_factory=dict)
    folder: Path | None = None
    hold: Hold | None = None  # keeps the files while the segment is used
    sums: Sums = field(default_factory=dict)  # of its files

    @property
    def size(self) -> int:
        """Bytes of both sides."""
        return sum(rows.size for rows in self.sides.values())

    @property
    def count(self) -> int:
        """The number of rows, live or not."""
        return sum(map(len, self.sides.values()))

    @property
    def live_size(self) -> int:
        """Bytes of its files that are of live rows, if all rows of a side are alike."""
        total = 0
        for side, held in self.sides.items():
            files = sum(size for name, (size, _) in self.sums.items() if name.startswith(side))
            total += files * int(np.count_nonzero(held.live)) // max(len(held), 1)
        return total

    @property
    def wasted(self) -> bool:
        """Whether most rows are no longer live."""
        return 2 * sum(int(rows.live.sum()) for rows in self.sides.values()) < self.count

    def holds(self, revision: int) -> bool:
        """Return whether it has rows of a revision."""
        return any(bool((rows.revisions == revision).any()) for rows in self.sides.values())

    def seen_at(self, revision: int, mark: str) -> Segment:
        """Return the segment with the live rows' newest known revision."""
        return replace(self, span=replace(self.span, seen=revision, mark=mark))

    def without(self, retired: Numbers) -> Segment:
        """Return the segment after some revisions were retired."""
        covered = retired[(retired > self.span.after) & (retired <= self.span.until)]
        sides = {side: rows.without(covered) for side, rows in self.sides.items()}
        if all(sides[side] is rows for side, rows in self.sides.items()):
            return self
        return replace(self, sides=sides)

    def only(self, current: Numbers) -> Segment:
        """Return the segment with only rows of current revisions, given in order."""
        return self.without(np.setdiff1d(self._revisions(), current, assume_unique=True))

    def until(self, revision: int) -> Segment:
        """Return the segment without rows after a revision."""
        if self.span.until <= revision:
            return self
        revisions = self._revisions()
        return self.without(revisions[revisions > revision])

    def since(self, revision: int) -> Segment:
        """Return the rows of a segment in memory after a revision."""
        span = replace(self.span, after=max(revision, self.span.after))
        sides = {side: rows.since(revision) for side, rows in self.sides.items()}
        return replace(self, span=span, sides=sides)

    def _revisions(self) -> Numbers:
        """List the different revisions of its rows, in order."""
        return find_distinct(np.concatenate([rows.revisions for rows in self.sides.values()]))


class Hold:
    """A shared lock on a segment's folder, which prevents its deletion.

    The operating system releases it when the process ends in any way.
    """

    def __init__(self, folder: Path) -> None:
        handle = os.open(folder / LOCK, os.O_RDONLY)
        self._let_go = finalize(self, os.close, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Release the lock."""
        self._let_go()


def discard(folder: Path) -> bool:
    """Delete a segment's folder unless in use; return whether it went."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)  # unfinished: no process could have opened it
        return not folder.exists()
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return False
    finally:
        os.close(handle)
    return not folder.exists()


def of_bags(bags: Sequence[BagRow], span: RevisionSpan, score: Score, dimension: int) -> Segment:
    """Make a segment in memory of bags in the order of revisions."""
    sides: dict[Side, Rows] = {}
    for side in SIDES:
        side_bags = [bag for bag in bags if (bag.position <= IMAGE) == (side == "images")]
        sides[side] = rows.of_vectors(
            unpack_together([bag.vectors for bag in side_bags], dimension),
            [bag.revision for bag in side_bags],
            [bag.position for bag in side_bags],
            side,
            score,
            dimension,
        )
    return Segment(span, sides)


def join(parts: Sequence[Segment], seen: RevisionSpan) -> Segment:
    """Join the live rows of neighbours, as of `seen`, in memory."""
    span = RevisionSpan(parts[0].span.after, parts[-1].span.until, seen.seen, seen.mark)
    sides = {
        side: rows.join([part.sides[side] for part in parts], rows.in_memory) for side in SIDES
    }
    return Segment(span, sides)


def write(parts: Sequence[Segment], directory: Path, score: Score) -> tuple[Path, Sums]:
    """Write the live rows of neighbours to a new folder, durably.

    Returns the folder and its files. Raises OSError, and leaves no files, if that fails.
    """
    folder = directory / uuid4().hex
    folder.mkdir(parents=True)
    try:
        (folder / LOCK).touch()
        for side in SIDES:
            sides = [part.sides[side] for part in parts]
            joined = rows.join(sides, _on_disk(folder, side))
            if side == "images":
                heads.build(
                    joined.codes, joined.offsets, joined.scales, _on_disk(folder, f"{side}-heads")
                )
                pooled.build(sides, score, _on_disk(folder, f"{side}-pooled"))
            structure = candidates.build(joined)
            if structure is not None:
                candidates.write(structure, folder / f"{side}.faiss")
        sums: Sums = {}
        for path in sorted(folder.iterdir()):
            sync(path)
            if path.name != LOCK:
                sums[path.name] = (path.stat().st_size, checksum(path))
        sync(folder)
        sync(directory)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder, sums


def map_folder(folder: Path, span: RevisionSpan, sums: Sums) -> Segment:
    """Map a segment's files; ValueError or OSError if they are damaged."""
    hold = Hold(folder)
    sides: dict[Side, Rows] = {}
    structures: dict[Side, Structure] = {}
    try:
        check(folder, sums)
        for side in SIDES:
            arrays = _map_rows(folder, side)
            pooled_rows = f"{side}-pooled-codes.npy" in sums
            sides[side] = replace(
                rows.freeze(arrays),
                heads=_map_heads(folder, side, sums, arrays),
                pooled=rows.freeze(_map_rows(folder, f"{side}-pooled")) if pooled_rows else None,
            )
            if f"{side}.faiss" in sums:
                structures[side] = candidates.read(folder / f"{side}.faiss", len(sides[side]))
    except BaseException:
        hold.close()
        raise
    return Segment(span, sides, structures, folder, hold, sums)


def _map_rows(folder: Path, prefix: str) -> dict[str, NDArray[Any]]:
    """Map the arrays of rows."""
    return {name: _map(folder / f"{prefix}-{name}.npy", copied=name in COPIED) for name in STORED}


def _map_heads(folder: Path, side: Side, sums: Sums, rows: dict[str, NDArray[Any]]) -> Heads | None:
    """Map the heads of rows, if they exist."""
    if f"{side}-heads-codes.npy" not in sums:
        return None
    arrays = {name: _map(folder / f"{side}-heads-{name}.npy") for name in heads.STORED}
    return heads.freeze(arrays, len(rows["scales"]), *rows["codes"].shape)


def check(folder: Path, sums: Sums) -> None:
    """Compare a segment's files with their checksums; ValueError or OSError if damaged."""
    for name, (size, expected) in sums.items():
        path = folder / name
        if path.stat().st_size != size or checksum(path) != expected:
            raise ValueError(f"{path.name} in segment {folder.name} is not as it was written")


def mark_broken(folder: Path) -> None:
    """Mark a segment, so that the follower builds it again."""
    with suppress(OSError):
        (folder / BROKEN).touch()


def checksum(path: Path) -> str:
    """Compute the 64-bit XXH3 of a file."""
    digest = checksum_slowly(path, PIECE, lambda _: True)
    assert digest is not None
    return digest


def checksum_slowly(path: Path, piece: int, pace: Callable[[int], bool]) -> str | None:
    """Compute a checksum; `pace` gets each piece's bytes, and may stop."""
    digest = xxhash.xxh3_64()
    with path.open("rb", buffering=0) as file:
        while data := file.read(piece):
            digest.update(data)
            if not pace(len(data)):
                return None
    return digest.hexdigest()


def list_unlisted(directory: Path, listed: Iterable[Path]) -> list[Path]:
    """List the segments' folders that are not listed."""
    listed_paths = set(listed)
    return [path for path in directory.glob("*") if path.is_dir() and path not in listed_paths]


def _on_disk(folder: Path, prefix: str) -> rows.Allocate:
    def allocate(name: str, shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
        path, kind = folder / f"{prefix}-{name}.npy", np.dtype(kind)
        described = {"descr": kind.str, "fortran_order": False, "shape": shape}
        with path.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, described)
            start, size = file.tell(), int(np.prod(shape)) * kind.itemsize
            file.flush()
            # Writing a mapped page to a full disk would kill the process, so space is reserved.
            os.posix_fallocate(file.fileno(), 0, start + size)
        array: NDArray[Any] = np.empty(shape, kind)
        return np.memmap(path, kind, "r+", start, shape) if size else array

    return allocate


def _map(path: Path, *, copied: bool = False) -> NDArray[Any]:
    # Small files are read, as empty arrays must be.
    mode: Literal["r"] | None = None if copied or path.stat().st_size <= SMALL else "r"
    array: NDArray[Any] = np.load(path, mmap_mode=mode)
    return array.view(np.ndarray)
