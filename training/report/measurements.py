"""The file of measurements: one JSON object a line.

Each has the name of its run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from index.disk import hold_lock
from models import whole_files

FILE = Path("benchmarks/measurements.jsonl")
SHIPPED = "tessera-world"  # the preset of the matcher that ships
FLICKR8K = "flickr8k"  # the data of the published page
DATA = f"{FLICKR8K} val"  # where it is measured first
ADDED = "the run.json of a matcher's training, or a file of `tessera evaluate … --json`"

Measurement = Mapping[str, Any]


def read(file: Path) -> dict[str, dict[str, Any]]:
    """Read all measurements by name, in the file's order.

    A missing file has none. ValueError names the file and the line of a bad one.
    """
    if file.is_dir():
        raise ValueError(f"{file} is a folder: name a file of lines, such as {FILE}")
    if not file.exists():
        return {}
    rows: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        try:
            row = json.loads(line)
            name = row.pop("run")
            repeated = name in rows
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f'{file}, line {number}: no JSON object with its "run"') from None
        if repeated:
            raise ValueError(f"{file}, line {number}: a second line of {name}, delete one")
        rows[name] = row
    return rows


def read_file(file: Path) -> dict[str, Any]:
    """Read a run.json or a file of --json; ValueError for others."""
    try:
        row = json.loads(file.read_bytes())
    except ValueError as broken:
        raise ValueError(f"{file} is not JSON ({broken}): give {ADDED}") from broken
    if not isinstance(row, dict) or not row.keys() & {"epochs", "checkpoint"}:
        raise ValueError(f"{file} is no measurement: give {ADDED}")
    return row


def add(file: Path, measurements: Mapping[str, Measurement]) -> None:
    """Add lines instead of equal names.

    The file is written whole or not at all.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with hold_lock(file.with_suffix(".lock"), wait=True):
        stored = read(file) | {name: shorten(row) for name, row in measurements.items()}
        lines = (json.dumps({"run": name} | row) + "\n" for name, row in stored.items())
        whole_files.write_text(file, "".join(lines))


def name_of(file: Path) -> str:
    """Name a measurement by its file, and a run by its folder."""
    return file.parent.name if file.name == "run.json" else file.stem


def name_data(row: Measurement) -> str:
    """Name a measurement's data and split; mark stored features."""
    return f"{row['data']} {row['split']}{' ‡' if row.get('frozen') else ''}"


def name_with_options(row: Measurement) -> str:
    """Name a captioner with its options."""
    options = (f"{key} {value}" for key, value in sorted(row.get("options", {}).items()))
    return ", ".join((row["name"], *options))


def refuse_same_seed(rows: Sequence[Measurement], system: str) -> None:
    """Raise ValueError for two rows of one seed.

    They would pass for two seeds.
    """
    if len({row.get("seed") for row in rows}) < len(rows):
        raise ValueError(f"two lines hold {system} with the same seed: delete one")


def refuse_mixed_data(rows: Iterable[Measurement]) -> None:
    """Raise ValueError for different data of one name.

    Their numbers would share tables and means. Measurements of the first versions have no digest,
    and are not compared.
    """
    digests: dict[str, str] = {}
    for row in rows:
        name, digest = identify_data(row)
        if digest and digest != digests.setdefault(name, digest):
            raise ValueError(
                f"two data sets are named {name}, with the digests {digests[name]} and {digest}: "
                "delete the lines of one, or rename its file or folder and measure it again"
            )


def identify_data(row: Measurement) -> tuple[str, str | None]:
    """Return the name and digest of a measurement's data."""
    data = row["data"]
    named = data if isinstance(data, Mapping) else {"name": data, "digest": row.get("digest")}
    return named["name"], named.get("digest")


def list_data(stored: Iterable[Measurement]) -> list[str]:
    """List the data of runs, or without runs of evaluations."""
    rows = [row for row in stored if row.get("data")]
    runs = [row for row in rows if row.get("epochs")]
    return sorted({identify_data(row)[0] for row in runs or rows})


def shorten(row: Measurement) -> dict[str, Any]:
    """Keep the last epoch whole, and loss, terms and recalls of all."""
    if not row.get("epochs"):
        return dict(row)
    curve = [
        {name: epoch.get(name) for name in ("loss", "terms", "recall_sum")}
        for epoch in row["epochs"]
    ]
    return {"curve": curve, **row, "epochs": row["epochs"][-1:]}
