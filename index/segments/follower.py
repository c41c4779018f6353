"""The follower of one collection: builds the segments that all processes search.

It reads the catalog's changes, writes segments, merges them, and publishes them by a manifest.
If it is killed, the old or the new manifest stays, with files that no manifest
lists, which the next follower deletes.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from index.catalog.catalog import Catalog
from index.catalog.views import BagRow, CatalogView
from index.items import Collection
from index.segments import manifest
from index.segments import segment as segments
from index.segments.manifest import Listed, Manifest, choose_valid, open_chain
from index.segments.segment import RevisionSpan, Segment
from models.scores.scoring import score_named

ALIKE, ALIKE_AT_REST = 2, 8  # times as many rows as its neighbour has, up to which both merge
GROWN = 0.2  # the growth of a collection after which its statistics are renewed

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes at which changes become a segment, and at which segments merge.

    A segment is written from `chunk` revisions, or from `least` once nothing has changed for
    `quiet` seconds. Neighbours merge while the newer has over half the rows of the older and both
    together at most `largest`: so there are few segments, a row is rewritten a few times at
    most, and the threads of a search share segments of similar size. Once nothing has changed for
    `rest` seconds, over an eighth is enough, and they have `largest_at_rest` together: each segment
    costs a search steps of its own, and of a larger one's cells a smaller share is looked into.
    While changes wait, only a `pile` of neighbours merges.
    """

    chunk: int = 8_192
    pile: int = 8
    least: int = 256
    quiet: float = 2.0
    rest: float = 60.0
    largest: int = 2**18
    largest_at_rest: int = 2**20


class Follower:
    """Builds the segments of one collection, under the folder's lock."""

    def __init__(
        self, catalog: Catalog, collection: Collection, directory: Path, sizes: Sizes | None = None
    ) -> None:
        self._catalog, self._collection = catalog, collection
        self._score = score_named(collection.score)
        self._directory, self._sizes = directory, sizes or Sizes()
        self._listed: dict[Path | None, Listed] = {}
        self._chain: tuple[Segment, ...] | None = None
        self._newest, self._since = -1, 0.0  # the newest revision, and when it came
        self.has_long_merge = self._lacks_room = False
        self._counted = 0  # the revision at which the database's statistics were renewed

    def step(self, *, flush: bool = False, at_rest: bool = True) -> bool:
        """Do one piece of work and publish it; False without any.

        With `flush` even a few changes become a segment. Without `at_rest`, a collection at rest
        merges nothing: `has_long_merge` says then whether it would. Raises OSError if files cannot
        be written, and ModelMismatch once the collection is gone.
        """
        bags: list[BagRow] = []
        with self._catalog.reading(self._collection) as view:
            chain = self._check_chain(view)
            after = chain[-1].span.until if chain else 0
            end = self._choose_end(after, view.revision, flush)
            resting = end == after and monotonic() - self._since >= self._sizes.rest
            merging = self._choose_merge(chain, resting)
            self.has_long_merge = resting and merging is not None
            if self.has_long_merge and not at_rest:
                merging = None
            piled = merging is not None and merging[1] - merging[0] >= self._sizes.pile
            writing = end > after and not piled
            if writing:
                bags, end = view.bags(after, end)
            span = RevisionSpan(after, end, view.revision, view.mark(view.revision) or "")
        if writing:
            new = segments.of_bags(bags, span, self._score, self._collection.dimension)
            self._put([*chain], [new], [], span)
            if end - self._counted > self._counted * GROWN:
                self._catalog.renew_statistics()
                self._counted = end
        elif merging is not None:
            start, stop = merging
            if self._is_sound(chain[start:stop]):
                self._put([*chain[:start]], [*chain[start:stop]], [*chain[stop:]], span)
        else:
            return self._sweep() and self._lacks_room
        return True

    def _check_chain(self, view: CatalogView) -> tuple[Segment, ...]:
        """Return the published sound segments of this history, as of the view."""
        self._directory.mkdir(parents=True, exist_ok=True)
        published = self._read_published()
        if self._chain is None:
            self._listed = {
                self._directory / segment.folder: segment for segment in published or ()
            }
        mapped = {segment.folder: segment for segment in self._chain or ()}
        opened = open_chain(tuple(self._listed.values()), self._directory, mapped)
        # From now on only newer retirements are read. The manifest keeps the spans on disk.
        chain = choose_valid(opened, view)
        if len(chain) < len(opened) and mapped:
            # Another host may have deleted newer marks; those of segments on disk are kept.
            on_disk = open_chain(tuple(self._listed.values()), self._directory, {})
            chain = choose_valid(on_disk, view)
        mark = view.mark(view.revision) or ""
        self._chain = tuple(segment.seen_at(view.revision, mark) for segment in chain)
        if published != tuple(self._listed[segment.folder] for segment in self._chain):
            self._publish(self._chain, self._listed)
        if published is None:  # what a former version left may have the room that ours need
            self._sweep()
        return self._chain

    def _read_published(self) -> tuple[Listed, ...] | None:
        """Read the manifest's segments; None if it is broken."""
        try:
            published = manifest.read(self._directory, self._collection.token)
        except ValueError as broken:
            log.warning("%s; it is written again", broken)
            return None
        return published.segments if published else ()

    def _is_sound(self, parts: Sequence[Segment]) -> bool:
        """Return whether files are unchanged, before a merge gives them new checksums."""
        for part in parts:
            assert part.folder is not None
            try:
                segments.check(part.folder, self._listed[part.folder].sums)
            except (OSError, ValueError) as broken:
                log.warning("segment %s is built again: %s", part.folder.name, str(broken))
                segments.mark_broken(part.folder)
                return False
        return True

    def _choose_end(self, after: int, newest: int, flush: bool) -> int:
        """Choose the next segment's last revision; `after` if too early."""
        if newest != self._newest:
            self._newest, self._since = newest, monotonic()
        waiting = newest - after
        quiet = monotonic() - self._since >= self._sizes.quiet
        if waiting >= self._sizes.chunk or flush or (quiet and waiting >= self._sizes.least):
            return min(after + self._sizes.chunk, newest)
        return after

    def _choose_merge(self, chain: Sequence[Segment], resting: bool) -> tuple[int, int] | None:
        """Choose the neighbours to merge next, for which there is room; None without any."""
        merges = [*self._list_merges(chain, resting)]
        fits = (merge for merge in merges if self._has_room(chain[slice(*merge)]))
        chosen = next(fits, None)
        if merges and not chosen and not self._lacks_room:
            log.warning("segments do not merge: %s has too little room", self._directory)
        self._lacks_room = not chosen and (bool(merges) or self._lacks_room)
        return chosen

    def _has_room(self, parts: Sequence[Segment]) -> bool:
        """Return whether the disk has room for a merge, and as much beyond it.

        Items that are stored meanwhile need some, and come first. A single segment gives back more
        than it takes.
        """
        needed = sum(part.live_size for part in parts)
        spare = needed if len(parts) > 1 else 0
        return shutil.disk_usage(self._directory).free >= needed + spare

    def _list_merges(self, chain: Sequence[Segment], resting: bool) -> Iterator[tuple[int, int]]:
        """List neighbours to merge, and single segments of which most is waste.

        Takes as many of similar size as possible, the newest first, so that a bulk is written
        twice; then fewer of them, which need less room.
        """
        stop = len(chain)
        while stop:
            start, count = stop - 1, chain[stop - 1].count
            while start and self._merges(chain[start - 1].count, count, resting):
                start -= 1
                count += chain[start].count
            yield from ((first, stop) for first in range(start, stop - 1))
            stop = start
        for at, segment in enumerate(chain):
            if segment.count and segment.wasted:
                yield at, at + 1

    def _merges(self, older: int, newer: int, resting: bool) -> bool:
        """Return whether neighbours of so many rows merge."""
        alike, largest = ALIKE, self._sizes.largest
        if resting:
            alike, largest = ALIKE_AT_REST, self._sizes.largest_at_rest
        return older <= alike * newer and older + newer <= largest

    def _put(
        self, before: list[Segment], parts: list[Segment], behind: list[Segment], view: RevisionSpan
    ) -> None:
        """Write parts as one segment between its neighbours, and publish it."""
        span = RevisionSpan(parts[0].span.after, parts[-1].span.until, view.seen, view.mark)
        folder, sums = segments.write(parts, self._directory, self._score)
        listed = self._listed | {folder: Listed(folder.name, span, sums)}
        new = segments.map_folder(folder, span, sums)
        try:
            self._publish((*before, new, *behind), listed)
        except BaseException:
            if folder.name not in {segment.folder for segment in self._read_published() or ()}:
                assert new.hold is not None
                new.hold.close()
                segments.discard(folder)  # each try writes another folder, perhaps on a full disk
            raise
        for part in parts:
            if part.folder is not None and part.hold is not None:
                part.hold.close()
                segments.discard(part.folder)  # or later, if a reader holds it
        log.info("segment %s: revisions %s to %s", folder.name, span.after + 1, span.until)

    def _publish(self, chain: tuple[Segment, ...], listed: dict[Path | None, Listed]) -> None:
        """Publish a chain of listed segments; a failure changes nothing."""
        chained = {segment.folder: listed[segment.folder] for segment in chain}
        marks = [segment.span.seen for segment in chained.values()]
        self._catalog.keep_marks(self._collection, marks)
        new = Manifest(self._collection.token, tuple(chained.values()))
        manifest.publish(self._directory, new)
        self._chain, self._listed = chain, chained

    def forget(self) -> None:
        """Let the catalog forget retirements that all segments include."""
        if self._chain:
            marks = [segment.span.seen for segment in self._listed.values()]
            self._catalog.purge(self._collection, min(marks), marks)

    def _sweep(self) -> bool:
        """Delete unused folders that no manifest lists; return whether any went."""
        listed = [folder for folder in self._listed if folder]
        unlisted = segments.list_unlisted(self._directory, listed)
        return sum(map(segments.discard, unlisted)) > 0
