"""Rounds: kills at work, and a check of all acknowledged."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from app.engine.inference import Models
from index.backup.snapshot_folder import Snapshots
from index.backup.snapshots import verify
from tests.kills import truth
from tests.kills.aging import UNDONE, age
from tests.kills.ledger import Ledger
from tests.kills.service import KilledService, Site, kill
from tests.kills.writers import WRITERS, snapshot, until_killed

WORK = 2.0  # seconds that writers work at most after their first acknowledgement
FIRST = 20.0  # seconds that the first acknowledgement may take


@dataclass(slots=True)
class Rounds:
    """Rounds on one site; each begins with the state of the last."""

    site: Site
    models: list[Models]  # of the site's matcher, and of another to change to
    ledger: Ledger = field(default_factory=Ledger)
    service: KilledService | None = None  # the one that the last round has compared

    def writing(self) -> dict[str, object]:
        """Kill a service while items are written and snapshots are made."""
        self._kill_writing()
        whole = self._verify_snapshots()
        return {"snapshots": whole} | self._verify()

    def reembedding(self) -> dict[str, object]:
        """Kill a re-embedding and a service under writes; then finish."""
        self._start_service()
        self._change_model()
        process = self.site.command("index", "--reembed")
        self._kill_writing()
        killed = process.poll() is None
        kill(process)
        self.site.run("index", "--reembed")
        return {"killed": killed} | self._verify()

    def restoring(self) -> dict[str, object]:
        """Kill a restore: the state is old or the snapshot's; then finish."""
        service = self._start_service()
        name = service.client.post("/snapshots").raise_for_status().json()["name"]
        archive = Snapshots(self.site.settings.snapshot_folder).path(name)
        file = archive.rename(self.site.folder / "before.tar")  # where no writer deletes it
        saved_ledger = self.ledger.copy()
        self._kill_writing()
        killed = self.site.run_killed("restore", str(file), "--force")
        with truth.catalog_of(self.site) as catalog:
            states = truth.states(truth.entries(catalog))
        restored = states == {item: saved_ledger.state(item) for item in saved_ledger.allowed}
        if not restored:
            self.ledger.settle(states)
        self.site.run("restore", str(file), "--force")
        saved_ledger.acknowledged = self.ledger.acknowledged
        self.ledger = saved_ledger
        return {"killed": killed, "restored": restored} | self._verify()

    def migrating(self) -> dict[str, object]:
        """Kill a migration of a catalog with older tables; then finish it."""
        self._kill(self._start_service())
        with truth.catalog_of(self.site) as catalog, catalog.writer.begin() as connection:
            age(connection, random.choice([*UNDONE]))
        killed = self.site.run_killed("migrate")
        self.site.run("migrate")
        return {"killed": killed} | self._verify()

    def _start_service(self) -> KilledService:
        """The service of the last round, or the first one."""
        self.service = self.service or KilledService(self.site)
        self.service.wait()
        return self.service

    def _kill_writing(self) -> None:
        """Let writers work, and kill the service at a random moment."""
        service = self._start_service()
        writers = [*WRITERS, snapshot]
        with ThreadPoolExecutor(len(writers)) as threads:
            working = [
                threads.submit(until_killed, writer, service.address, self.ledger)
                for writer in writers
            ]
            self._wait()
            self._kill(service)
            for writer in working:
                writer.result()

    def _kill(self, service: KilledService) -> None:
        service.kill()
        self.service = None

    def _wait(self) -> None:
        """Wait for an acknowledgement, if any, and a random time after it."""
        before, deadline = self.ledger.acknowledged, time.monotonic() + FIRST
        while self.ledger.acknowledged == before and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(random.uniform(0.0, WORK))

    def _verify_snapshots(self) -> int:
        """Read every named snapshot to the last byte; returns their number."""
        folder = Snapshots(self.site.settings.snapshot_folder)
        snapshots = folder.all()
        for stored in snapshots:
            verify(folder.path(stored.name), lambda *_: None)
        for stored in snapshots[2:]:
            folder.delete(stored.name)
        return len(snapshots)

    def _verify(self) -> dict[str, object]:
        """Compare a new service with the ledger, and check all."""
        service = self.service = KilledService(self.site)
        service.wait()
        states = truth.list_states(service.client)
        self.ledger.settle(states)
        with truth.catalog_of(self.site) as catalog:
            stored = truth.entries(catalog)
        assert truth.states(stored) == states, "the service shows what the catalog does not hold"
        searches = truth.compare_searches(service.client, self.models[0], stored)
        repaired = truth.check(self.site)
        return {"items": len(states), "searches": searches, "repaired": repaired}

    def _change_model(self) -> None:
        self.models.reverse()
        checkpoints = sorted(self.site.matcher.parent.glob("*.safetensors"))
        (self.site.matcher,) = [path for path in checkpoints if path != self.site.matcher]

    @property
    def kinds(self) -> dict[str, Callable[[], dict[str, object]]]:
        """The kinds of rounds by name; most of them are of writing."""
        return {
            "writing": self.writing,
            "restoring": self.restoring,
            "migrating": self.migrating,
            "re-embedding": self.reembedding,
        }


SHARES = {"writing": 4, "restoring": 2, "migrating": 2, "re-embedding": 2}
