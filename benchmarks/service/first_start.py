"""First start from an empty folder, in seconds.

From the command to the page, to a photo, and to all of them.

    python -m benchmarks.service.first_start --times 3
    python -m benchmarks.service.first_start --demo products

A browser opens the page as soon as the address answers.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import tempfile
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from app.demos import ALL, Demo
from benchmarks.service.start_speed import answers, running

CHROMIUM = Path("/usr/bin/chromium")


@dataclass(frozen=True, slots=True)
class FirstStart:
    """Seconds from the command on until each can be seen or done."""

    listening: float  # the address answers
    painted: float  # the browser has drawn the page
    first_photo: float  # a search finds a photo
    all_photos: float  # everything can be searched


def first_start(demo: Demo, page: Page) -> FirstStart:
    """One start from an empty folder, with the browser's first paint."""
    with socket.socket() as free, tempfile.TemporaryDirectory() as data:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        address, began = f"http://127.0.0.1:{port}", time.perf_counter()
        command = ("serve", "--data", data, "--port", str(port), "--demo", demo.name)
        with running(*command) as child:
            until(lambda: child.poll() is not None or answers(f"{address}/livez"))
            listening = time.perf_counter() - began
            opened = time.perf_counter()
            page.goto(f"{address}/?collection={demo.collection}")
            painted = opened - began + first_paint(page)
            until(lambda: count_searchable(page, demo) > 0)
            first = time.perf_counter() - began
            until(lambda: count_searchable(page, demo) == len(demo.sources()))
            return FirstStart(listening, painted, first, time.perf_counter() - began)


def until(true: Callable[[], bool]) -> None:
    """Wait until something is true, looking every 20 ms."""
    while not true():
        time.sleep(0.02)


def first_paint(page: Page) -> float:
    """Seconds from the navigation to the browser's first contentful paint."""
    read = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
    until(lambda: page.evaluate(read) > 0)
    return float(page.evaluate(read)) / 1000


def count_searchable(page: Page, demo: Demo) -> int:
    """Count the demonstration's searchable items, by the page's request."""
    query = urllib.parse.urlencode({"collection": demo.collection})
    index = page.evaluate(f"fetch('/index?{query}').then((a) => a.ok ? a.json() : null)")
    return max(0, index["items"] - index["behind"]) if index else 0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--demo", choices=tuple(ALL), default="photos")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--browser", type=Path, default=CHROMIUM)
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.browser, args=["--no-sandbox"])
        starts = [
            asdict(first_start(ALL[options.demo], browser.new_page())) for _ in range(options.times)
        ]
        browser.close()
    for name in starts[0]:
        print(f"{name}: {statistics.median(start[name] for start in starts):.1f} s")


if __name__ == "__main__":
    main()
