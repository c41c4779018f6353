"""Compares the reading of a made folder with the truth.

    python -m benchmarks.photos.folder /tmp/photos --count 300
    python -m benchmarks.photos.check /tmp/photos

Files are read in the bounded decoder processes, as an import does; nothing is embedded. It ends
with 1 if a file differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.imports.fetching import refuse
from app.imports.folder import find
from app.imports.photo_decoders import Allowance, Decoders
from app.imports.source_reading import read
from app.imports.sources import ImportOutcome, ItemSource
from app.settings import Settings


def read_folder(folder: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the path, fate and metadata of each file."""
    settings = Settings()
    with Decoders(1, Allowance.of(settings)) as decoders:
        for entry in find([folder]):
            name = str(Path(entry.place).relative_to(folder))
            if isinstance(entry, ImportOutcome):
                yield name, entry.status, {}
                continue
            assert isinstance(entry, ItemSource)
            draft = read(entry, settings.upload_bytes, decoders, refuse)
            if isinstance(draft, ImportOutcome):
                yield name, draft.status, {}
            else:
                yield name, "item", dict(draft.metadata)


def main() -> None:
    """Print the counts of fates, and differing files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="one that benchmarks.photos.folder made")
    folder = parser.parse_args().folder.resolve()
    made = json.loads(folder.with_name(f"{folder.name}.json").read_text("utf-8"))
    truth = {entry["file"]: entry for entry in made}
    fates, differing = Counter[str](), set(truth)
    for name, fate, metadata in read_folder(folder):
        fates[fate] += 1
        true = truth[name]
        if fate == true["fate"] and true["metadata"].items() <= metadata.items():
            differing.discard(name)
    print(", ".join(f"{count} {fate}" for fate, count in sorted(fates.items())), end=", ")
    print(f"{len(differing)} differ")
    for name in sorted(differing):
        print(f"    {name}")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
