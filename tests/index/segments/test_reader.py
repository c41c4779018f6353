"""Snapshots: the published and the newer, without a gap."""

import os
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import pytest

from index.catalog import garbage, reembedding
from index.items import ModelMismatch
from index.segments import reader as snapshot
from index.segments.reader import SegmentReader
from models.scores.scoring import SCORES


@pytest.fixture
def reader(catalog, collection, segments_folder):
    reader = SegmentReader(
        catalog, collection, segments_folder / collection.token, SCORES["sum_of_max"]
    )
    yield reader
    reader.close()


def revisions(now):
    """The revisions of the counting images."""
    sides = [part.sides["images"] for part in now.segments]
    return [int(one) for rows in sides for one in rows.revisions[rows.live]]


def spans(now):
    return [(part.span.after, part.span.until) for part in now.segments]


def unbroken(now):
    assert not spans(now) or spans(now)[0][0] == 0
    assert all(early[1] == late[0] for early, late in pairwise(spans(now)))
    return True


def until(condition, seconds=5.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
    return True


def test_new_items_are_a_tail_in_memory(catalog, collection, reader, entry):
    assert reader.current() == snapshot.SegmentChain()
    catalog.put_many(collection, [entry("a"), entry("b"), entry("a")])
    now = reader.current()
    assert (revisions(now), now.revision, now.behind, now.unpublished) == ([2, 3], 3, 0, 3)
    catalog.delete(collection, "b")
    assert revisions(reader.current()) == [3]
    assert revisions(now) == [2, 3]  # a search that began earlier is not disturbed


def test_tail_of_many_changes_has_few_segments(catalog, collection, reader, entry):
    for number in range(40):
        catalog.replace(collection, entry(f"{number:02}", sentences=1))
        assert unbroken(reader.current())
    assert revisions(reader.current()) == list(range(1, 41))
    assert len(reader.current().tail) <= 6


def test_what_is_published_takes_the_place_of_the_tail(catalog, collection, reader, follow, entry):
    for number in range(30):
        catalog.replace(collection, entry(f"{number:02}", sentences=1))
        reader.current()
        if number % 7 == 6:
            follow()
            catalog.delete(collection, f"{number:02}")
            assert unbroken(now := reader.current())
            assert (now.published[-1].span.until, len(now.tail)) == (now.revision - 1, 1)
    assert len(revisions(reader.current())) == 26


def test_reader_takes_steps_until_it_has_all(catalog, collection, reader, entry, monkeypatch):
    monkeypatch.setattr(snapshot, "STEP", 2)
    catalog.put_many(collection, [entry(f"{i}") for i in range(9)])
    assert revisions(reader.current()) == list(range(1, 10))


def test_started_reader_has_all_that_its_process_has_written(
    catalog, collection, reader, entry, monkeypatch
):
    monkeypatch.setattr(snapshot, "STEP", 2)
    monkeypatch.setattr(snapshot, "POLL", 60.0)  # its thread takes no part
    reader.start()
    catalog.put_many(collection, [entry(f"{i}") for i in range(9)])
    assert revisions(reader.current()) == list(range(1, 10))
    catalog.delete(collection, "3")
    assert 4 not in revisions(reader.current())


def test_reader_without_room_for_more_says_so_and_waits_for_the_follower(
    catalog, collection, reader, follow, entry, monkeypatch
):
    monkeypatch.setattr(snapshot, "STEP", 2)
    monkeypatch.setattr(snapshot, "LONGEST", 1)
    catalog.put_many(collection, [entry(f"{i}") for i in range(9)])
    now = reader.current()
    assert (now.revision, now.behind, revisions(now)) == (2, 7, [1, 2])
    catalog.delete(collection, "0")
    assert (reader.current().behind, revisions(reader.current())) == (8, [2])
    follow()
    assert (reader.current().behind, revisions(reader.current())) == (0, list(range(2, 10)))


def test_started_reader_follows_in_the_background(catalog, collection, reader, follow, entry):
    catalog.replace(collection, entry("a"))
    reader.start()
    reader.start()
    assert revisions(reader.latest) == [1]
    reader._catalog._acknowledged.clear()  # as if another process had written
    catalog.replace(collection, entry("b"))
    assert until(lambda: revisions(reader.latest) == [1, 2], seconds=1)
    follow()
    assert until(lambda: not reader.latest.tail, seconds=1)
    assert reader.latest.unpublished == 0


@pytest.mark.parametrize(("shared", "longest"), [(True, 0.04), (False, 0.01)])
def test_looks_at_a_quiet_catalog_grow_apart_where_searches_look_too(
    catalog, collection, reader, entry, monkeypatch, shared, longest
):
    monkeypatch.setattr(snapshot, "POLL", 0.01)
    monkeypatch.setattr(snapshot, "SELDOM", 0.04)
    monkeypatch.setattr(catalog, "storage", replace(catalog.storage, shared=shared))
    waits: list[float] = []
    wait = reader._stopped.wait
    monkeypatch.setattr(reader._stopped, "wait", lambda time: waits.append(time) or wait(time))
    reader.start()
    assert until(lambda: len(waits) >= 6)
    assert waits[:6] == [min(0.01 * 2**number, longest) for number in range(6)]
    catalog.replace(collection, entry("a"))
    assert until(lambda: 0.0 in waits), "where there is something new it looks again at once"
    assert reader.current().revision == 1


def test_started_reader_survives_a_catalog_that_fails(
    catalog, collection, reader, entry, monkeypatch, caplog
):
    reader.start()
    with monkeypatch.context() as patch:
        patch.setattr(catalog, "reading", lambda _: 1 / 0)
        assert until(lambda: "tries again" in caplog.text)
    reader._catalog._acknowledged.clear()
    catalog.replace(collection, entry("a"))
    assert until(lambda: revisions(reader.latest) == [1])


@pytest.mark.sqlite
def test_started_reader_notices_another_history_of_the_same_length(
    catalog, collection, reader, entry, tmp_path
):
    catalog.replace(collection, entry("a"))
    database, backup = catalog.reader.url.database, tmp_path / "backup.sqlite"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("VACUUM INTO ?", [str(backup)])
    catalog.replace(collection, entry("b"))
    reader.start()
    before = reader.current()
    with closing(sqlite3.connect(backup)) as old, closing(sqlite3.connect(database)) as new:
        old.backup(new)
    catalog.replace(collection, entry("c"))
    assert revisions(before) == [1, 2]
    # It may look before the other "2" is written, too.
    wanted = (before.histories + 1, [1, 2])
    assert until(lambda: (reader.latest.histories, revisions(reader.latest)) == wanted)


def test_reader_says_that_another_model_has_taken_over(catalog, collection, reader, entry):
    catalog.replace(collection, entry("a"))
    reader.start()
    reembedding.reembed(
        catalog,
        "default",
        fingerprint="model-b",
        dimension=8,
        score="sum_of_max",
        embed=lambda entries: entries,
        progress=lambda done, total: None,
    )
    assert until(lambda: not reader._thread.is_alive())
    with pytest.raises(ModelMismatch, match="another model has re-embedded it"):
        reader.current()
    reader.close()
    with pytest.raises(ModelMismatch):
        reader.current()


def test_reader_that_slept_through_a_purge_finds_out_what_is_gone(
    catalog, collection, reader, entry
):
    catalog.put_many(collection, [entry(f"{i}") for i in range(6)])
    reader.current()
    catalog.delete(collection, "2")
    catalog.replace(collection, entry("4"))
    catalog.purge(collection, catalog.revision(collection))
    assert revisions(reader.current()) == [1, 2, 4, 6, 8]


def test_published_segments_behind_the_floor_lose_what_is_gone(
    catalog, collection, segments_folder, reader, follow, entry
):
    catalog.put_many(collection, [entry(f"{i}") for i in range(6)])
    follow()
    marks = [catalog.revision(collection)]
    catalog.delete(collection, "2")
    catalog.purge(collection, catalog.revision(collection), marks)
    now = reader.current()
    assert len(now.published) == 1
    assert revisions(now) == [1, 2, 4, 5, 6]


def test_segments_without_their_mark_are_not_used(
    catalog, collection, reader, follow, entry, monkeypatch
):
    catalog.put_many(collection, [entry(f"{i}") for i in range(6)])
    follow()
    catalog.replace(collection, entry("6"))
    later = time.time() + garbage.KEPT + 1
    monkeypatch.setattr(garbage, "time", SimpleNamespace(time=lambda: later, sleep=time.sleep))
    catalog.purge(collection, catalog.revision(collection))  # forgets the mark
    now = reader.current()
    assert (len(now.published), revisions(now)) == (0, list(range(1, 8)))


def test_times_of_files_play_no_role(catalog, collection, segments_folder, reader, follow, entry):
    for round_ in range(4):
        catalog.put_many(collection, [entry(f"{round_} {i}") for i in range(5)])
        follow()
        when = time.time() + (10**8 if round_ % 2 else -(10**8))
        for path in segments_folder.rglob("*"):
            os.utime(path, (when, when))
        now = reader.current()
        assert (now.unpublished, len(revisions(now))) == (0, 5 * (round_ + 1))


@pytest.mark.sqlite
@pytest.mark.parametrize("later", [0, 4, 9])  # fewer, as many and more changes than vanished
def test_database_that_went_back_is_read_again(
    catalog, collection, reader, entry, follow, tmp_path, caplog, later
):
    catalog.put_many(collection, [entry(f"{i}") for i in range(6)])
    follow()
    backup = tmp_path / "backup.sqlite"
    with sqlite3.connect(tmp_path / "data" / "catalog.sqlite") as connection:
        connection.execute("VACUUM INTO ?", [str(backup)])
    connection.close()
    catalog.put_many(collection, [entry(f"vanishing {i}") for i in range(4)])
    follow()
    assert revisions(reader.current()) == list(range(1, 11))
    with (
        sqlite3.connect(backup) as old,
        closing(sqlite3.connect(catalog.reader.url.database)) as new,
    ):
        old.backup(new)  # under the reader's feet
    old.close()
    catalog.put_many(collection, [entry(f"later {i}") for i in range(later)])
    reader.publish()
    while reader.advance():
        pass
    now = reader.current()
    assert (revisions(now), now.revision) == (list(range(1, 7 + later)), 6 + later)
    assert unbroken(now)
    with catalog.reading(collection) as view:
        assert now.mark == view.mark(view.revision)
    assert "another" in caplog.text
