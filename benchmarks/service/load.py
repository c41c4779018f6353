"""A service under load: many clients search, upload and import.

Its memory is watched.

    python -m benchmarks.service.load --clients 64 --seconds 240

Starts a service over an empty folder with the sample. Prints a line of JSON for each kind of
request and one for memory: resident megabytes of the service and its child processes, over time.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import itertools
import json
import os
import random
import re
import socket
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
import numpy as np

from app import demos
from app.imports.sources import ItemSource
from benchmarks.service.start_speed import has_sample

TEXTS = ("a cat", "a rocket at night", "a cup of coffee on a table", "two people", "a red car")
IMPORTED = 8  # photos of one import
SLACK = 0.2  # seconds that a client waits after an answer, so that some of them are idle
POINTS = 20  # of a phase's curve of memory
Work = Callable[[httpx2.AsyncClient, int], Awaitable[httpx2.Response]]


@dataclass(slots=True)
class Measurements:
    """Times and statuses of answers, and megabytes of processes.

    Answers by kind, in seconds; memory over time.
    """

    seconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    megabytes: list[dict[str, int]] = field(default_factory=list)

    @property
    def totals(self) -> list[int]:
        """Megabytes of all processes together."""
        return [sum(megabytes.values()) for megabytes in self.megabytes]


def resident(process: int) -> dict[str, int]:
    """Resident memory in MB of a process and its children, by module."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
        command = Path(f"/proc/{process}/cmdline").read_text().split("\0")
        below = [task.read_text() for task in Path(f"/proc/{process}/task").glob("*/children")]
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return {}
    held = re.search(r"VmRSS:\s+(\d+)", status)
    module = command[command.index("-m") + 1] if "-m" in command else command[0]
    megabytes = Counter({module: int(held[1]) // 1024 if held else 0})
    for child in " ".join(below).split():
        megabytes.update(resident(int(child)))
    return dict(megabytes)


@contextmanager
def service(port: int) -> Iterator[int]:
    """A service with its sample in an empty folder; yields its process."""
    with TemporaryDirectory() as data:
        command = [sys.executable, "-m", "tessera", "serve", "--data", data, "--port", str(port)]
        process = subprocess.Popen(command)  # noqa: S603 - our own command
        try:
            while not has_sample(f"http://127.0.0.1:{port}"):
                assert process.poll() is None, "the service ended"
                time.sleep(0.5)
            yield process.pid
        finally:
            with half_sent(port):
                began = time.perf_counter()
                process.terminate()
                process.wait(60)
            print(json.dumps({"seconds to end": round(time.perf_counter() - began, 1)}))


@contextmanager
def half_sent(port: int) -> Iterator[None]:
    """A connection with half of an upload, if anything listens."""
    headers = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000"
    with ExitStack() as kept_open:
        with suppress(OSError):
            connection = socket.create_connection(("127.0.0.1", port))
            kept_open.enter_context(connection)
            connection.sendall(f"PUT /items/half HTTP/1.1\r\n{headers}\r\n\r\n{{".encode())
            time.sleep(0.2)
        yield


def works(photos: list[bytes]) -> dict[str, Work]:
    """The clients' kinds of requests."""

    async def search(client: httpx2.AsyncClient, number: int) -> httpx2.Response:
        return await client.post("/search/image", json={"text": TEXTS[number % len(TEXTS)]})

    async def by_photo(client: httpx2.AsyncClient, number: int) -> httpx2.Response:
        return await client.post("/search/text", files={"image": photos[number % len(photos)]})

    async def upload(client: httpx2.AsyncClient, number: int) -> httpx2.Response:
        photo = {"image": photos[number % len(photos)]}
        return await client.put(f"/items/upload-{number % 500}", files=photo)

    async def bring_in(client: httpx2.AsyncClient, number: int) -> httpx2.Response:
        lines = [
            {"id": f"import-{number % 50}-{place}", "image": base64.b64encode(photo).decode()}
            for place, photo in enumerate(photos[:IMPORTED])
        ]
        body = "\n".join(map(json.dumps, lines))
        headers = {"Content-Type": "application/x-ndjson"}
        return await client.post("/items", content=body, headers=headers)

    async def ready(client: httpx2.AsyncClient, _: int) -> httpx2.Response:
        return await client.get("/readyz")

    return {
        "search": search,
        "by photo": by_photo,
        "upload": upload,
        "import": bring_in,
        "ready": ready,
    }


async def repeat(
    client: httpx2.AsyncClient,
    kind: str,
    work: Work,
    numbers: Iterator[int],
    measured: Measurements,
) -> None:
    """Send one kind of request again and again, until cancelled."""
    while True:
        start = time.perf_counter()
        try:
            response = await work(client, next(numbers))
        except httpx2.TransportError as failed:
            measured.statuses[kind][type(failed).__name__] += 1
        else:
            wait = "" if response.status_code < 400 else response.headers.get("retry-after", "-")
            measured.statuses[kind][f"{response.status_code} {wait}".strip()] += 1
            if response.status_code < 400:
                measured.seconds[kind].append(time.perf_counter() - start)
        await asyncio.sleep(SLACK * random.random())


async def watch(process: int, measured: Measurements) -> None:
    """Note memory every second."""
    while True:
        measured.megabytes.append(resident(process))
        await asyncio.sleep(1)


async def run(address: str, process: int, kinds: list[str], seconds: float) -> Measurements:
    """One client for each of the kinds, all at once."""
    measured, numbers = Measurements(), itertools.count()
    sources = [source for source in demos.PHOTOS.sources() if isinstance(source, ItemSource)]
    paths = itertools.chain.from_iterable(source.photos for source in sources)
    photos = [path.read_bytes() for path in paths if isinstance(path, Path)]
    todo = works(photos)
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(base_url=address, timeout=300, limits=limits) as client:
        tasks = [asyncio.create_task(repeat(client, k, todo[k], numbers, measured)) for k in kinds]
        tasks.append(asyncio.create_task(watch(process, measured)))
        await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return measured


def report(phase: str, measured: Measurements) -> None:
    """A line for each kind of request, and one for memory."""
    for kind, statuses in sorted(measured.statuses.items()):
        milliseconds = 1000 * np.array(measured.seconds[kind] or [np.nan])
        p50, p99 = np.percentile(milliseconds, [50, 99]).round().tolist()
        line = {"phase": phase, "kind": kind, "p50 ms": p50, "p99 ms": p99}
        print(json.dumps(line | {"statuses": dict(statuses)}), flush=True)
    totals = measured.totals
    step = max(1, len(totals) // POINTS)
    most = measured.megabytes[totals.index(max(totals))]
    memory = {
        "MB at first": totals[0],
        "most": max(totals),
        "of which": most,
        "at last": totals[-1],
    }
    print(json.dumps({"phase": phase, **memory, f"every {step} s": totals[::step]}), flush=True)


def mixture(clients: int) -> list[str]:
    """Kinds of requests by client: half search by text.

    One asks for readiness.
    """
    others = ["upload", "by photo", "upload", "import"]
    searching = max(1, clients // 2)
    return [
        "ready",
        *["search"] * searching,
        *(others[place % 4] for place in range(clients - searching - 1)),
    ]


def main() -> None:
    """Search alone first, then while photos are uploaded, then everything at once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--port", type=int, default=8123)
    chosen = parser.parse_args()
    address = f"http://127.0.0.1:{chosen.port}"
    phases = {
        "searches alone": (["search"], 0.1),
        "one searches, four upload": (["search", *["upload"] * 4], 0.3),
        "all": (mixture(chosen.clients), 1.0),
        "afterwards": (["ready"], 0.1),
    }
    print(json.dumps({"cores": os.cpu_count(), "load": os.getloadavg()[0]}))
    with service(chosen.port) as process:
        for phase, (kinds, share) in phases.items():
            report(phase, asyncio.run(run(address, process, kinds, share * chosen.seconds)))


if __name__ == "__main__":
    main()
