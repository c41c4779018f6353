"""Rounds of kill -9 on SQLite and on PostgreSQL: python -m tests.kills --rounds 200.

Prints a line of JSON for each round, and one at the end. After a kill, everything acknowledged must
be there, no item may be torn, `tessera check --repair` must leave nothing to do, and searches must
agree with brute force. The first failing round ends the run, and its folder stays.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from app.engine.inference import Models
from models import checkpoint
from models.matcher import Config, TowerOptions, TwoTowerMatcher
from tests.kills.rounds import SHARES, Rounds
from tests.kills.service import Site
from tests.processes.servers import server


def matchers(folder: Path) -> list[Path]:
    """Two untrained matchers, quick to load and to run."""
    folder.mkdir()
    image = TowerOptions.of("image_towers", "regions", {"sizes": (96,), "embedding": 8})
    text = TowerOptions.of("text_towers", "brnn", {"embedding": 8, "hidden": 8})
    paths = []
    for seed in range(2):
        torch.manual_seed(seed)
        paths.append(folder / f"{seed}.safetensors")
        checkpoint.save(paths[-1], "matchers", "dvsa", TwoTowerMatcher(Config(image, text)), {})
    return paths


@contextmanager
def database(kind: str, folder: Path) -> Iterator[str]:
    """The URL of a new database of a kind."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'catalog.sqlite'}"
        return
    with server() as running:
        if running is None:
            raise SystemExit("no PostgreSQL here: install Debian's package postgresql")
        with running.database() as url:
            yield url


def run(kind: str, count: int, folder: Path) -> Counter[str]:
    """Run rounds on a kind of database; returns counts."""
    paths = matchers(folder / "matchers")
    counts: Counter[str] = Counter()
    with database(kind, folder) as url:
        site = Site(folder, url, paths[0])
        rounds = Rounds(site, [Models.load(path, None, None) for path in paths])
        try:
            for number in range(count):
                name = random.choices([*SHARES], [*SHARES.values()])[0] if number else "writing"
                began = time.monotonic()
                report = rounds.kinds[name]()
                counts[name] += 1
                line = {"database": kind, "round": number + 1, "kind": name, **report}
                line["seconds"] = round(time.monotonic() - began, 1)
                print(json.dumps(line), flush=True)
        finally:
            if rounds.service is not None:
                rounds.service.kill()
    print(
        json.dumps({"database": kind, "rounds": counts, "acknowledged": rounds.ledger.acknowledged})
    )
    return counts


def main() -> None:
    """Kill and look, again and again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="of all databases together")
    parser.add_argument("--databases", nargs="+", default=["sqlite", "postgresql"])
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    random.seed(options.seed)
    torch.set_num_threads(1)
    for kind in options.databases:
        folder = Path(tempfile.mkdtemp(prefix=f"tessera-kills-{kind}-"))
        print(json.dumps({"database": kind, "folder": str(folder)}), flush=True)
        run(kind, options.rounds // len(options.databases), folder)


if __name__ == "__main__":
    main()
