"""Trips of a search: the files and functions of one request.

    python -m benchmarks.service.trips --data .tessera --list

The data folder holds the sample and the products of `tessera serve`. Each request is sent twice,
with another text first. The second one counts: functions entered, their files, and changes from
file to file. Comprehensions and lambdas count apart from named functions. Threads of the background
(readers, the watcher, verification) serve no request, so they do not count: only the event loop,
the lanes and the threads that share a search do.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
ROOMS = tuple(f"{ROOT / room}/" for room in ("app", "index", "models"))
# How the names of threads begin: the test client's event loop, lanes, models.threads.
SERVING = ("asyncio-portal", "lane-", "worker")
WARM_UP = "a cup of coffee on a table"
REQUESTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "text": ("/search/image", {"text": "a bridge over a river"}),
    "products": (
        "/search/products",
        {"text": "green apple", "collection": "products", "facets": ["aisle"]},
    ),
}


@dataclass
class Trip:
    """Functions entered by serving threads, and changes of file, while `counting`."""

    counting: bool = False
    functions: set[CodeType] = field(default_factory=set)
    changes: int = 0
    file: str = ""

    def begin(self) -> None:
        """Forget the last request, and count from now on."""
        self.functions.clear()
        self.changes, self.file, self.counting = 0, "", True

    def enter(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call, as a function for `threading.setprofile`."""
        code = frame.f_code
        if not self.counting or event != "call" or not code.co_filename.startswith(ROOMS):
            return
        if not threading.current_thread().name.startswith(SERVING):
            return
        self.functions.add(code)
        if code.co_filename != self.file:
            self.changes, self.file = self.changes + 1, code.co_filename

    def summarize(self) -> str:
        """Return the counts as a line."""
        files = {code.co_filename for code in self.functions}
        named = [code for code in self.functions if not code.co_name.startswith("<")]
        return (
            f"{len(files)} files, {len(named)} functions and {len(self.functions) - len(named)} "
            f"comprehensions, {self.changes} changes of file"
        )

    def list_functions(self) -> list[str]:
        """Return a line for each file and named function, in order."""
        order = sorted(self.functions, key=lambda code: (code.co_filename, code.co_firstlineno))
        return [
            f"{code.co_filename.removeprefix(f'{ROOT}/')} {code.co_qualname}"
            for code in order
            if not code.co_name.startswith("<")
        ]


def main() -> None:
    """Send each request to an application, and print its trip."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a data folder")
    parser.add_argument("--list", action="store_true", help="print the functions, too")
    options = parser.parse_args()
    trip = Trip()
    threading.setprofile(trip.enter)  # of threads from now on: before the application's
    sys.setprofile(trip.enter)
    count_trips(options.data, trip, listing=options.list)


def count_trips(data: Path, trip: Trip, *, listing: bool) -> None:
    """Count the trips of REQUESTS to an application over a data folder."""
    from starlette.testclient import TestClient

    from app.engine.engine import Engine
    from app.main import create_app
    from app.settings import Settings

    settings = Settings(data=data)
    engine = Engine.load(settings)
    engine.serve()
    with TestClient(create_app(settings, engine), base_url="http://127.0.0.1") as client:
        for name, (path, body) in REQUESTS.items():
            client.post(path, json=body | {"text": WARM_UP}).raise_for_status()
            trip.begin()
            client.post(path, json=body).raise_for_status()
            trip.counting = False
            print(f"{name}: {trip.summarize()}")
            for line in trip.list_functions() if listing else ():
                print(f"    {line}")
    engine.close()


if __name__ == "__main__":
    main()
