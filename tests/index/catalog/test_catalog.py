import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from sqlalchemy import event, select

from index.catalog.catalog import Catalog
from index.conditions import Equals
from index.database.tables import items
from index.items import ModelMismatch, NoSpace, PhotoInfo, Picture, bucket_of


def test_item_comes_back_whole(catalog, collection, entry):
    given = entry("a", metadata={"n": [1, {"x": None}]}, source="/photos/a.jpg", stamp="12 34")
    catalog.replace(collection, given)
    back = catalog.entry(collection, "a")
    assert (back.metadata, back.source, back.stamp) == (given.metadata, "/photos/a.jpg", "12 34")
    assert (back.pictures[0], back.sentences) == (given.pictures[0], given.sentences)
    for one, other in zip(
        (back.images[0], *back.bags), (given.images[0], *given.bags), strict=True
    ):
        assert torch.equal(one.vectors, other.vectors.half().float())
        assert one.labels == other.labels


def test_item_is_described_without_its_picture(catalog, collection, entry):
    revision = catalog.replace(collection, entry("a", metadata={"k": 1}))[0]
    item = catalog.get(collection, "a")
    assert (item.id, item.revision, item.metadata) == ("a", revision, {"k": 1})
    assert item.sentences == ("sentence 0 of a", "sentence 1 of a")
    assert item.photos == (PhotoInfo(4, 3, "0" * 64),)


def test_put_replaces_everything_the_id_had(catalog, collection, entry):
    catalog.replace(collection, entry("a", sentences=3, metadata={"old": 1}))
    catalog.replace(collection, entry("a", sentences=1, photos=0, metadata={"new": 1}))
    assert catalog.get(collection, "a").sentences == ("sentence 0 of a",)
    assert catalog.list_items(collection, where={"old": 1}) == []
    assert catalog.count(collection) == 1
    with pytest.raises(LookupError, match="no picture"):
        catalog.picture(collection, "a")


def test_picture_comes_back_byte_for_byte(catalog, collection, entry):
    catalog.replace(collection, entry("a"))
    assert catalog.picture(collection, "a") == Picture(b"jpeg", 4, 3, "0" * 64)


def test_every_change_has_a_higher_revision(catalog, collection, entry):
    changes = [
        catalog.replace(collection, entry("a"))[0],
        *catalog.put_many(collection, [entry("b"), entry("a")]),
        catalog.delete(collection, "b"),
        catalog.replace(collection, entry("b"))[0],
    ]
    assert changes == sorted(set(changes))
    with catalog.reading(collection) as view:
        assert view.revision == changes[-1]
        assert view.revisions().tolist() == [changes[2], changes[4]]
        assert sorted(view.list_retired(0)) == changes[:2]


def test_last_of_equal_ids_in_a_batch_is_stored(catalog, collection, entry):
    catalog.replace(collection, entry("a", metadata={"n": 0}))
    entries = [entry(name, metadata={"n": n}) for n, name in enumerate("aba", start=1)]
    assert catalog.put_many(collection, [*entries, entry("a", metadata={"n": 4})]) == [2, 3, 4, 5]
    assert {item.id: item.metadata for item in catalog.list_items(collection)} == {
        "a": {"n": 4},
        "b": {"n": 2},
    }
    with catalog.reading(collection) as view:
        assert view.revisions().tolist() == [3, 5]
        assert sorted(view.list_retired(0)) == [1, 2, 4]


def test_view_knows_who_carries_a_value_and_reads_bags_by_the_chunk(catalog, collection, entry):
    catalog.replace(collection, entry("old"))
    catalog.put_many(collection, [entry("a", metadata={"k": [2, 1.0], "d": {}}), entry("b")])
    catalog.replace(collection, entry("c", metadata={"k": 2}))
    with catalog.reading(collection) as view:
        assert view.carrying(Equals("k", ("2",)), after=0).tolist() == [2, 4]
        assert view.carrying(Equals("k", ("2",)), after=2).tolist() == [4]
        assert view.carrying(Equals("k", ("3",)), after=0).tolist() == []
        bags, reached = view.bags(3, 4)
        assert [(row.revision, row.position) for row in bags] == [(4, -1), (4, 0), (4, 1)]
        assert reached == 4
        bags, reached = view.bags(0, 4, size=1)
        assert ({row.revision for row in bags}, len(bags), reached) == ({1}, 3, 1)


def test_many_bags_are_read_as_of_one_moment_while_others_write(catalog, collection, entry):
    catalog.put_many(collection, [entry(f"{i}", sentences=3) for i in range(200)])
    with catalog.reading(collection) as view:
        catalog.replace(collection, entry("0"))
        bags, reached = view.bags(0, view.revision)
    assert (len(bags), reached) == (800, 200)


def test_every_transaction_has_one_mark_and_the_next_one_proves_it(catalog, collection, entry):
    catalog.put_many(collection, [entry("a"), entry("b")])
    catalog.delete(collection, "a")
    with catalog.reading(collection) as view:
        marks = [view.mark(revision) for revision in range(5)]
    assert marks[0] == marks[1] == marks[2] != marks[3]
    assert len(marks[2]) == 32
    assert marks[4] is None


@pytest.mark.sqlite
def test_restored_backup_has_other_marks_from_there_on(catalog, collection, entry, tmp_path):
    catalog.replace(collection, entry("a"))
    catalog.close()
    shutil.copytree(tmp_path / "data", tmp_path / "backup")
    marks = []
    for folder in ("data", "backup"):
        one = Catalog.in_folder(tmp_path / folder)
        one.replace(one.names.find("default"), entry("b"))
        with one.reading(one.names.find("default")) as view:
            marks.append([view.mark(revision) for revision in (1, 2)])
        one.close()
    assert marks[0][0] == marks[1][0]
    assert marks[0][1] != marks[1][1]


def test_revisions_are_known_without_a_view(catalog, collection, entry):
    assert catalog.revision(collection) == catalog.read_acknowledged(collection) == 0
    catalog.put_many(collection, [entry("a"), entry("b")])
    assert catalog.revision(collection) == catalog.read_acknowledged(collection) == 2
    catalog.delete(collection, "a")
    assert catalog.revision(collection) == catalog.read_acknowledged(collection) == 3
    other = Catalog(catalog.storage)
    assert (other.revision(collection), other.read_acknowledged(collection)) == (3, 0)
    other.close()


def test_bulk_put_takes_as_many_statements_for_many_entries_as_for_one(catalog, collection, entry):
    statements = []
    event.listen(catalog.writer, "before_cursor_execute", lambda *call: statements.append(call[2]))
    counts = []
    for size in (1, 100):
        statements.clear()
        entries = [entry(f"{size} {i}", metadata={"n": i}) for i in range(size)]
        catalog.put_many(collection, entries)
        counts.append(len(statements))
    assert 5 < counts[0] == counts[1] < 16


def test_many_items_are_found_by_id_in_one_go(catalog, collection, entry):
    catalog.put_many(collection, [entry(f"{i}", sentences=1, photos=0) for i in range(1200)])
    wanted = [f"{i}" for i in range(1200)]
    assert len(catalog.get_many(collection, wanted)) == 1200
    with catalog.reader.begin() as connection:
        buckets = set(connection.execute(select(items.c.bucket)).scalars())
    assert buckets == {bucket_of(item) for item in wanted}
    assert len(buckets) > 1150
    assert max(buckets) < 65_536


def test_deleted_item_is_unknown(catalog, collection, entry):
    catalog.replace(collection, entry("a"))
    catalog.delete(collection, "a")
    for ask in (catalog.get, catalog.entry, catalog.picture, catalog.delete):
        with pytest.raises(LookupError, match="no item 'a' in collection 'default'"):
            ask(collection, "a")
    assert catalog.get_many(collection, ["a"]) == {}


def test_failed_delete_is_no_change(catalog, collection):
    with pytest.raises(LookupError):
        catalog.delete(collection, "a")
    with catalog.reading(collection) as view:
        assert view.revision == 0


def test_one_bad_item_keeps_the_whole_batch_out(catalog, collection, entry, image_bag):
    wrong = entry("b", sentences=0)
    object.__setattr__(wrong, "images", (image_bag(2, dimension=5),))
    with pytest.raises(ValueError, match=r"vectors of 5 numbers.*holds vectors of 8"):
        catalog.put_many(collection, [entry("a"), wrong])
    assert catalog.count(collection) == 0


def test_items_are_listed_page_by_page_in_the_order_of_their_ids(catalog, collection, entry):
    ids = ["B", "a", "a/1", "ä", "z", "日本"]
    catalog.put_many(collection, [entry(item, sentences=1) for item in reversed(ids)])
    listed, after = [], ""
    while page := catalog.list_items(collection, after=after, limit=4):
        listed += [item.id for item in page]
        after = listed[-1]
    assert listed == sorted(ids)


def test_stamps_say_what_an_import_may_skip(catalog, collection, entry):
    catalog.replace(collection, entry("a", source="a.jpg", stamp="1"))
    catalog.replace(collection, entry("b"))
    assert catalog.stamps(collection, ["a.jpg", "b.jpg"]) == {"a.jpg": "1"}


def test_collections_keep_apart(catalog, collection, entry):
    other = catalog.names.make("b", fingerprint="model-b", dimension=8, score="sum_of_max")
    catalog.replace(collection, entry("a"))
    assert catalog.count(other) == 0
    assert [one.name for one in catalog.names.all()] == ["b", "default"]
    assert catalog.names.find("b") == other


def test_unknown_collection_is_answered_with_the_known_ones(catalog, collection):
    with pytest.raises(LookupError, match="no collection 'x'; there are: default"):
        catalog.names.find("x")


def test_another_model_is_refused_and_told_the_way_out(catalog, collection):
    with pytest.raises(ModelMismatch, match=r"model-a.*model-b.*tessera index --reembed"):
        catalog.names.make("default", fingerprint="model-b", dimension=8, score="sum_of_max")


def test_many_threads_write_and_nothing_is_lost(catalog, collection, entry):
    entries = [entry(f"{i}", sentences=1) for i in range(40)]
    with ThreadPoolExecutor(8) as pool:
        revisions = list(pool.map(lambda one: catalog.replace(collection, one)[0], entries))
    assert sorted(revisions) == list(range(1, 41))
    assert catalog.count(collection) == 40


WRITER = """
import sys, torch
from pathlib import Path
from index.catalog.catalog import Catalog
from index.conditions import Equals
from index.items import NoSpace, Entry, Picture
from models.types import Box, FragmentBag, Span

catalog = Catalog.in_folder(Path(sys.argv[1]))
collection = catalog.names.make("default", fingerprint="m", dimension=2, score="sum_of_max")
bag = FragmentBag(torch.ones(1, 2), (Span(0, 1),), ("a",))
image = FragmentBag(torch.ones(1, 2), (Box(0, 0, 1, 1),), ("a",))
for number in range(int(sys.argv[3])):
    item = f"{sys.argv[2]}{number}"
    picture = Picture(item.encode() * 10_000, 4, 3, "0" * 64)
    catalog.replace(collection, Entry(item, {}, (picture,), (image,), ("a",), (bag,)))
    print(item, flush=True)
"""


def write(folder, name, count):
    return subprocess.Popen(  # noqa: S603 - our own lines above
        [sys.executable, "-c", WRITER, str(folder), name, str(count)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def stored(folder):
    catalog = Catalog.in_folder(folder)
    collection = catalog.names.find("default")
    found = {item.id for item in catalog.list_items(collection, limit=10**6)}
    for item in found:
        entry = catalog.entry(collection, item)
        assert entry.bags[0].vectors.tolist() == [[1.0, 1.0]]
        assert entry.pictures[0].jpeg == item.encode() * 10_000
    catalog.close()
    return found


@pytest.mark.system
def test_killed_writer_loses_nothing_it_acknowledged(tmp_path):
    with write(tmp_path, "a", 10**6) as process:
        acknowledged = [process.stdout.readline().strip() for _ in range(30)]
        process.send_signal(signal.SIGKILL)
        acknowledged += process.stdout.read().split()
    assert set(acknowledged) <= stored(tmp_path)
    assert len(stored(tmp_path)) <= len(acknowledged) + 1  # one may be stored but not yet told


@pytest.mark.system
def test_processes_that_start_at_once_all_write(tmp_path):
    writers = [write(tmp_path, name, 20) for name in "ab"]
    for process in writers:
        _, _ = process.communicate(timeout=60)
        assert process.returncode == 0
    assert stored(tmp_path) == {f"{name}{i}" for name in "ab" for i in range(20)}


@pytest.mark.sqlite
def test_full_disk_stores_nothing_and_says_so(catalog, collection, entry):
    catalog.replace(collection, entry("before"))
    room = {"pages": 60}

    def limit(connection):
        connection.exec_driver_sql(f"PRAGMA max_page_count = {room['pages']}")

    event.listen(catalog.writer, "begin", limit)
    with pytest.raises(NoSpace, match="make room"):
        catalog.put_many(collection, [entry(f"{i}", sentences=9) for i in range(300)])
    assert [one.id for one in catalog.list_items(collection)] == ["before"]
    room["pages"] = 10**6
    catalog.replace(collection, entry("after"))
    assert catalog.count(collection) == 2
