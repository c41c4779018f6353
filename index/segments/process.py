"""Following: one process a data folder follows all of its collections.

Whoever holds the lock of the data folder does, and the operating system gives it back when the
process ends, however it ends.
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
from index.database.storage import Buckets, Storage
from index.items import Collection, ModelMismatch
from index.segments.builder import Follower, Sizes

POLL = 0.2  # seconds between looks at a catalog that is quiet
RETRY = 5.0  # seconds after something failed
TIDY = 60.0  # seconds between looks for what can be forgotten
SWEEP = 3600.0  # seconds between looks for what interruptions left behind: all files are listed
SEGMENTS = "segments"  # the folder of all collections' segments, below the data folder

log = logging.getLogger(__name__)


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


class Followers:
    """Follows all collections of a data folder, those that are being re-embedded too."""

    def __init__(self, catalog: Catalog, folder: Path, sizes: Sizes | None = None) -> None:
        self._catalog, self._folder, self._sizes = catalog, folder, sizes
        self._followers: dict[str, Follower] = {}
        self._fillers: dict[str, Filler] = {}
        self._resting: dict[str, float] = {}  # what failed, by token: when to try it again
        self._tidied = self._swept = float("-inf")
        self.failure: Exception | None = None  # the last one

    def step(self) -> bool:
        """A piece of work for every collection; False where none had any.

        One that fails is logged, and rests for a while.
        """
        followed = {
            collection.token: collection for collection in self._catalog.names.list_followed()
        }
        self._leave(self._followers.keys() - followed.keys())
        worked = False
        for token, collection in followed.items():
            if monotonic() >= self._resting.get(token, 0.0):
                worked |= self._work_on(collection)
        if not worked:
            worked = self._fill(followed.values())
        if not worked and monotonic() - self._tidied > TIDY:
            self._tidy()
        return worked

    def _leave(self, tokens: Iterable[str]) -> None:
        """Follow some collections no more: they are gone."""
        for token in tokens:
            del self._followers[token]
            self._fillers.pop(token, None)
            self._swept = float("-inf")  # its files are to go soon

    def _tidy(self) -> None:
        """Have the catalog forget what all segments have, and now and then delete garbage."""
        self._tidied = monotonic()
        for follower in self._followers.values():
            try:
                follower.forget()
            except Exception:
                log.exception("what a collection retired cannot be forgotten yet")
        if self._tidied - self._swept > SWEEP:
            self._sweep()

    def _fill(self, followed: Iterable[Collection]) -> bool:
        """Fill in some checksums of rows of an older version; False where none are missing."""
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
        """Delete what interruptions left behind; where that fails, again in TIDY seconds."""
        try:
            self._catalog.sweep(self._folder / SEGMENTS)
        except OSError as failed:  # such as a picture store that is away
            log.warning("garbage cannot be deleted yet: %s", failed)
        else:
            self._swept = self._tidied

    def _work_on(self, collection: Collection) -> bool:
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
        following = Followers(catalog, folder, Sizes(quiet=0.0))
        while following.step():
            pass
        if following.failure is not None:
            raise following.failure
    finally:
        os.close(lock)


def start(storage: Storage, module: str = __name__) -> subprocess.Popen[bytes]:
    """Start a process that follows a catalog, or waits until it may; it ends with this one.

    `module` is what it runs: something that calls `main`, here with logs of its own.
    """
    root = str(Path(__file__).parent.parent.parent)
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", module, str(storage.folder)],
        stdin=subprocess.PIPE,  # it reads the end of it when this process ends, however it ends
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
    )
    assert process.stdin is not None
    # Not by arguments, which everyone on the machine may read: it may hold a password.
    process.stdin.write(json.dumps(asdict(storage), default=str).encode() + b"\n")
    process.stdin.flush()
    return process


def is_free(folder: Path) -> bool:
    """Whether no process follows a data folder at this moment."""
    lock = elect(folder)
    if lock is None:
        return False
    os.close(lock)
    return True


def main() -> None:
    """Follow the storage that the first line of standard input describes, until that ends."""
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
