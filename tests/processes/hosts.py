"""Services as processes, as on several hosts."""

import os
import signal
import socket
import subprocess
import sys
import time

import httpx2 as httpx

COMMAND = "import tessera; tessera.main()"  # as the installed command does


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


class Host:
    """`tessera serve` with a data folder of its own, as on another host."""

    def __init__(self, folder, url, matcher, pictures, workers=1, environment=()):
        self.port = free_port()
        about = {"DATA": folder / "data", "PICTURES": pictures, "DATABASE": url}
        about |= {"MATCHER": matcher, "CAPTIONER": "none", "GROUNDER": "none", "PORT": self.port}
        about["REGION_CAPTIONER"] = "none"
        named = {f"TESSERA_{name}": str(value) for name, value in about.items()}
        self.settings = dict(environment) | named
        self.process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-c", COMMAND, "serve", "--no-sample", "--workers", str(workers)],
            env=os.environ | self.settings,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=30)

    def wait(self):
        end = time.monotonic() + 100
        while time.monotonic() < end:
            try:
                if self.client.get("/readyz").status_code == 200:
                    return self
            except httpx.HTTPError:
                pass
            time.sleep(0.2)
        raise AssertionError("the service does not start")

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.client.close()
