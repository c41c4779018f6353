"""A real server of S3 for tests: nanio, buckets as folders."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

KEYS = {"ACCESS_KEY": "AKIATESSERA", "SECRET_KEY": "secret-of-the-store"}
COMMAND = "import sys; from nanio.cli import main; sys.exit(main())"


class Store:
    """A server in another process, with signatures.

    What it has answered is on disk: it may be killed, and started again where it was.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            self.port = listening.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """A service's environment for its use."""
        return {
            "AWS_ENDPOINT": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": KEYS["ACCESS_KEY"],
            "AWS_SECRET_ACCESS_KEY": KEYS["SECRET_KEY"],
        }

    def bucket(self) -> str:
        """The name of a new bucket."""
        name = f"b{uuid4().hex}"
        (self.folder / name).mkdir()
        return name

    def start(self) -> None:
        """Start if it is not running, and wait until it answers."""
        if self._process is not None:
            return
        place = ["--host", "127.0.0.1", "--port", str(self.port), "--data-dir", str(self.folder)]
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-c", COMMAND, "serve", *place, "--log-level", "error"],
            env=os.environ | {f"NANIO_{name}": value for name, value in KEYS.items()},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                assert self._process.poll() is None, "the object store does not start"
                assert time.monotonic() < deadline, "the object store does not answer"
                time.sleep(0.05)
            else:
                return

    def pause(self) -> None:
        """Let it hang: connections are taken, and never answered."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it answer again."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End the server at once, even at work."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _signal(self, number: int) -> None:
        assert self._process is not None, "the object store is not running"
        self._process.send_signal(number)
