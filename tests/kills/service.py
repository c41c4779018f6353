"""Killed processes: `tessera serve` and other commands on one data folder."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from app.settings import Settings

COMMAND = "import tessera; tessera.main()"  # as the installed command does
ROOT = Path(__file__).parents[2]
STARTING = 600.0  # seconds, of a machine that does other work too


@dataclass(slots=True)
class Site:
    """A data folder, its database and matcher, and its commands' durations."""

    folder: Path
    database: str  # a URL
    matcher: Path
    seconds: dict[str, float] = field(default_factory=dict)  # of commands that came to their end

    @property
    def settings(self) -> Settings:
        """The settings of the site's commands."""
        return Settings(data=self.folder / "data", database=self.database, matcher=self.matcher)

    def command(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command of Tessera's, in a session of its own."""
        about = {"DATA": self.folder / "data", "DATABASE": self.database, "MATCHER": self.matcher}
        about |= {"CAPTIONER": "none", "GROUNDER": "none"}
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, "-c", COMMAND, *arguments],
                env=os.environ | {f"TESSERA_{name}": str(value) for name, value in about.items()},
                cwd=ROOT,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def run(self, *arguments: str) -> None:
        """Run a command to its end."""
        began = time.monotonic()
        status = self.command(*arguments).wait(STARTING)
        assert status == 0, f"tessera {' '.join(arguments)} failed; see {self.folder / 'log'}"
        self.seconds[arguments[0]] = time.monotonic() - began

    def run_killed(self, *arguments: str) -> bool:
        """Run a command and kill it late; returns whether it ran."""
        process = self.command(*arguments)
        try:
            status = process.wait(self.seconds.get(arguments[0], 2.0) * random.uniform(0.4, 1.0))
        except subprocess.TimeoutExpired:
            kill(process)
            return True
        assert status == 0, f"tessera {' '.join(arguments)} failed; see {self.folder / 'log'}"
        return False


class KilledService:
    """`tessera serve` on a site."""

    def __init__(self, site: Site) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        self.process = site.command("serve", "--no-sample", "--port", str(port))
        self.client = httpx2.Client(base_url=self.address, timeout=60)

    def wait(self) -> None:
        """Wait until it is ready."""
        deadline = time.monotonic() + STARTING
        while not self._ready():
            assert self.process.poll() is None, "the service ended"
            assert time.monotonic() < deadline, "the service does not start"
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill it, half the time together with its child processes."""
        kill(self.process, group=random.random() < 0.5)
        self.client.close()

    def _ready(self) -> bool:
        try:
            return self.client.get("/readyz").status_code == 200
        except httpx2.TransportError:
            return False


def kill(process: subprocess.Popen[bytes], *, group: bool = True) -> None:
    """Kill a process with SIGKILL; with `group` its children too."""
    if group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
