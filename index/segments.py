"""Which bags there are now: immutable segments that follow the catalog's revisions.

Segments are a cache of the catalog: each is written beside its place and renamed into it, and any
of them may be deleted at any time. What is broken, missing or stale is built again.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from index import rows
from index.bags import IMAGE
from index.rows import Rows
from index.views import BagRow, View


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes: what lies on disk, what is read at a time, and from where on nothing is merged.

    Two neighbours merge while the newer is over half the older, so there are few segments and a
    row is rewritten a few times at most. The largest bounds how long a merge can take.
    """

    on_disk: int = 2**25
    chunk: int = 2**27
    largest: int = 2**29


@dataclass(frozen=True, slots=True)
class Segment:
    """The images and sentences that the revisions in (after, until] brought."""

    after: int
    until: int
    images: Rows
    sentences: Rows

    @property
    def folder(self) -> Path | None:
        """Where the rows are mapped from; None while they lie in memory."""
        return None if self.images.folder is None else self.images.folder.parent

    @property
    def size(self) -> int:
        """Bytes of both sides."""
        return self.images.size + self.sentences.size

    @property
    def wasted(self) -> bool:
        """Whether most of the rows no longer count."""
        live = self.images.live.sum() + self.sentences.live.sum()
        return bool(2 * live < len(self.images) + len(self.sentences))

    def without(self, retired: NDArray[np.int64]) -> Segment:
        """The same segment after some revisions stopped being current."""
        here = retired[(retired > self.after) & (retired <= self.until)]
        if not len(here):
            return self
        images, sentences = self.images.without(here), self.sentences.without(here)
        return replace(self, images=images, sentences=sentences)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A collection's rows as of a revision. Safe to read while newer ones are made."""

    revision: int
    segments: tuple[Segment, ...]


class Segments:
    """The segments of one collection under a directory. One thread at a time may call it."""

    def __init__(self, directory: Path, dimension: int, sizes: Sizes) -> None:
        self._directory = directory
        self._dimension = dimension
        self._sizes = sizes

    def load(self, view: View) -> Snapshot:
        """What is on disk and agrees with the catalog; everything else there is deleted."""
        found = sorted(self._readable(), key=lambda one: (one.after, -one.until))
        chain: list[Segment] = []
        for segment in found:
            if segment.after == (chain[-1].until if chain else 0):
                chain.append(segment)
        current = view.revisions()
        until = chain[-1].until if chain else 0
        chain = [_only(segment, current) for segment in chain]
        if until > view.revision or _items(chain) != int((current <= until).sum()):
            chain, until = [], 0
        kept = {segment.folder for segment in chain}
        for segment in found:
            if segment.folder not in kept:
                _discard(segment)
        return self.advance(Snapshot(until, tuple(chain)), view)

    def advance(self, snapshot: Snapshot, view: View) -> Snapshot:
        """Follow the catalog to the revision of the view."""
        retired = view.retired(snapshot.revision)
        segments = [segment.without(retired) for segment in snapshot.segments]
        for chunk in _chunks(view.bags(snapshot.revision), self._sizes.chunk):
            after = segments[-1].until if segments else 0
            segments.append(_build(chunk, self._dimension, after))
            self._tidy(segments)
        self._tidy(segments)
        return Snapshot(view.revision, tuple(segments))

    def _tidy(self, segments: list[Segment]) -> None:
        """Merge the newest while they are of like size; rewrite those that are mostly waste."""
        while len(segments) > 1 and self._alike(*segments[-2:]):
            segments[-2:] = [self._merge(segments[-2:])]
        for place, segment in enumerate(segments):
            if segment.wasted or (segment.folder is None and segment.size >= self._sizes.on_disk):
                segments[place] = self._merge([segment])

    def _alike(self, older: Segment, newer: Segment) -> bool:
        return 2 * newer.size > older.size and older.size < self._sizes.largest

    def _merge(self, parts: Sequence[Segment]) -> Segment:
        """One segment of neighbours, rows that no longer count left out."""
        small = sum(part.size for part in parts) < self._sizes.on_disk
        if small and all(part.folder is None for part in parts):
            return _join(parts, lambda _side: rows.in_memory)
        try:
            merged = self._write(parts)
        except OSError as failed:
            # A full disk slows the next start down, but ends no search.
            logging.getLogger(__name__).warning("a segment stays in memory: %s", failed)
            return _join(parts, lambda _side: rows.in_memory)
        for part in parts:
            _discard(part)
        return merged

    def _write(self, parts: Sequence[Segment]) -> Segment:
        folder = self._directory / uuid4().hex
        partial = folder.with_suffix(".partial")
        for side in ("images", "sentences"):
            (partial / side).mkdir(parents=True)
        merged = _join(parts, lambda side: rows.on_disk(partial / side))
        described = {"after": merged.after, "until": merged.until}
        (partial / "segment.json").write_text(json.dumps(described))
        for path in [*partial.rglob("*"), partial]:
            _sync(path)
        partial.rename(folder)
        return _mapped(folder)

    def _readable(self) -> Iterator[Segment]:
        for folder in sorted(self._directory.glob("*")):
            try:
                yield _mapped(folder)
            except (OSError, ValueError, LookupError, EOFError):
                # Broken, or unfinished: a process that was writing it keeps its rows in memory.
                shutil.rmtree(folder, ignore_errors=True)


def _build(bags: Sequence[BagRow], dimension: int, after: int) -> Segment:
    images = [bag for bag in bags if bag.position == IMAGE]
    sentences = [bag for bag in bags if bag.position != IMAGE]
    return Segment(
        after,
        bags[-1].revision,
        rows.of_bags(images, dimension),
        rows.of_bags(sentences, dimension),
    )


def _join(parts: Sequence[Segment], allocate: Callable[[str], rows.Allocate]) -> Segment:
    return Segment(
        parts[0].after,
        parts[-1].until,
        rows.join([part.images for part in parts], allocate("images")),
        rows.join([part.sentences for part in parts], allocate("sentences")),
    )


def _mapped(folder: Path) -> Segment:
    described = json.loads((folder / "segment.json").read_text())
    return Segment(
        int(described["after"]),
        int(described["until"]),
        rows.mapped(folder / "images"),
        rows.mapped(folder / "sentences"),
    )


def _discard(segment: Segment) -> None:
    """Delete a segment's folder; searches that still read it keep their mapping."""
    if segment.folder is not None:
        shutil.rmtree(segment.folder, ignore_errors=True)


def _sync(path: Path) -> None:
    """Make sure a file or folder survives a power cut before it gets its final name."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _chunks(bags: Iterator[BagRow], size: int) -> Iterator[list[BagRow]]:
    """Bags by the chunk of so many bytes, the bags of a revision together."""
    chunk: list[BagRow] = []
    filled = 0
    for bag in bags:
        if filled >= size and bag.revision != chunk[-1].revision:
            yield chunk
            chunk, filled = [], 0
        chunk.append(bag)
        filled += len(bag.vectors)
    if chunk:
        yield chunk


def _only(segment: Segment, current: NDArray[np.int64]) -> Segment:
    """The segment with the rows of current revisions alone."""
    there = np.union1d(segment.images.revisions, segment.sentences.revisions)
    return segment.without(np.setdiff1d(there, current, assume_unique=True))


def _items(segments: Sequence[Segment]) -> int:
    """How many items the live rows belong to."""
    return sum(
        len(
            np.union1d(
                one.images.revisions[one.images.live],
                one.sentences.revisions[one.sentences.live],
            )
        )
        for one in segments
    )
