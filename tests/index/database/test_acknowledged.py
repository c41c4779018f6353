"""Lost acknowledged commits are noticed, by a count outside SQLite."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from index.backup.snapshots import restore, snapshot
from index.catalog.catalog import Catalog
from index.catalog.ownership import ADOPTING, ForeignCatalog, OwnershipClaim
from index.database import acknowledged
from index.database.acknowledged import AcknowledgedLost, Mark, Marks
from index.database.engines import accept_loss
from index.database.errors import Damaged
from index.database.storage import Storage

NEW = {"fingerprint": "m", "dimension": 8, "score": "sum_of_max"}


def file_of(folder: Path) -> Path:
    return folder / "catalog.sqlite"


@pytest.fixture
def killed(tmp_path, entry):
    """A killed process's folder with ten puts in its log."""
    folder, entries = tmp_path / "killed", [entry(f"item {n}") for n in range(10)]
    child = os.fork()
    if child == 0:
        try:
            catalog = Catalog.in_folder(folder)
            collection = catalog.names.make("default", **NEW)
            for one in entries:
                catalog.replace(collection, one)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    return folder


def ids(catalog: Catalog) -> list[str]:
    return [item.id for item in catalog.list_items(catalog.names.find("default"))]


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 16
    path.write_bytes(data)


def test_killed_process_has_noted_all_that_it_acknowledged(killed):
    with closing(Catalog.in_folder(killed)) as catalog:
        assert len(ids(catalog)) == 10
    with closing(sqlite3.connect(file_of(killed))) as connection:
        query = "SELECT value FROM settings WHERE name = 'commits'"
        commits = int(connection.execute(query).fetchone()[0])
    mark = Marks(file_of(killed)).read()
    assert mark is not None
    assert mark.commits == commits == 13  # its tables, its name, the collection, and ten items


@pytest.mark.parametrize("share", [0.0, 0.001, 0.2, 0.5, 0.9, 0.999])
def test_damaged_log_of_a_killed_process_is_noticed_and_stays(killed, share):
    log = killed / "catalog.sqlite-wal"
    flip(log, int(share * log.stat().st_size))
    damaged = log.read_bytes()
    for _ in range(2):
        with pytest.raises(AcknowledgedLost, match=r"acknowledged changes of 13|gone or empty"):
            Catalog.in_folder(killed)
        assert log.read_bytes() == damaged
    acknowledged.accept(file_of(killed), 1.0)
    # Where its name is gone as well, the folder is taken over by the one that begins.
    with closing(Catalog(Storage(killed), claim=ADOPTING)) as catalog:
        home = catalog.names.make("default", **NEW)
        assert catalog.count(home) < 10
    assert (killed / "catalog.sqlite-wal-damaged").read_bytes() == damaged
    Catalog.in_folder(killed).close()


def test_loss_of_a_file_that_cannot_be_read_is_not_accepted(killed):
    noted = acknowledged.path_of(file_of(killed)).read_bytes()
    (killed / "catalog.sqlite-wal").unlink()
    file_of(killed).write_bytes(b"no database" * 1_000)
    accept_loss(Storage(killed))
    assert acknowledged.path_of(file_of(killed)).read_bytes() == noted
    with pytest.raises(Damaged, match=r"cannot be opened: .*file is not a database"):
        Catalog.in_folder(killed)


def test_missing_log_and_missing_file_are_noticed(killed):
    (killed / "catalog.sqlite-wal").unlink()
    with pytest.raises(AcknowledgedLost, match=r"check --accept-loss"):
        Catalog.in_folder(killed)
    file_of(killed).unlink()
    with pytest.raises(ForeignCatalog, match=r"no longer in .*: restore a snapshot"):
        Catalog.in_folder(killed)
    with pytest.raises(AcknowledgedLost, match=r"is gone or empty, and 13 changes"):
        Catalog(Storage(killed), claim=OwnershipClaim(origin=""))  # as a restore does
    assert not file_of(killed).exists()


def test_older_copy_of_the_file_and_another_catalog_are_noticed(tmp_path, entry):
    for name in ("a", "b"):
        with closing(Catalog.in_folder(tmp_path / name)) as catalog:
            home = catalog.names.make("default", **NEW)
            catalog.replace(home, entry("first"))
    shutil.copy(file_of(tmp_path / "a"), tmp_path / "copy")
    with closing(Catalog.in_folder(tmp_path / "a")) as catalog:
        catalog.replace(catalog.names.find("default"), entry("second"))
    shutil.copy(tmp_path / "copy", file_of(tmp_path / "a"))
    with pytest.raises(AcknowledgedLost, match=r"1 acknowledged changes of 5 are gone"):
        Catalog.in_folder(tmp_path / "a")
    shutil.copy(file_of(tmp_path / "b"), file_of(tmp_path / "a"))
    with pytest.raises(AcknowledgedLost, match=r"is another catalog"):
        Catalog.in_folder(tmp_path / "a")


def test_restore_goes_on_counting(tmp_path, entry):
    with closing(Catalog.in_folder(tmp_path / "a")) as catalog:
        catalog.replace(catalog.names.make("default", **NEW), entry("first"))
        snapshot(catalog, tmp_path / "a.tar", lambda *_: None)
        catalog.replace(catalog.names.find("default"), entry("second"))
        restore(catalog, tmp_path / "a.tar", tmp_path / "a", lambda *_: None, force=True)
        assert ids(catalog) == ["first"]
    with closing(Catalog.in_folder(tmp_path / "a")) as catalog:
        assert ids(catalog) == ["first"]


def test_what_changes_nothing_is_not_counted(tmp_path):
    with closing(Catalog.in_folder(tmp_path)) as catalog:
        catalog.names.make("default", **NEW)
        before = Marks(file_of(tmp_path)).read()
        catalog.names.make("default", **NEW)
        catalog.sweep()
        assert Marks(file_of(tmp_path)).read() == before


def test_higher_mark_stays_and_a_damaged_one_is_written_again(tmp_path):
    marks, catalog = Marks(tmp_path / "x"), b"c" * 16
    assert marks.read() is None
    for commits in (3, 2):
        marks.note(Mark(catalog, commits))
        assert marks.read() == Mark(catalog, 3)
    for damage in (b"", b"short", bytes(acknowledged.SIZE)):
        acknowledged.path_of(tmp_path / "x").write_bytes(damage)
        assert marks.read() is None
        marks.note(Mark(catalog, 2))
        assert marks.read() == Mark(catalog, 2)


def test_change_is_acknowledged_where_it_cannot_be_counted(tmp_path, entry, caplog):
    with closing(Catalog.in_folder(tmp_path)) as catalog:
        home = catalog.names.make("default", **NEW)
        acknowledged.path_of(file_of(tmp_path)).unlink()
        acknowledged.path_of(file_of(tmp_path)).mkdir()
        assert [catalog.replace(home, entry(item))[0] for item in "ab"] == [1, 2]
    assert caplog.text.count("cannot be counted") == 1
