"""Time of `tessera index` without a change, and with renamed files.

    python -m benchmarks.service.folder_scan --files 100000 --work /tmp/folder_scan

Makes small JPEGs in folders of a thousand and stores an item of each, with vectors by chance, as
embedding is not what is measured. Then the command runs three times: to build the index, without a
change, and with a folder of a thousand files renamed. Prints a line of JSON.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from io import BytesIO
from itertools import islice
from pathlib import Path

import torch
from PIL import Image

from app.cli.options import load_engine
from app.engine.engine import Engine
from app.imports.folder import find
from app.imports.sources import ItemSource
from app.settings import Settings
from index.items import Entry, Picture
from models.types import Box, FragmentBag

FOLDER = 1_000  # files in one folder
BATCH = 1_000  # items stored in one transaction


def write_files(root: Path, count: int) -> None:
    """Write small JPEGs with different contents."""
    buffer = BytesIO()
    Image.new("RGB", (16, 16), "red").save(buffer, "JPEG")
    for number in range(count):
        folder = root / f"{number // FOLDER:04}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"IMG_{number:06}.jpg").write_bytes(buffer.getvalue() + f"{number}".encode())


def store(engine: Engine, root: Path) -> None:
    """Store an item of each file."""
    home = engine.open("default", create=True)
    entries = _make_entries(root, engine)
    while part := list(islice(entries, BATCH)):
        engine.catalog.put_many(home, part)


def _make_entries(root: Path, engine: Engine) -> Iterator[Entry]:
    dimension: int = engine.models.makes["dimension"]
    for source in find([root]):
        assert isinstance(source, ItemSource)
        data = Path(source.place).read_bytes()
        picture = Picture(b"jpeg", 16, 16, sha256(data).hexdigest())
        bag = FragmentBag(torch.randn(1, dimension), (Box(0, 0, 1, 1),), ("whole photo",))
        yield Entry(
            source.id, source.metadata, (picture,), (bag,), (), (), source.place, source.stamp
        )


def run_command(root: Path, data: Path) -> tuple[float, str]:
    """Run the command; seconds, and its last line."""
    command = [sys.executable, "-m", "tessera", "index", str(root), "--data", str(data)]
    began = time.perf_counter()
    ended = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return time.perf_counter() - began, ended.stderr.splitlines()[-1]


def main() -> None:
    """Run the measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--work", type=Path, required=True)
    options = parser.parse_args()
    root, data = options.work / "photos", options.work / "data"
    if not root.exists():
        write_files(root, options.files)
        with closing(load_engine(Settings(data=data))) as engine:
            store(engine, root)
    run_command(root, data)
    times: dict[str, object] = {"files": options.files}
    for name in ("unchanged", "renamed"):
        seconds, line = run_command(root, data)
        times |= {f"{name}_seconds": round(seconds, 1), f"{name}_outcome": line}
        folder = next(path for path in sorted(root.iterdir()) if path.is_dir())
        folder.rename(folder.with_name(f"renamed-{time.time_ns()}"))
    print(json.dumps(times))


if __name__ == "__main__":
    main()
