"""Segments changed on disk are noticed, dropped and rebuilt."""

from __future__ import annotations

import os
import subprocess
import sys
from threading import Event

import pytest

from index.disk import hold_lock
from index.search.index import Index
from index.search.requests import Request
from index.segments import follower_process as following
from index.segments import manifest
from index.segments import segment as segments
from index.segments.follower import Follower, Sizes
from index.segments.verification import LOCK, Verifier
from models.text.queries import Query

ALL = Sizes(chunk=128, least=1, quiet=0.0)


@pytest.fixture
def filled(catalog, collection, entry, tmp_path):
    catalog.put_many(collection, [entry(f"{n:02}", photos=4) for n in range(100)])
    directory = tmp_path / "data" / following.SEGMENTS / collection.token
    follower = Follower(catalog, collection, directory, ALL)
    while follower.step():
        pass
    return directory, follower


def published(directory):
    listed = manifest.read(directory, directory.name)
    return [directory / one.folder for one in listed.segments]


def verify(directory) -> None:
    Verifier(directory.parent, directory.parent / LOCK, 0.01).verify(Event())


def test_sound_segments_stay(filled):
    directory, _ = filled
    verify(directory)
    assert not any((folder / segments.BROKEN).exists() for folder in published(directory))


@pytest.mark.parametrize("name", ["images-codes.npy", "sentences-summaries.npy"])
def test_zeroed_block_is_found_and_rebuilt_while_searches_go_on(
    filled, catalog, collection, entry, name
):
    directory, follower = filled
    index = Index(catalog, collection, directory.parent)
    request = Request("images", Query.of(entry("q").bags[0]), limit=40)
    before = [(hit.item, hit.score) for hit in index.best(request).hits]
    (folder,) = published(directory)
    with (folder / name).open("r+b") as file:
        file.seek(-64, os.SEEK_END)
        file.write(bytes(64))
    verify(directory)
    assert (folder / segments.BROKEN).exists()
    assert [(hit.item, hit.score) for hit in index.best(request).hits] == before
    assert index.snapshot().published == ()  # all is read from the catalog meanwhile
    while follower.step():
        pass
    assert published(directory) != [folder]
    assert [(hit.item, hit.score) for hit in index.best(request).hits] == before
    assert len(index.snapshot().published) == 1


def test_missing_file_is_damage_unless_the_segment_was_merged_away(filled):
    directory, _ = filled
    (folder,) = published(directory)
    (folder / "images-codes.npy").unlink()
    verify(directory)
    assert (folder / segments.BROKEN).exists()


def test_one_process_a_data_folder_verifies(filled, monkeypatch):
    directory, _ = filled
    verifier, stopped = Verifier(directory.parent, directory.parent / LOCK, 0.01), Event()
    verified = []

    def verify(_stopped: Event) -> None:
        verified.append(True)
        stopped.set()

    monkeypatch.setattr(verifier, "verify", verify)
    monkeypatch.setattr("index.segments.verification.IDLE", 0.01)
    with hold_lock(directory.parent / LOCK) as alone:
        assert alone
        waiting = Event()
        monkeypatch.setattr(
            waiting, "wait", lambda _: bool(verified) or waits.append(1) or len(waits) > 3
        )
        waits = []
        verifier.run(waiting)
    assert verified == []
    verifier.run(stopped)
    assert verified == [True]


CUT = """
import os, sqlite3, sys
from contextlib import closing
from pathlib import Path
from index import page_faults
from index.segments import follower_process as following
from index.segments import manifest
from index.catalog.catalog import Catalog
from index.database.errors import Damaged
from index.search.requests import Request
from index.search.index import Index
from models.text.queries import Query

folder, name = Path(sys.argv[1]), sys.argv[2]
catalog = Catalog.in_folder(folder)
home = catalog.names.find("default")
assert page_faults.install()
index = Index(catalog, home, folder / following.SEGMENTS)
query = Query.of(catalog.entry(home, "00").bags[0])
request = Request("images", query, limit=40)
before = [(hit.item, hit.score) for hit in index.best(request).hits]
assert len(before) == 40
if name == "catalog.sqlite":
    with catalog.reader.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    os.truncate(folder / name, 8192)
    catalog.reader.dispose()
    try:
        catalog.list_items(home)
    except (Damaged, LookupError) as damaged:
        print(damaged)
else:
    directory = folder / following.SEGMENTS / home.token
    segment = manifest.read(directory, home.token).segments[0].folder
    os.truncate(directory / segment / name, 200)
    after = [(hit.item, hit.score) for hit in index.best(request).hits]
    assert after == before, (len(after), len(before))
    assert index.snapshot().published == ()
print("alive")
"""


@pytest.mark.system
@pytest.mark.parametrize("name", ["images-codes.npy", "catalog.sqlite"])
def test_file_that_is_cut_short_ends_no_process(filled, catalog, tmp_path, name):
    catalog.close()
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", CUT, str(tmp_path / "data"), name],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["alive"]), done.stderr
