"""Liveness under hostile texts: times of /livez meanwhile.

Clients send the worst that is read.

    python -m benchmarks.service.liveness http://127.0.0.1:8000 --seconds 20

Each client sends texts right below the limits to every search, and stores them as sentences of an
item of its own. Start the service over a folder that may be thrown away.
"""

from __future__ import annotations

import argparse
import threading
import time
from itertools import cycle, islice

import httpx2

TEXTS = (
    f"a {'%' * 580} dog",
    "1," * 290,
    "-a " * 190,
    " ".join(["dog"] * 199),
    '"' * 580 + " cat",
)
PHRASES = [{"text": "dog " * 9}] * 50
PAUSE = 0.1  # seconds between looks at /livez


def attack(address: str, number: int, until: float) -> None:
    """Send hostile texts until a time.

    A refusal is as good as an answer.
    """
    with httpx2.Client(base_url=address, timeout=60) as client:
        for text in islice(cycle(TEXTS), number, None):
            if time.monotonic() > until:
                return
            client.post("/search/image", json={"text": text})
            client.post("/search/text", json={"text": text})
            client.post("/search/products", json={"text": text})
            client.post("/search/image", json={"phrases": PHRASES})
            client.put(f"/items/hostile-{number}", json={"sentences": [text]})


def measure_liveness(address: str, until: float) -> list[float]:
    """Seconds of each look at /livez, ascending."""
    taken = []
    with httpx2.Client(base_url=address, timeout=60) as client:
        while time.monotonic() < until:
            begun = time.perf_counter()
            client.get("/livez").raise_for_status()
            taken.append(time.perf_counter() - begun)
            time.sleep(PAUSE)
    return sorted(taken)


def main() -> None:
    """Attack a service, and print /livez's times meanwhile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    until = time.monotonic() + min(options.seconds, 120)
    clients = [
        threading.Thread(target=attack, args=(options.address, number, until))
        for number in range(options.clients)
    ]
    for client in clients:
        client.start()
    taken = measure_liveness(options.address, until)
    for client in clients:
        client.join()
    p50, p99 = taken[len(taken) // 2], taken[int(0.99 * len(taken))]
    print(f"{len(taken)} looks: p50 {p50:.3f}, p99 {p99:.3f}, longest {taken[-1]:.3f} s")


if __name__ == "__main__":
    main()
