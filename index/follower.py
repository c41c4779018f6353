"""The follower: one process a data folder builds the segments that all processes search.

It reads the catalog's changes, writes segments, merges them, and publishes them by a manifest.
Killed at any point it leaves the manifest before or the one after, and files that no manifest
lists, which the next follower deletes.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event, Thread
from time import monotonic

from index import manifest, segments
from index.catalog import Catalog
from index.items import Collection, ModelMismatch
from index.manifest import Listed, Manifest
from index.segments import Segment, Span
from index.snapshot import opened_chain, valid_chain
from index.storage import Storage
from index.views import BagRow, View
from models.scoring import score_named

POLL = 0.2  # seconds between looks at a catalog that is quiet
RETRY = 5.0  # seconds after something failed
TIDY = 60.0  # seconds between looks for what can be forgotten
SWEEP = 3600.0  # seconds between looks for what interruptions left behind: all files are listed
LOCK = "follower.lock"
SEGMENTS = "segments"  # the folder of all collections' segments, below the data folder

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sizes:
    """When changes become a segment, and when segments merge.

    A segment is written of `chunk` revisions, or of `least` once nothing new has come for
    `quiet` seconds. Neighbours merge while the newer has over half the rows of the older and that
    has less than `largest`: so there are few segments, and a row is rewritten a few times at most.
    While changes wait, a `pile` of neighbours must have come together before they merge.
    """

    chunk: int = 8_192
    pile: int = 8
    least: int = 256
    quiet: float = 2.0
    largest: int = 2**21


class Follower:
    """Builds the segments of one collection. Only whoever holds the data folder's lock may."""

    def __init__(
        self, catalog: Catalog, collection: Collection, directory: Path, sizes: Sizes | None = None
    ) -> None:
        self._catalog, self._collection = catalog, collection
        self._score = score_named(collection.score)
        self._directory, self._sizes = directory, sizes or Sizes()
        self._listed: dict[Path | None, Listed] = {}
        self._chain: tuple[Segment, ...] | None = None
        self._seen, self._since = -1, 0.0  # the newest revision, and when it came

    def step(self, *, flush: bool = False) -> bool:
        """Do one piece of work and publish it; False where there is nothing to do.

        With `flush` even a few changes become a segment. Raises OSError where files cannot be
        written, and ModelMismatch once the collection is gone.
        """
        bags: list[BagRow] = []
        with self._catalog.reading(self._collection) as view:
            chain = self._checked(view)
            after = chain[-1].span.until if chain else 0
            end = self._end(after, view.revision, flush)
            merging = self._merging(chain)
            piled = merging is not None and merging[1] - merging[0] >= self._sizes.pile
            writing = end > after and not piled
            if writing:
                bags, end = view.bags(after, end)
            span = Span(after, end, view.revision, view.mark(view.revision) or "")
        if writing:
            new = segments.of_bags(bags, span, self._score, self._collection.dimension)
            self._put([*chain], [new], [], span)
        elif merging is not None:
            start, stop = merging
            if self._sound(chain[start:stop]):
                self._put([*chain[:start]], [*chain[start:stop]], [*chain[stop:]], span)
        else:
            self._sweep()
            return False
        return True

    def _checked(self, view: View) -> tuple[Segment, ...]:
        """The published segments that are whole and of this history, as of the view."""
        self._directory.mkdir(parents=True, exist_ok=True)
        published = self._published()
        if self._chain is None:
            self._listed = {self._directory / one.folder: one for one in published or ()}
        mapped = {one.folder: one for one in self._chain or ()}
        opened = opened_chain(tuple(self._listed.values()), self._directory, mapped)
        # From now on only newer retirements need to be read. The manifest keeps what is on disk.
        chain = valid_chain(opened, view)
        if len(chain) < len(opened) and mapped:
            # Another host may have forgotten the marks since the last look; those on disk are kept.
            on_disk = opened_chain(tuple(self._listed.values()), self._directory, {})
            chain = valid_chain(on_disk, view)
        mark = view.mark(view.revision) or ""
        self._chain = tuple(one.seen_at(view.revision, mark) for one in chain)
        if published != tuple(self._listed[one.folder] for one in self._chain):
            self._publish(self._chain, self._listed)
        return self._chain

    def _published(self) -> tuple[Listed, ...] | None:
        """What the manifest lists; None where it is broken."""
        try:
            found = manifest.read(self._directory, self._collection.token)
        except ValueError as broken:
            log.warning("%s; it is written anew", broken)
            return None
        return found.segments if found else ()

    def _sound(self, parts: Sequence[Segment]) -> bool:
        """Whether the files are still as they were written: what is merged gets new checksums."""
        for part in parts:
            assert part.folder is not None
            try:
                segments.check(part.folder, self._listed[part.folder].sums)
            except (OSError, ValueError) as broken:
                log.warning("segment %s is built anew: %s", part.folder.name, str(broken))
                segments.mark_broken(part.folder)
                return False
        return True

    def _end(self, after: int, newest: int, flush: bool) -> int:
        """Up to which revision the next segment goes; `after` where it is not time yet."""
        if newest != self._seen:
            self._seen, self._since = newest, monotonic()
        waiting = newest - after
        quiet = monotonic() - self._since >= self._sizes.quiet
        if waiting >= self._sizes.chunk or flush or (quiet and waiting >= self._sizes.least):
            return min(after + self._sizes.chunk, newest)
        return after

    def _merging(self, chain: Sequence[Segment]) -> tuple[int, int] | None:
        """Which neighbours to write as one next; one alone where most of it is waste.

        As many as are of like size, the newest first, so that what comes in bulk is written twice.
        """
        stop = len(chain)
        while stop:
            start, count = stop - 1, chain[stop - 1].count
            while start and chain[start - 1].count < min(self._sizes.largest, 2 * count + 1):
                start -= 1
                count += chain[start].count
            if stop - start > 1:
                return start, stop
            stop = start
        for at, segment in enumerate(chain):
            if segment.count and segment.wasted:
                return at, at + 1
        return None

    def _put(
        self, before: list[Segment], parts: list[Segment], behind: list[Segment], seen: Span
    ) -> None:
        """Write parts as one segment between its neighbours, and publish that."""
        span = Span(parts[0].span.after, parts[-1].span.until, seen.seen, seen.mark)
        folder, sums = segments.write(parts, self._directory)
        listed = self._listed | {folder: Listed(folder.name, span, sums)}
        new = segments.opened(folder, span, sums)
        try:
            self._publish((*before, new, *behind), listed)
        except BaseException:
            if folder.name not in {one.folder for one in self._published() or ()}:
                assert new.hold is not None
                new.hold.close()
                segments.discard(folder)  # each try writes another, on a disk that may be full
            raise
        for part in parts:
            if part.folder is not None and part.hold is not None:
                part.hold.close()
                segments.discard(part.folder)  # or later, where a reader holds it
        log.info("segment %s: revisions %s to %s", folder.name, span.after + 1, span.until)

    def _publish(self, chain: tuple[Segment, ...], listed: dict[Path | None, Listed]) -> None:
        """Publish a chain of listed segments; where that fails, all is as it was."""
        chained = {one.folder: listed[one.folder] for one in chain}
        marks = [one.span.seen for one in chained.values()]
        self._catalog.keep_marks(self._collection, marks)
        new = Manifest(self._collection.token, tuple(chained.values()))
        manifest.publish(self._directory, new)
        self._chain, self._listed = chain, chained

    def forget(self) -> None:
        """Have the catalog forget what was retired before all segments were written."""
        if self._chain:
            seen = [one.span.seen for one in self._listed.values()]
            self._catalog.purge(self._collection, min(seen), seen)

    def _sweep(self) -> None:
        """Delete what no manifest lists and nobody uses."""
        for folder in segments.unlisted(self._directory, [one for one in self._listed if one]):
            segments.discard(folder)


def elect(folder: Path) -> int | None:
    """Take the follower's lock of a data folder: its handle, or None where another has it.

    The operating system gives it back when the process ends, however it ends.
    """
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


class Following:
    """Follows all collections of a data folder, those that are being re-embedded too."""

    def __init__(self, catalog: Catalog, folder: Path, sizes: Sizes | None = None) -> None:
        self._catalog, self._folder, self._sizes = catalog, folder, sizes
        self._followers: dict[str, Follower] = {}
        self._resting: dict[str, float] = {}  # what failed, by token: when to try it again
        self._tidied = self._swept = float("-inf")
        self.failure: Exception | None = None  # the last one

    def step(self) -> bool:
        """A piece of work for every collection; False where none had any.

        One that fails is logged, and rests for a while.
        """
        there = {one.token: one for one in self._catalog.names.followed()}
        for token in self._followers.keys() - there.keys():
            del self._followers[token]
            self._swept = float("-inf")  # its files are to go soon
        worked = False
        for token, collection in there.items():
            if monotonic() >= self._resting.get(token, 0.0):
                worked |= self._worked(collection)
        if not worked and monotonic() - self._tidied > TIDY:
            self._tidied = monotonic()
            for follower in self._followers.values():
                try:
                    follower.forget()
                except Exception:
                    log.exception("what a collection retired cannot be forgotten yet")
            if self._tidied - self._swept > SWEEP:
                self._swept = self._tidied
                self._catalog.sweep(self._folder / SEGMENTS)
        return worked

    def _worked(self, collection: Collection) -> bool:
        """A piece of work for one collection."""
        token = collection.token
        directory = self._folder / SEGMENTS / token
        follower = self._followers.setdefault(
            token, Follower(self._catalog, collection, directory, self._sizes)
        )
        try:
            return follower.step()
        except ModelMismatch:
            del self._followers[token]
        except Exception as failure:
            # The follower stays, so that what it has checked is not read again each time.
            log.exception("collection %r cannot be followed; it is tried again", collection.name)
            self._resting[token], self.failure = monotonic() + RETRY, failure
        return False

    def run(self, stopped: Event) -> None:
        """Work until told to stop; what fails is logged and tried again."""
        while not stopped.is_set():
            try:
                wait = 0.0 if self.step() else POLL
            except Exception:
                log.exception("the follower could not work; it tries again")
                self._followers.clear()
                wait = RETRY
            stopped.wait(wait)


def catch_up(catalog: Catalog, folder: Path) -> None:
    """Build what there is to build now, unless another process follows the data folder.

    Raises what following a collection failed with, once the others are built.
    """
    lock = elect(folder)
    if lock is None:
        return
    try:
        following = Following(catalog, folder, Sizes(quiet=0.0))
        while following.step():
            pass
        if following.failure is not None:
            raise following.failure
    finally:
        os.close(lock)


def start(storage: Storage) -> subprocess.Popen[bytes]:
    """Start a process that follows a catalog, or waits until it may; it ends with this one."""
    root = str(Path(__file__).parent.parent)
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "index.follower", str(storage.folder)],
        stdin=subprocess.PIPE,  # it reads the end of it when this process ends, however it ends
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
    )
    assert process.stdin is not None
    # Not by arguments, which everyone on the machine may read: it may hold a password.
    process.stdin.write(json.dumps(asdict(storage), default=str).encode() + b"\n")
    process.stdin.flush()
    return process


def free(folder: Path) -> bool:
    """Whether no process follows a data folder at this moment."""
    lock = elect(folder)
    if lock is None:
        return False
    os.close(lock)
    return True


def main() -> None:
    """Follow the storage that the first line of standard input describes, until that ends."""
    logging.basicConfig(level=logging.WARNING)
    os.nice(5)  # searches come first
    told = json.loads(sys.stdin.buffer.readline())
    storage = Storage(**told | {"folder": Path(told["folder"])})
    stopped = Event()
    Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
    while (lock := elect(storage.folder)) is None:
        stopped.wait(1.0)
    try:
        Following(Catalog(storage), storage.folder).run(stopped)
    finally:
        os.close(lock)


if __name__ == "__main__":
    main()
