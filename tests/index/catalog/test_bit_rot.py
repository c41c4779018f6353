"""Flipped bits: answers stay right, or the damage is named."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from index.backup.checks.everything import check
from index.catalog.catalog import Catalog
from index.catalog.pictures import name_of
from index.items import Picture
from index.search.index import Index
from index.search.requests import Request
from index.segments import follower_process as following
from index.segments.follower import Sizes
from index.segments.follower_process import Followers
from models.text.queries import Query

NAMED = (OSError, ValueError, LookupError)  # failures that say what is damaged
Answers = list[object]


@pytest.fixture
def folder(tmp_path, entry):
    """A killed process's folder of twelve items, three changed."""
    folder, query = tmp_path / "template", entry("q").bags[0]
    entries = [entry(f"item {n}", metadata={"n": n, "colour": "red"}, stamp="1") for n in range(15)]
    for number, one in enumerate(entries):
        jpeg = str(number).encode()
        object.__setattr__(one, "pictures", (Picture(jpeg, 4, 3, name_of(jpeg)),))
        object.__setattr__(one, "id", f"item {number % 12}")
    child = os.fork()
    if child == 0:
        try:
            catalog = Catalog.in_folder(folder)
            made = {"fingerprint": "m", "dimension": 8, "score": "sum_of_max"}
            collection = catalog.names.make("default", **made)
            catalog.put_many(collection, entries[:8])
            with catalog.reader.connect() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            for one in entries[8:]:
                catalog.replace(collection, one)
            follow = Followers(catalog, folder, Sizes(chunk=8, least=1, quiet=0.0, largest=8))
            while follow.step():
                pass
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    return folder, query


def answers(folder: Path, query: object) -> Answers:
    """All stored content, as shown and found; raises named damage."""
    with closing(Catalog.in_folder(folder)) as catalog:
        home = catalog.names.find("default")
        index = Index(catalog, home, folder / following.SEGMENTS)
        damaged: set[str] = set()
        told: Answers = []
        for side in ("images", "sentences"):
            answer = index.best(Request(side, Query.of(query), limit=50))
            damaged.update(answer.damaged)
            told += [(hit.item, hit.position, hit.score, hit.links) for hit in answer.hits]
        for item in catalog.list_items(home, damaged=damaged):
            entry = catalog.entry(home, item.id)
            told += [item, entry.pictures, [bag.vectors.tolist() for bag in entry.bags]]
        told += [item.id for item in catalog.list_items(home, where={"n": {"gte": 3}})]
        if damaged:
            raise OSError(f"{sorted(damaged)} are damaged")
        return told


def outcome(folder: Path, query: object, truth: Answers) -> str:
    """A damaged folder's outcome: right, refused, checked, or silent."""
    try:
        right = answers(folder, query) == truth
    except NAMED as named:
        return "refused" if str(named) else "silent"
    if right:
        return "right"
    with closing(Catalog.in_folder(folder)) as catalog:
        return "checked" if list(check(catalog, folder, lambda *_: None)) else "silent"


def flip(path: Path, chosen: random.Random) -> str:
    data = bytearray(path.read_bytes())
    place = chosen.randrange(len(data))
    data[place] ^= 1 << chosen.randrange(8)
    path.write_bytes(data)
    return f"{path.name} at {place}"


KINDS: dict[str, Callable[[Path], list[Path]]] = {
    "database": lambda folder: [folder / "catalog.sqlite"],
    "log": lambda folder: [folder / "catalog.sqlite-wal"],
    "segments": lambda folder: sorted((folder / "segments").rglob("*.npy")),
    "manifest": lambda folder: sorted((folder / "segments").rglob("manifest.json")),
    "mark": lambda folder: [folder / "catalog.sqlite-acknowledged"],
}
SEED = int(os.environ.get("FLIP_SEED", "7"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_no_flipped_bit_changes_answers_silently(folder, tmp_path, kind, count):
    template, query = folder
    shutil.copytree(template, tmp_path / "whole")
    truth = answers(tmp_path / "whole", query)
    chosen, outcomes = random.Random(f"{kind} {SEED}"), {}
    for number in range(count):
        copy = tmp_path / f"flip {number}"
        shutil.copytree(template, copy)
        place = flip(chosen.choice(KINDS[kind](copy)), chosen)
        outcomes[f"{number}: {place}"] = outcome(copy, query, truth)
        shutil.rmtree(copy)
    assert [place for place, came in outcomes.items() if came == "silent"] == []
    if kind == "log":
        assert "refused" in outcomes.values()
