"""Start of the service: seconds until ready, and memory.

Processor and wall seconds until /readyz answers; `--help` as well.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx

from app.demos import PHOTOS
from app.http import lanes

TESSERA = (sys.executable, "-m", "tessera")
TICKS = os.sysconf("SC_CLK_TCK")
PHOTO = PHOTOS.folder / "panda.jpg"


@dataclass(frozen=True, slots=True)
class StartCost:
    """The cost of a start; memory in MB, 0 for an ended command."""

    processor_seconds: float
    wall_seconds: float
    resident: float = 0.0
    after_a_search: float = 0.0
    after_a_photo: float = 0.0
    at_rest: float = 0.0


def command(*arguments: str) -> StartCost:
    """Run a command to its end."""
    before, began = os.times(), time.perf_counter()
    subprocess.run([*TESSERA, *arguments], capture_output=True, check=False)  # noqa: S603 - our own
    after = os.times()
    used = after.children_user + after.children_system
    used -= before.children_user + before.children_system
    return StartCost(used, time.perf_counter() - began)


def service(data: Path) -> StartCost:
    """The start of a service, its memory after searches and at rest."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    began = time.perf_counter()
    with running("serve", "--data", str(data), "--port", str(port)) as child:
        address = f"http://127.0.0.1:{port}"
        while not answers(f"{address}/readyz"):
            assert child.poll() is None, "the service ended"
            time.sleep(0.02)
        wall, used, resident = time.perf_counter() - began, processor(child.pid), memory(child.pid)
        while not has_sample(address):
            time.sleep(0.1)
        search(address, json={"text": "a cat"})
        searched = memory(child.pid)
        search(address, files={"image": PHOTO.read_bytes()})
        looked = memory(child.pid)
        time.sleep(lanes.REST + 1)
        return StartCost(used, wall, resident, searched, looked, memory(child.pid))


def first_service(data: Path) -> StartCost:
    """The start of a service without compiled kernels."""
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, NUMBA_CACHE_DIR=folder):
        return service(data)


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command in the background, terminated at the end of the block."""
    child = subprocess.Popen([*TESSERA, *arguments], stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        yield child
    finally:
        child.terminate()
        child.wait()


def answers(url: str) -> bool:
    """Return whether a URL answers with success."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - our own address
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError):
        return False


def has_sample(address: str) -> bool:
    """Return whether the service has indexed its sample."""
    try:
        with urllib.request.urlopen(f"{address}/index", timeout=5) as answer:  # noqa: S310
            index = json.load(answer)
    except (urllib.error.URLError, ConnectionError):
        return False
    return bool(index["items"] > 0 and index["coming"] == index["behind"] == 0)


def search(address: str, **query: Any) -> None:
    """One search by a text or a photo."""
    answer = httpx.post(f"{address}/search/image", timeout=60, **query).raise_for_status()
    assert answer.json()["hits"]


def processor(pid: int) -> float:
    """The processor seconds of all threads of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(pid: int) -> float:
    """The resident memory of a process in MB."""
    line = next(
        line
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("VmRSS:")
    )
    return int(line.split()[1]) / 1024


def median(measure: Callable[[], StartCost], times: int) -> dict[str, float]:
    """The median of each number over several starts."""
    starts = [asdict(measure()) for _ in range(times)]
    return {name: statistics.median(start[name] for start in starts) for name in starts[0]}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        service(data)  # the first one stores the sample and compiles
        measures = {
            "tessera --help": lambda: command("--help"),
            "tessera serve --port abc": lambda: command("serve", "--port", "abc"),
            "tessera serve, ready": lambda: service(data),
            "tessera serve, kernels compiled": lambda: first_service(data),
        }
        for name, measure in measures.items():
            numbers = median(measure, options.times)
            print(name, "; ".join(f"{key} {value:.2f}" for key, value in numbers.items()))


if __name__ == "__main__":
    main()
