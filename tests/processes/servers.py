"""A real PostgreSQL server in a temporary folder, for tests.

An ordinary user starts it.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import psycopg

from index.database.engines import connect, url_of
from index.database.tables import schema, settings

PACKAGES = Path("/usr/lib/postgresql")  # where Debian keeps every version's commands
QUICK = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=60")
CATALOG = "catalog"
OTHERS = "datname = current_database() AND pid <> pg_backend_pid()"
DISCONNECT = f"SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE {OTHERS}"  # noqa: S608
RENEW = (
    "UPDATE settings SET value = repeat(md5(random()::text), 2) WHERE name = 'secret'; "
    "DELETE FROM settings WHERE name NOT IN ('secret', 'layout')"
)


def commands() -> Path | None:
    """The newest server's folder of commands, if installed."""
    found = [one.parent for one in PACKAGES.glob("*/bin/postgres") if one.parts[-3].isdigit()]
    return max(found, key=lambda one: int(one.parts[-2]), default=None)


class Server:
    """A server in a folder, reached by a socket there."""

    def __init__(self, folder: Path, commands: Path, settings: Sequence[str] = QUICK) -> None:
        self.folder, self._commands, self._settings = folder, commands, settings
        # The server refuses root, who may become the user of Debian's package.
        root = os.geteuid() == 0
        self._user: dict[str, Any] = (
            {"user": "postgres", "group": "postgres", "extra_groups": []} if root else {}
        )
        if root:
            shutil.chown(folder, "postgres", pwd.getpwnam("postgres").pw_gid)
        self._process: subprocess.Popen[bytes] | None = None
        # Any locale but C, so that tests see which columns must not sort by it.
        locale = ("--locale-provider=icu", "--icu-locale=en-US", "--locale=C.UTF-8")
        self._run(
            "initdb", "-D", "data", "-U", "tessera", "-A", "trust", "-N", "-E", "UTF8", *locale
        )

    def start(self) -> None:
        """Start, and wait until it answers."""
        settings = [part for one in self._settings for part in ("-c", one)]
        place = ["-k", str(self.folder), "-c", "listen_addresses="]
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            [str(self._commands / "postgres"), "-D", "data", *place, *settings],
            cwd=self.folder,
            stderr=subprocess.DEVNULL,
            **self._user,
        )
        deadline = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.address("postgres")).close()
            except psycopg.OperationalError:
                assert time.monotonic() < deadline, "PostgreSQL does not start"
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        """End all sessions, and the server."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(30)
            self._process = None

    def address(self, database: str) -> str:
        """The URL of a database."""
        return f"postgresql://tessera@/{database}?host={self.folder}"

    @contextmanager
    def database(self) -> Iterator[str]:
        """A new, empty database: its URL."""
        name = f"t{uuid4().hex}"
        self._tell(f"CREATE DATABASE {name}")
        yield self.address(name)
        self._tell(f"DROP DATABASE {name} WITH (FORCE)")

    @contextmanager
    def catalog(self) -> Iterator[str]:
        """A database's URL, with an empty catalog for one test.

        It is emptied afterwards, which is quicker than to make another.
        """
        try:
            yield self._catalog
        finally:
            kept = schema.tables.keys() - {settings.name}
            emptied = f"TRUNCATE {', '.join(kept)} RESTART IDENTITY"
            self._tell(f"{DISCONNECT}; {emptied}; {RENEW}", CATALOG)

    @cached_property
    def _catalog(self) -> str:
        self._tell(f"CREATE DATABASE {CATALOG}")
        url = self.address(CATALOG)
        connect(url_of(url, self.folder)).dispose()
        return url

    def _tell(self, statement: str, database: str = "postgres") -> None:
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            connection.execute(statement)

    def _run(self, command: str, *arguments: str) -> None:
        subprocess.run(  # noqa: S603 - our own command
            [str(self._commands / command), *arguments],
            cwd=self.folder,
            check=True,
            stdout=subprocess.DEVNULL,
            **self._user,
        )


@contextmanager
def server(settings: Sequence[str] = QUICK) -> Iterator[Server | None]:
    """A running server; None without an installed one."""
    found = commands()
    if found is None:
        yield None
        return
    with TemporaryDirectory(prefix="tessera-") as folder:
        made = Server(Path(folder), found, settings)
        made.start()
        try:
            yield made
        finally:
            made.stop()
