"""Bytes of the first page on a phone, and of its files.

    python -m benchmarks.service.page_weight http://127.0.0.1:8000/

The phone has 390 by 844 points, of 3 by 3 pixels each, and no cache.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

PAGE = Path(__file__).parents[2] / "app" / "page"
SENT = {".css", ".html", ".js", ".webmanifest"}
CHROMIUM = "/usr/bin/chromium"
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 3,
    "is_mobile": True,
    "has_touch": True,
}


def measure_files() -> int:
    """The gzipped bytes of the page's scripts, styles and HTML."""
    files = [file for file in PAGE.rglob("*") if file.suffix in SENT and file.stem != "docs"]
    return sum(len(gzip.compress(file.read_bytes())) for file in files)


def kind_of(address: str) -> str:
    """Sort an address into photos, files of the page, and answers."""
    path = urlsplit(address).path
    if path.endswith("/image"):
        return "photos"
    return "page" if path.endswith("/") or "/page/" in path else "answers"


def measure_load(address: str, seconds: float) -> Counter[str]:
    """The bytes loaded from an address, by their kind."""
    sizes: Counter[str] = Counter()
    kinds: dict[str, str] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context(**PHONE).new_page()
        client = page.context.new_cdp_session(page)
        client.send("Network.enable")
        client.on(
            "Network.responseReceived",
            lambda answer: kinds.update({answer["requestId"]: kind_of(answer["response"]["url"])}),
        )
        client.on(
            "Network.loadingFinished",
            lambda ended: sizes.update(
                {kinds.get(ended["requestId"], "answers"): int(ended["encodedDataLength"])}
            ),
        )
        page.goto(address)
        page.wait_for_timeout(1000 * seconds)
        browser.close()
    return sizes


def main() -> None:
    """Measure, and print a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--seconds", type=float, default=5, help="how long to wait for photos")
    options = parser.parse_args()
    sizes = measure_load(options.address, options.seconds)
    report = {"files_gzipped": measure_files(), "loaded": sizes.total(), **sizes}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
