"""Rates of imports into PostgreSQL, by one process or a cluster."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from index.catalog.catalog import Catalog
from index.database.storage import Storage
from tests.clusters import eventually
from tests.servers import server

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
