"""New catalogs for tests: copies of an empty one.

To make its tables takes longer than to copy them.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from index.catalog.catalog import Catalog
from index.catalog.ownership import LOOK
from index.database.storage import Storage
from tests.processes.servers import Server

FILE = "catalog.sqlite"


class Catalogs:
    """Opens catalogs without items, each with its own secret."""

    def __init__(self, folder: Path) -> None:
        # Without a name, so that each copy is a catalog of its own.
        with closing(Catalog(Storage(folder), claim=LOOK)) as catalog:
            self._secret = catalog.secret
        self._empty = (folder / FILE).read_bytes()
        assert self._secret in self._empty

    @contextmanager
    def in_folder(self, folder: Path) -> Iterator[Catalog]:
        """A catalog in SQLite."""
        folder.mkdir(parents=True, exist_ok=True)
        secret = secrets.token_hex(len(self._secret) // 2).encode()
        (folder / FILE).write_bytes(self._empty.replace(self._secret, secret))
        with closing(Catalog.in_folder(folder)) as catalog:
            yield catalog

    @contextmanager
    def on_server(self, server: Server, folder: Path) -> Iterator[Catalog]:
        """A catalog in a database of a PostgreSQL server."""
        with (
            server.catalog() as url,
            closing(Catalog(Storage(folder, database=url))) as catalog,
        ):
            yield catalog
