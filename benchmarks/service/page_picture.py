"""The README's picture of the page, made in Chromium.

A search of the sample photos.

The shipped matcher answers `--query`, and the pointer rests on the phrase number `--phrase`.

    python -m benchmarks.service.page_picture docs/images/page.png \\
        --query "a bridge over a river at night"
    python -m benchmarks.service.page_picture docs/images/products.webp --demo products \\
        --query "orange juice without grapefruit"

With `--address` it photographs a service that runs already.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

import uvicorn
from PIL import Image
from playwright.sync_api import sync_playwright

from app import demos
from app.demos import Demo
from app.engine.engine import Engine
from app.imports.storing import import_sources
from app.main import create_app
from app.settings import Settings

COLOURS = 256  # of the palette that keeps the file small


@contextmanager
def serving(folder: Path, demo: Demo) -> Iterator[str]:
    """The address of a service with a demonstration."""
    settings = Settings(data=folder)
    engine = Engine.load(settings)
    most = settings.upload_bytes
    for outcome in import_sources(
        engine, demo.collection, demo.sources(), batch=16, most_bytes=most
    ):
        if outcome.status != "stored":
            raise SystemExit(f"{outcome.place}: {outcome.reason}")
    config = uvicorn.Config(create_app(settings, engine), port=0, log_level="warning", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        thread.join(0.05)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        engine.catalog.close()


def photograph(address: str, browser: Path, phrase: int, size: tuple[int, int]) -> bytes:
    """The page as a PNG, the pointer on a phrase."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = opened.new_page(viewport={"width": size[0], "height": size[1]})
        page.goto(address)
        page.wait_for_selector(".hit :is(.phrase, .why)")
        page.wait_for_load_state("networkidle")
        if page.locator("#query .word").count() > phrase:
            page.locator("#query .word").nth(phrase).hover()
        page.wait_for_timeout(500)  # for what fades in
        png = page.screenshot()
        opened.close()
        return png


def main() -> None:
    """Serve, search, photograph."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--query", default="a bridge over a river at night")
    parser.add_argument("--demo", default="photos", choices=demos.ALL)
    parser.add_argument("--address", help="a running service, such as http://127.0.0.1:8000")
    parser.add_argument("--phrase", type=int, default=0)
    parser.add_argument("--size", type=int, nargs=2, default=(1200, 660), metavar=("W", "H"))
    parser.add_argument("--browser", type=Path, default=Path("/usr/bin/chromium"))
    options = parser.parse_args()
    demo = demos.ALL[options.demo]
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        address = options.address or stack.enter_context(serving(Path(folder), demo))
        page = f"{address}/?collection={demo.collection}&q={quote(options.query)}"
        png = photograph(page, options.browser, options.phrase, tuple(options.size))
    picture = Image.open(BytesIO(png)).convert("RGB")
    if options.out.suffix == ".png":
        picture = picture.quantize(palette=picture.quantize(COLOURS))
    picture.save(options.out, optimize=True, quality=80)
    print(f"{options.out}: {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
