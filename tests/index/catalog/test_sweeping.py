"""Sweeps delete old garbage, a small share, and report it."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import replace

import pytest

from index.catalog import sweeping
from index.catalog.catalog import Catalog
from index.catalog.pictures import name_of
from index.catalog.sweeping import NOTE, keep_pictures
from index.database.storage import Storage
from index.items import Picture

DAY = 86_400


@pytest.fixture(params=["folder", "s3"])
def catalog(request, tmp_path):
    """A catalog of forty pictures and three without an item."""
    pictures = request.getfixturevalue("bucket") if request.param == "s3" else ""
    catalog = Catalog(Storage(tmp_path / "data", pictures=pictures))
    yield catalog
    catalog.close()


@pytest.fixture
def home(catalog, entry):
    home = catalog.names.make("default", fingerprint="m", dimension=8, score="sum_of_max")
    catalog.put_many(
        home,
        [
            replace(entry(f"{i}"), pictures=(Picture(f"{i}".encode(), 4, 3, "0" * 64),))
            for i in range(40)
        ],
    )
    return home


@pytest.fixture
def garbage(catalog, home):
    return orphan(catalog, range(100, 103))


@pytest.fixture
def clock(monkeypatch):
    """Moves the time of sweeps on."""

    class Clock:
        now = int(time.time())

        def pass_(self, seconds):
            self.now += seconds

        def time(self):
            return self.now

        def sleep(self, _):
            pass

    clock = Clock()
    monkeypatch.setattr(sweeping, "time", clock)
    return clock


def orphan(catalog, numbers):
    named = {name_of(f"{i}".encode()): f"{i}".encode() for i in numbers}
    catalog.pictures.put(named)
    return set(named)


def names(catalog):
    return set(catalog.pictures.names())


def lines(caplog):
    """The lines of sweeps, among those of other threads."""
    return [record for record in caplog.records if record.name == "index.catalog.sweeping"]


def test_pictures_go_a_day_after_they_were_first_seen_unnamed(catalog, garbage, clock, caplog):
    caplog.set_level(logging.INFO)
    assert catalog.sweep().deleted == 0
    clock.pass_(DAY - 2)
    assert (catalog.sweep().deleted, len(names(catalog))) == (0, 43)
    later = orphan(catalog, [200])
    clock.pass_(2)
    assert catalog.sweep().deleted == 3
    assert names(catalog) & (garbage | later) == later
    (record,) = [one for one in lines(caplog) if "deleted" in one.message]
    assert (record.pictures, record.unnamed, record.deleted) == (44, 4, 3)
    clock.pass_(DAY)
    assert catalog.sweep().deleted == 1
    assert catalog.pictures.read_note(NOTE) == b""


def test_picture_that_an_item_has_again_starts_over(catalog, home, garbage, clock, entry):
    catalog.sweep()
    clock.pass_(DAY // 2)
    again = replace(entry("100"), pictures=(Picture(b"100", 4, 3, "0" * 64),))
    catalog.replace(home, again)
    catalog.sweep()
    with catalog.writer.begin() as connection:  # as if the database went back in time
        connection.exec_driver_sql("DELETE FROM items WHERE id = '100'")
    clock.pass_(DAY // 2 + 1)
    assert catalog.sweep().deleted == 2
    assert name_of(b"100") in names(catalog)


def test_old_pictures_that_are_unnamed_since_a_moment_stay(catalog, home, clock):
    catalog.sweep()
    clock.pass_(100 * DAY)
    with catalog.writer.begin() as connection:
        connection.exec_driver_sql("DELETE FROM items WHERE id IN ('1', '2')")
    assert catalog.sweep().deleted == 0
    assert len(names(catalog)) == 40


def test_large_share_is_kept_and_told(catalog, home, clock, caplog):
    caplog.set_level(logging.INFO, "index.catalog.sweeping")
    orphan(catalog, range(100, 105))
    catalog.sweep()
    assert [one.levelname for one in lines(caplog)] == ["INFO"], "it may be an import's"
    clock.pass_(DAY)
    found = catalog.sweep()
    assert (found.withheld, found.deleted, len(found.due)) == (True, 0, 5)
    last = lines(caplog)[-1]
    assert "5 of 45 pictures have no item" in last.message
    assert "tessera sweep --all" in last.message
    assert last.levelname == "WARNING"
    assert len(names(catalog)) == 45
    assert catalog.sweep(share=1.0).deleted == 5


def test_share_counts_what_is_new_as_well(catalog, garbage, clock):
    catalog.sweep()
    orphan(catalog, range(200, 210))
    clock.pass_(DAY)
    found = catalog.sweep()
    assert (len(found.due), found.withheld, found.deleted) == (3, True, 0)


def test_dry_run_changes_nothing(catalog, garbage, clock):
    for _ in range(2):
        found = catalog.preview_sweep()
        assert (found.pictures, found.unnamed, found.due) == (43, 3, ())
        clock.pass_(DAY)
    assert catalog.pictures.read_note(NOTE) is None
    catalog.sweep()
    clock.pass_(DAY)
    assert set(catalog.preview_sweep().due) == garbage
    assert len(names(catalog)) == 43


def test_nothing_goes_while_a_snapshot_is_made_nor_is_forgotten(catalog, garbage, clock):
    catalog.sweep()
    clock.pass_(DAY)
    with keep_pictures(catalog.reader):
        assert catalog.sweep().deleted == 0
    assert catalog.sweep().deleted == 3


def test_damaged_note_begins_to_count_again(catalog, garbage, clock):
    catalog.sweep()
    catalog.pictures.write_note(NOTE, b"\xff\n" + b"0" * 64 + b" soon\n")
    clock.pass_(DAY)
    assert catalog.sweep().deleted == 0
    clock.pass_(DAY)
    assert catalog.sweep().deleted == 3


def test_clock_that_went_back_deletes_nothing_too_early(catalog, garbage, clock):
    clock.pass_(1000 * DAY)
    catalog.sweep()
    clock.pass_(-1000 * DAY)
    catalog.sweep()
    clock.pass_(DAY - 2)
    assert catalog.sweep().deleted == 0


def test_partial_files_of_others_stay_for_a_day(tmp_path, entry):
    catalog = Catalog(Storage(tmp_path))
    old, new = (tmp_path / "pictures" / "partial" / name for name in ("old", "new"))
    for file in (old, new):
        file.write_bytes(b"jp")
    os.utime(old, (time.time() - DAY - 60,) * 2)
    assert catalog.sweep().partial == 1
    assert (old.exists(), new.exists()) == (False, True)
    catalog.close()
