"""The file of measurements: one JSON object a line, with the name of its run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = Path("benchmarks/measurements.jsonl")

Measurement = Mapping[str, Any]


def read(file: Path) -> dict[str, dict[str, Any]]:
    """Read all measurements by name, in the file's order; a missing file has none."""
    if not file.exists():
        return {}
    rows = map(json.loads, file.read_text("utf-8").splitlines())
    return {row.pop("run"): row for row in rows}


def add(file: Path, measurements: Mapping[str, Measurement]) -> None:
    """Add lines, replacing those of the same names; the file is written whole or not at all."""
    stored = read(file) | {name: shorten(row) for name, row in measurements.items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial")
    lines = (json.dumps({"run": name} | row) + "\n" for name, row in stored.items())
    partial.write_text("".join(lines), "utf-8")
    partial.replace(file)


def shorten(row: Measurement) -> dict[str, Any]:
    """Keep only the last epoch of a run file, the one that the page reads."""
    return {**row, "epochs": row["epochs"][-1:]} if row.get("epochs") else dict(row)
