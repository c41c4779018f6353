"""A collection stays equal to a folder through changes and interruptions by chance."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from app.engine.engine import Engine
from app.engine.inference import Models
from index.catalog.catalog import Catalog
from index.items import Entry
from models.checkpoint import Checkpoint
from tests.colours import Colours, OneSentence, Sides
from tests.living_folder import LivingFolder, Truth, scan

AT_ONCE = 4  # changes between two scans, at most
CHANGES, MANY_CHANGES = 40, 500


def test_a_collection_follows_its_folder(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, truth = random.Random(7), Truth()
    folder = LivingFolder(tmp_path / "photos", draw)
    folder.fill(24)
    put = engine.store_each

    def note(name: str, home: Any, entries: Sequence[Entry]) -> Any:
        truth.embedded.update(entry.pictures[0].digest for entry in entries)
        return put(name, home, entries)

    monkeypatch.setattr(engine, "store_each", note)
    list(scan(engine, folder.root))
    truth.check(engine, folder)
    while folder.done.total() < CHANGES:
        for _ in range(draw.randint(1, AT_ONCE)):
            folder.change()
        interrupted = scan(engine, folder.root)
        for _ in range(draw.randrange(30)):
            next(interrupted, None)
        interrupted.close()  # what was said to be stored stays
        list(scan(engine, folder.root))
        truth.check(engine, folder)
    truth.check_empty(engine, folder.root)


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(3))
def test_a_collection_follows_its_folder_through_kills(tmp_path: Path, seed: int) -> None:
    draw, truth = random.Random(seed), Truth()
    folder, log = LivingFolder(tmp_path / "photos", draw), tmp_path / "stored"
    folder.fill(40)
    log.touch()
    slowest, kills = 1.0, 0
    while folder.done.total() < MANY_CHANGES:
        for _ in range(draw.randint(1, 8)):
            folder.change()
        for patience in [draw.uniform(0, slowest) for _ in range(draw.randrange(3))]:
            kills += not _scan_in_child(tmp_path, patience)
        began = time.monotonic()
        assert _scan_in_child(tmp_path, 600)
        slowest = min(slowest, time.monotonic() - began)
        truth.embedded.clear()
        truth.embedded.update(log.read_text().split())
        engine = _open(tmp_path)
        truth.check(engine, folder)
        if not draw.randrange(10):
            truth.check_empty(engine, folder.root)
        engine.close()
    assert kills > 10, folder.done


def _open(data: Path) -> Engine:
    matcher = Checkpoint("matchers", "colours", Colours(), "c0104a5000000000", {})
    captioner = Checkpoint("captioners", "sizes", OneSentence(), "517e500000000000", {})
    grounder = Checkpoint("grounders", "sides", Sides(), "51de500000000000", {})
    return Engine(Models(matcher, captioner, grounder), Catalog.in_folder(data / "data"), data)


def _scan_in_child(folder: Path, patience: float) -> bool:
    """Scan in a child for at most so many seconds.

    Returns whether it ended by itself.
    """
    if (child := os.fork()) == 0:
        status = 1
        try:
            _scan_and_log(folder)
            status = 0
        finally:
            os._exit(status)
    end = time.monotonic() + patience
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            assert status == 0
            return True
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return status == 0


def _scan_and_log(folder: Path) -> None:
    """Scan, and log the digests of stored photos after their commit."""
    engine = _open(folder)
    with (folder / "stored").open("a") as log:
        for change, place in scan(engine, folder / "photos"):
            if change in {"new", "changed"}:
                log.write(f"{sha256(Path(place).read_bytes()).hexdigest()}\n")
                log.flush()
    engine.close()
