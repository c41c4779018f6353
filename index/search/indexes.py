"""Open indexes, one for each collection, followed in the background."""

from __future__ import annotations

import logging
import subprocess
from pathlib import Path
from threading import Event, Lock, Thread

from index import page_faults
from index.catalog.catalog import Catalog
from index.catalog.checksum_filling import lacks_checksums
from index.database.outages import Outages
from index.documents.thesaurus import Synonyms
from index.items import Collection
from index.search.index import Index
from index.segments import follower_process as following
from index.segments import verification
from index.segments.follower import Sizes
from index.segments.verification import Verifier
from models.scores.calibration import Calibration

WATCH = 1.0  # seconds

log = logging.getLogger(__name__)


class Indexes:
    """The indexes of a catalog's collections, opened on demand.

    For many threads.
    """

    def __init__(
        self,
        catalog: Catalog,
        folder: Path,
        calibration: Calibration | None,
        device: str,
        synonyms: Synonyms | None = None,
        follower: str = following.__name__,
        threads: int | None = None,
    ) -> None:
        """Open no index yet.

        `follower` is the module that index.segments.follower_process.start runs in a process of its
        own. `threads` are those of a search; None means one for each processor core.
        """
        self.catalog, self._folder = catalog, folder
        self._calibration, self._device, self._synonyms = calibration, device, synonyms
        self._follower, self._threads = follower, threads
        self._open: dict[str, Index] = {}  # by the tokens of their collections
        self._lock = Lock()
        self._stopped = Event()
        self._watcher: Thread | None = None
        self._verification: Thread | None = None

    def of(self, collection: Collection) -> Index:
        """The index of a collection, opened if need be."""
        with self._lock:
            if collection.token in self._open:
                return self._open[collection.token]
            index = self._open_index(collection)
            if self._watcher is not None:
                index.start()
            self._open[collection.token] = index
            return index

    def _open_index(self, collection: Collection) -> Index:
        return Index(
            self.catalog,
            collection,
            self._folder / following.SEGMENTS,
            calibration=self._calibration,
            threads=self._threads,
            device=self._device,
            synonyms=self._synonyms,
        )

    def build(self) -> None:
        """Build what searches are quick by, unless another process does."""
        following.catch_up(self.catalog, self._folder)

    def check(self) -> dict[str, str]:
        """Details about being ready; NotReady where nothing can be searched."""
        return {}

    def follow(self) -> None:
        """Follow what any process writes, in the background, until `close`."""
        self._watcher = Thread(target=self._watch, name="follower-watch", daemon=True)
        with self._lock:
            for index in self._open.values():
                index.start()
        self._watcher.start()
        self._verification = self._verify()

    def _verify(self) -> Thread:
        """Verify segments in the background, and guard what is mapped."""
        page_faults.install()
        lock = self._folder / verification.LOCK
        seconds = self.catalog.storage.verify
        verifier = Verifier(self._folder / following.SEGMENTS, lock, seconds)
        thread = Thread(
            target=verifier.run, args=(self._stopped,), name="verification", daemon=True
        )
        thread.start()
        return thread

    def close(self) -> None:
        """Let go of all indexes, and of the follower that was started."""
        self._stopped.set()
        if self._watcher is not None:
            self._watcher.join()
        if self._verification is not None:
            self._verification.join()
        for index in self._open.values():
            index.close()

    def _watch(self) -> None:
        """Start a follower as soon as there is work for it."""
        process: subprocess.Popen[bytes] | None = None
        outages = Outages(log, "the look for changes of collections")
        unfilled = True  # until a follower has been there that fills in missing checksums
        while not self._stopped.wait(WATCH):
            needed = False
            with outages.survive():
                unfilled = unfilled and lacks_checksums(self.catalog)
                needed = self._needs_follower() or unfilled
            idle = process is None or process.poll() is not None
            if needed and idle and following.is_free(self._folder):
                process = following.start(self.catalog.storage, self._follower)
                unfilled = False
        if process is not None:
            process.kill()
            process.communicate()  # waits, and closes the pipe

    def _needs_follower(self) -> bool:
        """Return whether there is garbage, or enough for a new segment."""
        if self._close_dropped():
            return True
        with self._lock:
            unpublished = [index.unpublished for index in self._open.values()]
        return any(count >= Sizes().least for count in unpublished)

    def _close_dropped(self) -> bool:
        """Close indexes of dropped collections; return whether garbage is left."""
        named = {collection.token for collection in self.catalog.names.all()}
        with self._lock:
            gone = [self._open.pop(token) for token in self._open.keys() - named]
        for index in gone:
            index.close()
        return self.catalog.names.garbage()
