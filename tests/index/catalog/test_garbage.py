"""Unused pictures are deleted, a little at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import event, func, select

from index.catalog import catalog as catalogs
from index.catalog import garbage, sweeping
from index.catalog.pictures import name_of
from index.catalog.reembedding import reembed
from index.database.tables import changes, collections, items, retired
from index.items import Picture, Replaced


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    monkeypatch.setattr(garbage, "BATCH", 3)
    monkeypatch.setattr(garbage, "ROWS", 2)
    monkeypatch.setattr(sweeping, "BATCH", 3)
    monkeypatch.setattr(catalogs, "PAUSE", 0.0)


def rows(catalog, table):
    with catalog.reader.begin() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def shown(entry, jpeg):
    return replace(entry, pictures=(Picture(jpeg, 4, 3, "0" * 64),))


@pytest.fixture
def changed(catalog, collection, entry):
    """Revisions 1 to 6 put, 7 to 9 replace three of them, 10 deletes one."""
    for number in range(6):
        catalog.replace(collection, shown(entry(f"{number}"), b"old"))
    for number in range(3):
        catalog.replace(collection, shown(entry(f"{number}"), f"new {number}".encode()))
    catalog.delete(collection, "0")
    return catalog


def test_purge_forgets_retirements_and_says_so(changed, collection):
    with changed.reading(collection) as view:
        before = view.revisions().tolist()
        assert (view.floor, sorted(view.list_retired(0))) == (0, [1, 2, 3, 7])
    assert changed.purge(collection, 8) == 8
    with changed.reading(collection) as view:
        assert view.floor == 8
        assert view.revisions().tolist() == before
        assert view.list_retired(8).tolist() == [3, 7]
        with pytest.raises(ValueError, match=r"up to revision 8 were forgotten.*use revisions"):
            view.list_retired(7)
    assert changed.purge(collection, 3) == 8  # what was forgotten stays so
    assert changed.purge(collection, 99) == 10
    assert rows(changed, retired) == 0


def test_picture_goes_with_the_last_row_that_names_it(changed, collection):
    def left():
        return {name for name in (b"old", b"new 0", b"new 1") if name_of(name) in names()}

    def names():
        return set(changed.pictures.names())

    changed.sweep()
    assert left() == {b"old", b"new 0", b"new 1"}  # a reader may not have passed revision 10 yet
    changed.purge(collection, 10)
    assert left() == {b"old", b"new 1"}
    for item in "345":
        changed.delete(collection, item)
    changed.purge(collection, 12)
    assert left() == {b"old", b"new 1"}
    changed.purge(collection, 13)
    assert left() == {b"new 1"}


def test_marks_that_segments_prove_themselves_by_are_kept(changed, collection):
    with changed.reading(collection) as view:
        marks = {revision: view.mark(revision) for revision in range(1, 11)}
        assert len(set(marks.values())) == 10
        assert view.mark(11) is None
    changed.purge(collection, 8, marks=[2, 5])
    with changed.reading(collection) as view:
        for revision in (2, 5, 8, 9, 10):
            assert view.mark(revision) == marks[revision]
        assert view.mark(4) == marks[5]
    assert rows(changed, changes) == 5


@pytest.mark.sqlite
def test_deleted_space_goes_back_to_the_disk(catalog, collection, entry, monkeypatch):
    monkeypatch.setattr(garbage, "PAGES", 3)
    monkeypatch.setattr(garbage, "SPARE", 5)
    catalog.put_many(collection, [entry(f"{i}", sentences=5) for i in range(200)])
    for number in range(200):
        catalog.delete(collection, f"{number}")

    def pages(name):
        with catalog.reader.begin() as connection:
            return connection.exec_driver_sql(f"PRAGMA {name}").scalar()

    before = pages("page_count")
    catalog._collector().give_back()
    assert pages("freelist_count") == 5
    assert pages("page_count") < before - 20
    assert pages("integrity_check") == "ok"


def test_purge_waits_for_a_reembedding(changed, collection):
    wanted = {"fingerprint": "b", "dimension": 8, "score": "sum_of_max"}

    def interrupted(entries):
        if changed.count(collection) < 5:
            raise KeyboardInterrupt
        changed.delete(collection, entries[0].id)
        return entries

    with pytest.raises(KeyboardInterrupt):
        reembed(changed, "default", **wanted, embed=interrupted, progress=lambda *_: None, batch=2)
    # Items 3 and 4, revisions 4 and 5, were copied.
    assert changed.purge(collection, 10) == 5
    new = reembed(
        changed, "default", **wanted, embed=lambda them: them, progress=lambda *_: None, batch=2
    )
    assert sorted(one.id for one in changed.list_items(new)) == ["1", "2", "4", "5"]


def test_replaced_collection_reads_as_gone_and_goes_in_small_transactions(
    changed, collection, tmp_path, monkeypatch
):
    segments = tmp_path / "segments"
    monkeypatch.setattr(changed, "sweep_collections", lambda: None)  # as if it was interrupted
    new = reembed(
        changed,
        "default",
        fingerprint="b",
        dimension=8,
        score="sum_of_max",
        embed=lambda them: them,
        progress=lambda *_: None,
    )
    for token in (collection.token, new.token, "notes"):
        (segments / token / "deep").mkdir(parents=True)
    assert changed.count(collection) == 0
    with pytest.raises(Replaced):
        changed.list_items(collection)
    assert (rows(changed, collections), rows(changed, items)) == (2, 10)
    monkeypatch.undo()
    monkeypatch.setattr(garbage, "BATCH", 3)
    monkeypatch.setattr(catalogs, "PAUSE", 0.0)
    commits = []
    event.listen(changed.exclusive, "commit", lambda connection: commits.append(connection))
    changed.sweep(segments)
    assert len(commits) > 3
    assert (rows(changed, collections), rows(changed, items)) == (1, 5)
    assert {path.name for path in segments.iterdir()} == {new.token, "notes"}
    assert all(changed.picture(new, f"{number}").jpeg for number in range(1, 6))
    assert len(list(changed.pictures.names())) == 3


def test_sweep_deletes_pictures_that_no_row_names(changed, collection):
    orphans = [f"orphan {number}".encode() for number in range(7)]
    changed.pictures.put({name_of(jpeg): jpeg for jpeg in orphans})
    before = set(changed.pictures.names()) - set(map(name_of, orphans))
    assert changed.sweep().deleted == 0
    changed.storage = replace(changed.storage, sweep_after=0)
    changed.sweep(share=1.0)
    assert set(changed.pictures.names()) == before
