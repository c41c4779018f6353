"""Rate and memory of a table's import, killed once and resumed.

    python -m benchmarks.service.import_speed products_fashion --work /tmp/import

Rows are the products of a catalogue in turn, with an id, a price and a number in the title of their
own, without photos: each is embedded by its title. `tessera index` is killed with a third of the
rows stored, started again, and then once more, when nothing has changed.
"""

from __future__ import annotations

import argparse
import csv
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import cycle, islice
from pathlib import Path

from benchmarks.service.product_search import choose
from index.catalog.catalog import Catalog

COLLECTION = "shop"
POLL = 1.0  # seconds
Progress = list[tuple[float, int, float]]  # seconds, items that are stored, and MiB in memory


def write(table: Path, catalogue: Path, count: int) -> None:
    """Write a table of products."""
    rows = choose(catalogue, 5_000)
    with table.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["sku", "title", "brand", "colour", "kind", "price"])
        for number, row in enumerate(islice(cycle(rows), count)):
            title = f"{row['title']} {number}"
            brand, price = row["title"].split()[0], round(5 + number % 997 / 10, 2)
            cells = [brand, row["baseColour"], row["articleType"], price]
            out.writerow([f"SKU-{number:07}", title, *cells])


def count_stored(data: Path) -> int:
    """The number of items on disk."""
    with closing(Catalog.in_folder(data)) as catalog:
        try:
            return catalog.count(catalog.names.find(COLLECTION))
        except LookupError:
            return 0


def memory(process: int) -> float:
    """The memory of a process in MiB, or 0 after its end."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text("ascii").split()[1]
    except OSError:
        return 0.0
    return int(pages) * os.sysconf("SC_PAGESIZE") / 2**20


def watch(
    table: Path, data: Path, until: Callable[[int], bool]
) -> Iterator[tuple[float, int, float]]:
    """Progress and memory of an import.

    It is killed as soon as `until` is true of the count.
    """
    command = [sys.executable, "-m", "tessera", "index", str(table)]
    options = ["--collection", COLLECTION, "--data", str(data)]
    start = time.perf_counter()
    process = subprocess.Popen([*command, *options])  # noqa: S603 - our own command
    try:
        while process.poll() is None:
            time.sleep(POLL)
            held = memory(process.pid)
            count = count_stored(data)
            yield time.perf_counter() - start, count, held
            if until(count):
                process.send_signal(signal.SIGKILL)
                process.wait()
    finally:
        process.kill()
        process.wait()
    if process.returncode not in (0, -signal.SIGKILL):
        raise SystemExit(f"the import failed: {process.returncode}")


def summarize(name: str, progress: Progress) -> str:
    """A line about one import: rate and memory.

    Memory in its first and last fifth.
    """
    working = [sample for sample in progress if sample[1] > progress[0][1]] or progress
    first, last = working[0], working[-1]
    seconds, count = last[0] - first[0], last[1] - first[1]
    rate = f", {count / seconds:.0f} rows a second" if count else ""
    part = max(len(working) // 5, 1)
    early, late = (
        max(sample[2] for sample in fifth) for fifth in (working[:part], working[-part:])
    )
    held = f"{early:.0f} MiB, then {late:.0f} MiB"
    return f"{name}: {last[1]:,} items after {last[0]:.0f} s{rate}; {held}"


def main() -> None:
    """Measure, and print a line for each import."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("catalogue", type=Path, help="folder of items.jsonl")
    parser.add_argument("--work", type=Path, required=True, help="an empty folder, kept")
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    table, data = options.work / "products.csv", options.work / "data"
    write(table, options.catalogue, options.rows)
    imports: dict[str, Callable[[int], bool]] = {
        "until it was killed": lambda count: count >= options.rows // 3,
        "gone on": lambda _: False,
        "again, nothing changed": lambda _: False,
    }
    for name, until in imports.items():
        print(summarize(name, list(watch(table, data, until))), flush=True)
    if (count := count_stored(data)) != options.rows:
        raise SystemExit(f"{count:,} of {options.rows:,} rows are stored")


if __name__ == "__main__":
    main()
