"""The follower process: one for all collections of a data folder.

It holds the lock of the data folder, which the operating system releases when the process ends in
any way.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from threading import Event, Thread
from time import monotonic

from index.catalog.catalog import Catalog
from index.catalog.checksum_filling import Filler
from index.catalog.ownership import LOCK, LOOK
from index.database.outages import Outages
from index.database.storage import Buckets, Storage
from index.items import Collection, ModelMismatch
from index.segments.follower import Follower, Sizes

POLL = 0.2  # seconds between looks at an idle catalog
RETRY = 5.0  # seconds after something failed
TIDY = 60.0  # seconds between looks for retirements to forget
SWEEP = 3600.0  # seconds between sweeps, which list all files
SEGMENTS = "segments"  # the folder of all collections' segments, below the data folder

log = logging.getLogger(__name__)


def elect(folder: Path) -> int | None:
    """Take the follower's lock of a data folder, or return None.

    Returns its handle; None where another process has it.
    The operating system releases it when the process ends in any way.
    """
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


class Followers:
    """The followers of all collections, re-embedded ones in the making too."""

    def __init__(self, catalog: Catalog, folder: Path, sizes: Sizes | None = None) -> None:
        self._catalog, self._folder, self._sizes = catalog, folder, sizes
        self._followers: dict[str, Follower] = {}
        self._fillers: dict[str, Filler] = {}
        self._resting: dict[str, float] = {}  # when to retry failed collections, by token
        self._tidied = self._swept = float("-inf")
        self.failure: Exception | None = None  # the last one

    def step(self) -> bool:
        """Do some work for every collection; False if none had any.

        A failure is logged, and the collection is retried later.
        """
        followed = {
            collection.token: collection for collection in self._catalog.names.list_followed()
        }
        self._leave(self._followers.keys() - followed.keys())
        worked = False
        for collection in followed.values():
            worked |= self._work_on(collection, at_rest=False)
        # Merges of a collection at rest take long, so they wait until no other has changes.
        for token, follower in [*self._followers.items()]:
            if not worked and follower.has_long_merge:
                worked = self._work_on(followed[token], at_rest=True)
        if not worked:
            worked = self._fill(followed.values())
        if not worked and monotonic() - self._tidied > TIDY:
            self._tidy()
        return worked

    def _leave(self, tokens: Iterable[str]) -> None:
        """Stop following some collections that are gone."""
        for token in tokens:
            del self._followers[token]
            self._fillers.pop(token, None)
            self._swept = float("-inf")  # sweep its files soon

    def _tidy(self) -> None:
        """Let the catalog forget retirements, and sweep every SWEEP seconds."""
        self._tidied = monotonic()
        for follower in self._followers.values():
            try:
                follower.forget()
            except Exception:
                log.exception("what a collection retired cannot be forgotten yet")
        if self._tidied - self._swept > SWEEP:
            self._sweep()

    def _fill(self, followed: Iterable[Collection]) -> bool:
        """Fill in some checksums of older rows; False if none are missing."""
        for collection in followed:
            token = collection.token
            if monotonic() < self._resting.get(token, 0.0):
                continue
            filler = self._fillers.setdefault(token, Filler(self._catalog, collection))
            try:
                if filler.step():
                    return True
            except OSError as failed:  # such as a database that is busy
                log.warning("checksums cannot be filled in yet: %s", failed)
                self._fillers.pop(token)
                self._resting[token] = monotonic() + RETRY
        return False

    def _sweep(self) -> None:
        """Sweep garbage; after a failure, retry in TIDY seconds."""
        try:
            self._catalog.sweep(self._folder / SEGMENTS)
        except OSError as failed:  # such as a picture store that is away
            log.warning("garbage cannot be deleted yet: %s", failed)
        else:
            self._swept = self._tidied

    def _work_on(self, collection: Collection, *, at_rest: bool) -> bool:
        """Do a piece of work for one collection, as Follower.step.

        Not yet again, if the last one failed a moment ago.
        """
        token = collection.token
        if monotonic() < self._resting.get(token, 0.0):
            return False
        directory = self._folder / SEGMENTS / token
        follower = self._followers.setdefault(
            token, Follower(self._catalog, collection, directory, self._sizes)
        )
        try:
            return follower.step(at_rest=at_rest)
        except ModelMismatch:
            del self._followers[token]
        except Exception as failure:
            # The follower stays, so that its checked files are not read again each time.
            log.exception("collection %r cannot be followed; it is tried again", collection.name)
            self._resting[token], self.failure = monotonic() + RETRY, failure
        return False

    def run(self, stopped: Event) -> None:
        """Work until stopped; failures are logged and retried."""
        outages = Outages(log, "the follower")
        while not stopped.is_set():
            wait = RETRY
            with outages.survive():
                wait = 0.0 if self.step() else POLL
            if wait == RETRY:
                self._followers.clear()
            stopped.wait(wait)


def catch_up(catalog: Catalog, folder: Path) -> None:
    """Build all segments now, unless another process follows the data folder.

    Raises the last failure, once the other collections are built.
    """
    lock = elect(folder)
    if lock is None:
        return
    try:
        following = Followers(catalog, folder, Sizes(quiet=0.0, rest=0.0))
        while following.step():
            pass
        if following.failure is not None:
            raise following.failure
    finally:
        os.close(lock)


def start(storage: Storage, module: str = __name__) -> subprocess.Popen[bytes]:
    """Start a follower process; it ends with this process.

    `module` is the module that it runs, which calls `main`.
    """
    root = str(Path(__file__).parents[__name__.count(".")])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", module, str(storage.folder)],
        stdin=subprocess.PIPE,  # it reads the end of it when this process ends in any way
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
    )
    assert process.stdin is not None
    # Not by arguments, which everyone on the machine can read: it may contain a password.
    process.stdin.write(json.dumps(asdict(storage), default=str).encode() + b"\n")
    process.stdin.flush()
    return process


def is_free(folder: Path) -> bool:
    """Return whether no process follows a data folder now."""
    lock = elect(folder)
    if lock is None:
        return False
    os.close(lock)
    return True


def main() -> None:
    """Follow the storage in standard input's first line, until its end."""
    os.nice(5)  # searches come first
    fields = json.loads(sys.stdin.buffer.readline())
    places = {"folder": Path(fields["folder"]), "buckets": Buckets(**fields["buckets"])}
    storage = Storage(**fields | places)
    stopped = Event()
    Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
    while (lock := elect(storage.folder)) is None:
        stopped.wait(1.0)
    try:
        Followers(Catalog(storage, claim=LOOK), storage.folder).run(stopped)
    finally:
        os.close(lock)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    main()
