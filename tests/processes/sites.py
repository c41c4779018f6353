"""A site for tests: database, folder, cluster and commands."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2 as httpx

from app.settings import Settings
from tests.processes.waiting import eventually

STARTING = 600.0  # seconds, of a machine that does other work too
COMMAND = "import tessera; tessera.main()"  # as the installed command does
COLOURS = ("red", "green", "blue", "white", "black", "yellow", "purple", "orange")


class Site:
    """A database, a data folder, and a cluster."""

    def __init__(self, folder: Path, url: str, matcher: Path, address: str) -> None:
        self.folder, self.address = folder, address
        self._processes: list[subprocess.Popen[bytes]] = []
        self.settings = Settings(
            data=folder / "data",
            database=url,
            matcher=matcher,
            captioner=None,
            region_captioner=None,
            grounder=None,
        )
        about = {"DATA": folder / "data", "DATABASE": url, "MATCHER": matcher, "BATCH": 4}
        about |= {"CAPTIONER": "none", "GROUNDER": "none", "CLUSTER": address}
        about |= {"SHARDS": 2, "SHARD_CPUS": 0.25, "SHARD_SECONDS": 20, "THREADS": 1}
        self._environment = os.environ | {f"TESSERA_{key}": str(of) for key, of in about.items()}

    @property
    def log(self) -> str:
        """The commands' standard error."""
        return (self.folder / "log").read_text()

    def start(self, *arguments: str, **settings: Any) -> subprocess.Popen[bytes]:
        """Start a command of Tessera's, with some settings of its own: `matcher=PATH`."""
        more = {f"TESSERA_{key.upper()}": str(of) for key, of in settings.items()}
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, "-c", COMMAND, *arguments],
                env=self._environment | more,
                cwd=Path(__file__).parents[2],
                stderr=log,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    def serve(self, **settings: Any) -> tuple[subprocess.Popen[bytes], httpx.Client]:
        """A web process and a client of it, once it is ready."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        process = self.start("serve", "--no-sample", "--port", str(port), **settings)
        client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)

        def ready() -> bool:
            assert process.poll() is None, self.log
            try:
                return client.get("/readyz").status_code == 200
            except httpx.TransportError:
                return False

        eventually(ready, STARTING, every=0.5)
        return process, client

    def end(self) -> None:
        """End all processes of the site."""
        for process in self._processes:
            process.kill()
            process.wait()
