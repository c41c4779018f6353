"""Readers: a collection's rows as of a revision.

They are published segments and a tail.
Published segments are mapped; newer rows are read from the catalog and kept in
memory. Readers and writers do not wait for each other.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Lock, Thread

from index import page_faults
from index.catalog.catalog import Catalog
from index.catalog.views import CatalogView
from index.database.outages import Outages
from index.items import Collection, ModelMismatch
from index.segments import manifest
from index.segments import segment as segments
from index.segments.segment import RevisionSpan, Segment
from models.scores.scoring import Score

STEP = 4_096  # revisions that are read from the catalog in one step
LONGEST = 2**30  # bytes of a tail; newer rows wait for the follower
POLL = 0.1  # seconds between looks at the catalog
SELDOM = 1.0  # the longest pause without changes in a shared catalog, which searches ask too
CATCH_UP = 4  # steps that a search of a named revision waits for

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SegmentChain:
    """A collection's segments as of a revision.

    They are safe to read while newer ones are made.
    `newest` is the catalog's revision when the chain was made, and `mark`
    identifies its history (see CatalogView.mark). `histories` counts those that
    were undone, so that data derived from one is not used for another.
    """

    published: tuple[Segment, ...] = ()
    tail: tuple[Segment, ...] = ()
    revision: int = 0
    newest: int = 0
    mark: str | None = None
    histories: int = 0

    @property
    def segments(self) -> tuple[Segment, ...]:
        """All segments in the order of revisions."""
        return self.published + self.tail

    def until(self, revision: int) -> SegmentChain:
        """Return the chain without rows after a revision."""
        return replace(
            self,
            published=tuple(segment.until(revision) for segment in self.published),
            tail=tuple(segment.until(revision) for segment in self.tail),
            revision=min(self.revision, revision),
        )

    @property
    def unpublished(self) -> int:
        """The number of the catalog's changes that no published segment has."""
        return self.newest - (self.published[-1].span.until if self.published else 0)

    @property
    def behind(self) -> int:
        """The number of the catalog's changes that the chain lacks."""
        return self.newest - self.revision


class SegmentReader:
    """The newest segment chain of one collection. Safe for many threads.

    Until `start`, every `current` reads all changes of the catalog. From then on a thread of its
    own does, and `current` only waits for changes of this process. `latest` is the chain in
    memory, without any check.
    """

    def __init__(
        self, catalog: Catalog, collection: Collection, directory: Path, score: Score
    ) -> None:
        self._catalog, self._collection, self._score = catalog, collection, score
        self._directory = directory
        self._lock, self._publishing = Lock(), Lock()
        self.latest = SegmentChain()
        self._version, self._doubted = (-1, -1), False
        self._faults = page_faults.count()
        self._stopped = Event()
        self._thread: Thread | None = None

    def start(self) -> None:
        """Read published segments, and follow the catalog in the background."""
        if self._thread is None:
            self.publish()
            self.advance()
            self._thread = Thread(target=self._follow, name="index-reader", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop following."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def current(self) -> SegmentChain:
        """Return the newest chain; ModelMismatch after a re-embedding by another model."""
        if self._thread is not None and self._thread.is_alive():
            needed = self._catalog.read_acknowledged(self._collection)
            while self.latest.revision < needed and self.advance():
                pass
        else:
            self.publish()
            while self._has_moved() and self.advance():
                pass
        return self.latest

    def _has_moved(self) -> bool:
        """Return whether the catalog is newer, or of another history."""
        snapshot = self.latest
        with self._catalog.reading(self._collection) as view:
            newer = view.revision != snapshot.revision
            return newer or view.mark(view.revision) != snapshot.mark

    def at(self, revision: int) -> tuple[SegmentChain, bool]:
        """Return the chain as of a revision, and whether rows went.

        The chain's revision is lower if a few steps did not reach it.
        """
        for _ in range(CATCH_UP):
            if self.latest.revision >= revision or not self.advance():
                break
        snapshot = self.latest
        if snapshot.newest <= revision:
            return snapshot, False
        with self._catalog.reading(self._collection) as view:
            gone = revision < view.floor or bool((view.list_retired(revision) <= revision).any())
        return snapshot.until(revision), gone

    def advance(self) -> bool:
        """Read some newer changes of the catalog.

        Returns False if there are none, or no room.
        """
        with self._lock, self._catalog.reading(self._collection) as view:
            previous = self._check_history(self.latest, view)
            self.latest = self._extend(previous, view)
            return self.latest.revision > previous.revision

    def publish(self) -> None:
        """Read segments that the follower has published since the last time."""
        with self._publishing:
            version = manifest.version(self._directory)
            self._check_pages()
            if version == self._version and not self._doubted and not self._has_broken():
                return
            self._doubted = False
            try:
                listed = manifest.read(self._directory, self._collection.token)
            except ValueError as broken:
                log.warning("%s; it is built again", broken)
                listed = None
            mapped = {segment.folder: segment for segment in self.latest.published}
            chain = manifest.open_chain(listed.segments if listed else (), self._directory, mapped)
            with self._lock, self._catalog.reading(self._collection) as view:
                published = manifest.choose_valid(chain, view)
                previous = replace(self._check_history(self.latest, view), published=published)
                self.latest = self._extend(previous, view)
            self._version = version

    def _has_broken(self) -> bool:
        """Return whether a segment of the chain is marked as broken."""
        folders = [segment.folder for segment in self.latest.published if segment.folder]
        return any((folder / segments.BROKEN).exists() for folder in folders)

    def _check_pages(self) -> None:
        """Mark damaged segments, after pages could not be read."""
        faults = page_faults.count()
        if faults == self._faults:
            return
        self._faults = faults
        for segment in self.latest.published:
            if segment.folder is not None:
                try:
                    segments.check(segment.folder, segment.sums)
                except (OSError, ValueError) as broken:
                    log.error("segment %s is built again: %s", segment.folder.name, str(broken))
                    segments.mark_broken(segment.folder)

    def report(self, revision: int) -> None:
        """Report a row unlike the catalog's: its segment is built again.

        From the next `publish` on, its rows are read from the catalog.
        """
        for segment in self.latest.published:
            if segment.folder and segment.holds(revision):
                log.error("segment %s does not agree with the catalog", segment.folder.name)
                segments.mark_broken(segment.folder)
                self._doubted = True

    def _follow(self) -> None:
        wait, longest = 0.0, SELDOM if self._catalog.storage.shared else POLL
        outages = Outages(log, f"the index of {self._collection.name!r}")
        while not self._stopped.is_set():
            before, wait = wait, 1.0
            try:
                with outages.survive():
                    self.publish()
                    moved = self._has_moved() and self.advance()
                    wait = 0.0 if moved else min(max(2 * before, POLL), longest)
            except ModelMismatch:
                return  # searches raise it too
            self._stopped.wait(wait)

    def _check_history(self, snapshot: SegmentChain, view: CatalogView) -> SegmentChain:
        """Return the chain, or an empty one for another history."""
        forgotten = snapshot.newest < view.floor  # marks may be deleted too
        if not snapshot.newest or forgotten or view.mark(snapshot.newest) == snapshot.mark:
            return snapshot
        log.warning("the database is another than before; all is read again")
        self._version = (-1, -1)
        return SegmentChain(histories=snapshot.histories + 1)

    def _extend(self, snapshot: SegmentChain, view: CatalogView) -> SegmentChain:
        """Extend a chain by a step; its tail begins behind segments."""
        until = snapshot.published[-1].span.until if snapshot.published else 0
        tail = [segment.since(until) for segment in snapshot.tail if segment.span.until > until]
        if tail and tail[0].span.after != until:
            tail = []  # segments are gone: their revisions are read again
        if snapshot.newest < view.floor:
            current = view.revisions()
            published = tuple(segment.only(current) for segment in snapshot.published)
            tail = [segment.only(current) for segment in tail]
        else:
            retired = view.list_retired(snapshot.newest)
            published = tuple(segment.without(retired) for segment in snapshot.published)
            tail = [segment.without(retired) for segment in tail]
        reached = tail[-1].span.until if tail else until
        end = min(reached + STEP, view.revision)
        if end > reached and sum(segment.size for segment in tail) < LONGEST:
            bags, end = view.bags(reached, end)
            span = RevisionSpan(reached, end, view.revision, "")
            tail.append(segments.of_bags(bags, span, self._score, self._collection.dimension))
            reached = end
        mark = view.mark(view.revision)
        return SegmentChain(
            published, tuple(_merge_tail(tail)), reached, view.revision, mark, snapshot.histories
        )


def _merge_tail(tail: list[Segment]) -> list[Segment]:
    """Merge neighbours of similar size in a tail."""
    while len(tail) > 1 and 2 * tail[-1].count >= tail[-2].count:
        last = tail[-1].span
        tail[-2:] = [segments.join(tail[-2:], last)]
    return tail
