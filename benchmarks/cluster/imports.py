"""Rates of imports into PostgreSQL, by one process or a cluster."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import machine
from index.catalog.catalog import Catalog
from index.database.storage import Storage
from tests.processes.clusters import running
from tests.processes.servers import server
from tests.processes.waiting import eventually
from training.report import measurements

WAIT = 900.0  # seconds
TESSERA = (sys.executable, "-c", "import tessera; tessera.main()")


@contextmanager
def database() -> Iterator[str]:
    """A new database of a PostgreSQL server of its own."""
    with server() as running_server:
        assert running_server is not None, "install PostgreSQL: Debian's package postgresql"
        with running_server.database() as url:
            yield url


def measure_import(photos: Path, work: Path, count: int, more: Sequence[str]) -> float:
    """Photos a second, from the first stored to the last."""
    with database() as url, TemporaryDirectory(dir=work) as data:
        about = {"DATA": data, "DATABASE": url, "CAPTIONER": "none", "GROUNDER": "none", "BATCH": 8}
        command = [*TESSERA, "index", str(photos), *more]
        environment = os.environ | {f"TESSERA_{name}": str(of) for name, of in about.items()}
        process = subprocess.Popen(command, env=environment)  # noqa: S603 - our own command
        with closing(Catalog(Storage(Path(data), database=url))) as catalog:

            def count_items() -> int:
                return sum(catalog.count(collection) for collection in catalog.names.all())

            eventually(lambda: count_items() or process.poll(), WAIT)
            began, first = time.monotonic(), count_items()
            eventually(lambda: count_items() == count or process.poll(), WAIT)
            rate = (count - first) / (time.monotonic() - began)
        assert process.wait(WAIT) == 0
    return rate


def measure_imports(options: argparse.Namespace) -> None:
    """Import the same photos by one process and by a local cluster."""
    results: dict[str, Any] = {
        "machine": machine.describe(2),
        "photos": options.limit,
        "rates": {},
    }
    with TemporaryDirectory(prefix="tessera-") as work:
        photos = Path(work, "photos")
        photos.mkdir()
        for photo in sorted(options.photos.rglob("*.jpg"))[: options.limit]:
            shutil.copy(photo, photos)
        for _ in range(options.rounds):
            with running(1, cpus=2) as nodes:
                for name, more in (("local", ()), ("cluster", ("--cluster", nodes.address))):
                    rate = measure_import(photos, Path(work), options.limit, more)
                    results["rates"].setdefault(name, []).append(rate)
                    print(name, f"{rate:.2f} photos a second", flush=True)
    measurements.add(options.out, {"cluster-import": results})
