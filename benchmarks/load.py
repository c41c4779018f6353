"""A service under load: many clients search, upload and import at once, its memory is watched.

`python -m benchmarks.load --clients 64 --seconds 240` starts a service over an empty folder, fills
it with the sample, and prints a line of JSON for each kind of request and one for memory.
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
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
import numpy as np

from app import demos

TEXTS = ("a cat", "a rocket at night", "a cup of coffee on a table", "two people", "a red car")
IMPORTED = 8  # photos of one import
SLACK = 0.2  # seconds that a client waits after an answer, so that some of them are idle
Work = Callable[[httpx2.AsyncClient, int], Awaitable[httpx2.Response]]


@dataclass(slots=True)
class Seen:
    """What clients saw: seconds of answers by kind, statuses by kind, and memory over time."""

    seconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    megabytes: list[int] = field(default_factory=list)


def resident(process: int) -> int:
    """Resident memory of a process and all below it, in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    held = re.search(r"VmRSS:\s+(\d+)", status)  # none of a process that has just ended
    own = int(held[1]) if held else 0
    below = Path(f"/proc/{process}/task").glob("*/children")
    children = [int(child) for task in below for child in task.read_text().split()]
    return own // 1024 + sum(resident(child) for child in children)


@contextmanager
def service(port: int) -> Iterator[int]:
    """A service on an empty folder that has its sample; gives its process."""
    with TemporaryDirectory() as data:
        command = [sys.executable, "-m", "tessera", "serve", "--data", data, "--port", str(port)]
        process = subprocess.Popen(command)  # noqa: S603 - our own command
        try:
            ready = f"http://127.0.0.1:{port}/readyz"
            while not _answers(ready):
                assert process.poll() is None, "the service ended"
                time.sleep(0.5)
            yield process.pid
        finally:
            process.terminate()
            process.wait(60)


def _answers(address: str) -> bool:
    try:
        return httpx2.get(address, timeout=5).status_code == 200
    except httpx2.TransportError:
        return False


def works(photos: list[bytes]) -> dict[str, Work]:
    """What clients do, by kind."""

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
    client: httpx2.AsyncClient, kind: str, work: Work, numbers: Iterator[int], seen: Seen
) -> None:
    """One client: the same kind of request again and again, until it is cancelled."""
    while True:
        start = time.perf_counter()
        try:
            response = await work(client, next(numbers))
        except httpx2.TransportError as failed:
            seen.statuses[kind][type(failed).__name__] += 1
        else:
            told = "" if response.status_code < 400 else response.headers.get("retry-after", "-")
            seen.statuses[kind][f"{response.status_code} {told}".strip()] += 1
            if response.status_code < 400:
                seen.seconds[kind].append(time.perf_counter() - start)
        await asyncio.sleep(SLACK * random.random())


async def watch(process: int, seen: Seen) -> None:
    """Note memory every second."""
    while True:
        seen.megabytes.append(resident(process))
        await asyncio.sleep(1)


async def run(address: str, process: int, kinds: list[str], seconds: float) -> Seen:
    """One client for each of the kinds, all at once."""
    seen, numbers = Seen(), itertools.count()
    photos = [source.photo.read_bytes() for source in demos.PHOTOS.sources() if source.photo]
    todo = works(photos)
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(base_url=address, timeout=300, limits=limits) as client:
        tasks = [asyncio.create_task(repeat(client, k, todo[k], numbers, seen)) for k in kinds]
        tasks.append(asyncio.create_task(watch(process, seen)))
        await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return seen


def tell(phase: str, seen: Seen) -> None:
    """A line for each kind of request, and one for memory."""
    for kind, statuses in sorted(seen.statuses.items()):
        milliseconds = 1000 * np.array(seen.seconds[kind] or [np.nan])
        p50, p99 = np.percentile(milliseconds, [50, 99]).round().tolist()
        line = {"phase": phase, "kind": kind, "p50 ms": p50, "p99 ms": p99}
        print(json.dumps(line | {"statuses": dict(statuses)}), flush=True)
    memory = seen.megabytes
    print(json.dumps({"phase": phase, "MB at first": memory[0], "most": max(memory),
                      "at last": memory[-1]}), flush=True)  # fmt: skip


def mixture(clients: int) -> list[str]:
    """Kinds of requests for so many clients: half search by text, one asks for readiness."""
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
            tell(phase, asyncio.run(run(address, process, kinds, share * chosen.seconds)))


if __name__ == "__main__":
    main()
