"""A process killed at any step loses and tears nothing.

A child does some work and is killed with SIGKILL before its n-th step, for every n: a step is an
SQL statement, a commit, or a change of the picture store's folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch
from sqlalchemy import Engine, event, func, select

from index.catalog import catalog as catalogs
from index.catalog import garbage
from index.catalog.catalog import Catalog
from index.catalog.pictures import name_of
from index.catalog.reembedding import reembed
from index.database.tables import collections, pictures, retired_pictures
from index.items import Entry, Picture
from models.types import Box, FragmentBag, Span

WANTED = {"fingerprint": "model-b", "dimension": 3, "score": "sum_of_max"}
Work = Callable[[Catalog, Path], None]


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    monkeypatch.setattr(garbage, "BATCH", 2)
    monkeypatch.setattr(garbage, "ROWS", 2)
    monkeypatch.setattr(catalogs, "PAUSE", 0.0)


def made(item: str, version: int = 0, dimension: int = 2) -> Entry:
    jpeg = f"{item} {version}".encode()
    bag = FragmentBag(torch.full((1, dimension), float(version)), (Box(0, 0, 1, 1),), ("r",))
    sentence = FragmentBag(torch.full((1, dimension), float(version)), (Span(0, 1),), ("a",))
    shown = Picture(jpeg, 4, 3, name_of(jpeg))
    return Entry(item, {"version": version}, (shown,), (bag,), ("a",), (sentence,))


def embedded(entries):
    def embed_again(bag):
        return replace(bag, vectors=bag.vectors[:, :1].expand(-1, 3))

    return [
        replace(
            one,
            images=tuple(embed_again(bag) for bag in one.images),
            bags=(embed_again(one.bags[0]),),
        )
        for one in entries
    ]


def kill_at(step: int) -> None:
    """Kill this process before its next step but `step`."""
    counted = count()

    def tick(*_: object) -> None:
        if next(counted) >= step:
            os.kill(os.getpid(), signal.SIGKILL)
            threading.Event().wait()  # another thread of this process may be here first

    def ticking(function):
        def ticked(*arguments, **named):
            tick()
            return function(*arguments, **named)

        return ticked

    event.listen(Engine, "before_cursor_execute", tick)
    event.listen(Engine, "commit", tick)
    for owner, name in ((os, "fsync"), (shutil, "rmtree"), (Path, "rename"), (Path, "unlink")):
        setattr(owner, name, ticking(getattr(owner, name)))


@pytest.fixture
def folder(tmp_path):
    """A folder in memory if possible: kills lose no writes."""
    memory = Path("/dev/shm")  # noqa: S108 - the folder below has a name of its own
    if not memory.is_dir():
        yield tmp_path / "data"
        return
    with TemporaryDirectory(dir=memory) as made:
        yield Path(made) / "data"


def crash_everywhere(template: Path, folder: Path, work: Work, check: Work, every: int = 1) -> int:
    """Kill the work before its steps, and check the rest.

    Gives the step before which it had ended.
    """
    for step in count(0, every):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(template, folder)
        child = os.fork()
        if child == 0:
            try:
                kill_at(step)
                work(Catalog.in_folder(folder), folder)
                os._exit(0)
            except BaseException:  # noqa: BLE001 - nothing may come back into pytest
                traceback.print_exc()
                os._exit(1)
        _, status = os.waitpid(child, 0)
        assert status in (0, signal.SIGKILL), f"the work failed at step {step}"
        catalog = Catalog.in_folder(folder)
        check(catalog, folder)
        catalog.close()
        if status == 0:
            return step
    raise AssertionError


def whole(catalog: Catalog) -> dict[str, int]:
    """The version of each item, equal in all parts."""
    with catalog.reader.begin() as connection:
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
        assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
    collection = catalog.names.find("default")
    versions = {}
    for item in catalog.list_items(collection):
        entry = catalog.entry(collection, item.id)
        version = versions[item.id] = entry.metadata["version"]
        assert entry.pictures[0].jpeg == f"{item.id} {version}".encode()
        for bag in (entry.images[0], *entry.bags):
            assert bag.vectors.tolist() == [[version] * collection.dimension]
    with catalog.reading(collection) as view:
        assert len(view.revisions()) == len(versions)
        assert len(view.revisions()) == len(versions)
    return versions


def sweep(catalog: Catalog, segments: Path | None = None) -> None:
    """Sweep all garbage of any age and amount."""
    catalog.storage = replace(catalog.storage, sweep_after=0)
    catalog.sweep(segments, share=1.0)


def clean(catalog: Catalog) -> None:
    """Check the absence of garbage after a sweep."""
    with catalog.reader.begin() as connection:
        named = set(connection.execute(select(pictures.c.name)).scalars())
        named |= set(connection.execute(select(retired_pictures.c.name)).scalars())
        assert connection.execute(select(func.count()).select_from(collections)).scalar() == 1
    assert set(catalog.pictures.names()) == named


@pytest.fixture
def template(tmp_path) -> Path:
    """Six items after two replacements and a deletion."""
    catalog = Catalog.in_folder(tmp_path / "template")
    home = {"fingerprint": "model-a", "dimension": 2, "score": "sum_of_max"}
    collection = catalog.names.make("default", **home)
    catalog.put_many(collection, [made(item) for item in "abcdefg"])
    catalog.put_many(collection, [made("a", 1), made("b", 1)])
    catalog.delete(collection, "g")
    catalog.close()
    return tmp_path / "template"


BEFORE = dict.fromkeys("cdef", 0) | {"a": 1, "b": 1}


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_put_loses_nothing_it_acknowledged(template, folder, every):
    def work(catalog, folder):
        collection = catalog.names.find("default")
        for version in (2, 3):
            catalog.put_many(collection, [made(item, version) for item in "axy"])
            (folder / "acknowledged").write_text(str(version))

    def check(catalog, folder):
        note = folder / "acknowledged"
        acknowledged = int(note.read_text() or 0) if note.exists() else 0
        found = whole(catalog)
        versions = {found.pop(item, 1) for item in "axy"}
        assert len(versions) == 1
        assert versions.pop() in (max(acknowledged, 1), max(acknowledged, 1) + 1)
        assert found.items() <= BEFORE.items()
        sweep(catalog)
        clean(catalog)
        whole(catalog)

    assert crash_everywhere(template, folder, work, check, every) > 30


@pytest.mark.slow
def test_killed_purge_goes_on_later(template, folder, monkeypatch):
    monkeypatch.setattr(garbage, "SPARE", 0)

    def work(catalog, _folder):
        collection = catalog.names.find("default")
        catalog.purge(collection, catalog.revision(collection))

    def check(catalog, folder):
        assert whole(catalog) == BEFORE
        work(catalog, folder)
        clean(catalog)
        assert whole(catalog) == BEFORE
        assert len(list(catalog.pictures.names())) == 6

    assert crash_everywhere(template, folder, work, check) > 10


@pytest.mark.slow
def test_killed_reembedding_and_its_cleaning_up_go_on_later(template, folder):
    def work(catalog, folder):
        done = {"embed": embedded, "progress": lambda *_: None, "batch": 4}
        reembed(catalog, "default", **WANTED, **done)
        sweep(catalog, folder / "segments")

    def check(catalog, folder):
        assert whole(catalog) == BEFORE
        work(catalog, folder)
        clean(catalog)
        assert whole(catalog) == BEFORE
        collection = catalog.names.find("default")
        assert collection.dimension == 3
        assert catalog.replace(collection, made("z", 1, dimension=3))[0] > 6

    assert crash_everywhere(template, folder, work, check) > 40


@pytest.mark.slow
def test_killed_sweep_goes_on_later(template, folder):
    catalog = Catalog.in_folder(template)
    catalog.pictures.put({name_of(jpeg): jpeg for jpeg in (b"1", b"2", b"3", b"4", b"5")})
    (template / "pictures" / "partial" / "unfinished").write_bytes(b"")
    catalog.sweep_collections = lambda: None
    reembed(catalog, "default", **WANTED, embed=embedded, progress=lambda *_: None)
    catalog.close()
    (template / "segments" / ("0" * 32)).mkdir(parents=True)

    def work(catalog, folder):
        sweep(catalog, folder / "segments")

    def check(catalog, folder):
        assert whole(catalog) == BEFORE
        work(catalog, folder)
        clean(catalog)
        assert whole(catalog) == BEFORE
        assert list((folder / "segments").iterdir()) == []
        assert list((folder / "pictures" / "partial").iterdir()) == []

    assert crash_everywhere(template, folder, work, check) > 20
