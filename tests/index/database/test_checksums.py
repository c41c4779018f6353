"""Damaged rows are left out and named; sound ones have checksums."""

from __future__ import annotations

import pytest
from sqlalchemy import delete, select, update

from index.backup.snapshots import restore, snapshot
from index.catalog import edits as editing
from index.catalog.catalog import Catalog
from index.catalog.checksum_filling import lacks_checksums
from index.catalog.pictures import name_of
from index.catalog.read_rows import picture_rows
from index.database.checksums import ItemDamaged, checksums_of
from index.database.tables import bags, items, pictures
from index.documents.documents import Documents
from index.items import Picture
from index.listing.requests import ListRequest
from index.photos.search import PhotoList
from index.search.index import Index
from index.search.requests import Request
from index.segments.follower_process import Followers
from models.text.queries import Query

IDS = ["a", "b", "c"]


@pytest.fixture
def filled(catalog, collection, entry):
    made = [entry(item, photos=2, metadata={"n": n}) for n, item in enumerate(IDS)]
    for number, one in enumerate(made):
        jpeg = str(number).encode()
        object.__setattr__(one, "pictures", (Picture(jpeg, 4, 3, name_of(jpeg)),) * 2)
    catalog.put_many(collection, made)
    return catalog


def change(catalog, table, **values) -> None:
    """Change rows of item b as a disk would."""
    condition = table.c.revision == 2
    if table is bags:
        position = -2 if "vectors" in values or "details" in values else 1
        condition &= table.c.position == position
    with catalog.writer.begin() as connection:
        connection.execute(update(table).where(condition).values(**values))


ROWS = [
    (items, {"metadata": '{"n": 7}'}),
    (items, {"metadata": "{"}),
    (items, {"source": "elsewhere"}),
    (items, {"stamp": "0"}),
    (items, {"bucket": 3}),
    (items, {"checksums": b""}),
    (bags, {"text": "another"}),
    (pictures, {"width": 5}),
    (pictures, {"digest": "1" * 64}),
]
BAGS = [(bags, {"vectors": b"e" + b"\0" * 16}), (bags, {"details": b'["other"]\0' + b"\0" * 16})]


@pytest.mark.parametrize(("table", "values"), ROWS, ids=[next(iter(values)) for _, values in ROWS])
def test_damaged_item_is_refused_and_left_out(filled, collection, table, values):
    change(filled, table, **values)
    for read in (filled.get, filled.entry, filled.picture):
        with pytest.raises(ItemDamaged, match=r"'b' is damaged.*put it again, import its file"):
            read(collection, "b")
    assert filled.get(collection, "a").metadata == {"n": 0}
    damaged = set()
    assert list(filled.get_many(collection, IDS, damaged)) == ["a", "c"]
    assert damaged == {"b"}
    damaged = set()
    assert [one.id for one in filled.list_items(collection, damaged=damaged)] == ["a", "c"]
    assert damaged == {"b"}
    with filled.reading(collection) as view:
        read = view.items(0, 2)
    assert ([row.id for row in read.rows], read.damaged, read.reached) == (["a"], {2: "b"}, 2)


@pytest.mark.parametrize(("table", "values"), BAGS, ids=["vectors", "details"])
def test_damaged_bag_is_left_out_of_searches_and_named(
    filled, collection, entry, folder, table, values
):
    index = Index(filled, collection, folder / "segments")
    request = Request("images", Query.of(entry("q").bags[0]), limit=10)
    assert sorted(hit.item for hit in index.best(request).hits) == IDS
    change(filled, table, **values)
    answer = index.best(request)
    assert {(hit.item, hit.position) for hit in answer.hits} >= {("b", -1)}
    assert ("b", -2) not in {(hit.item, hit.position) for hit in answer.hits}
    assert answer.damaged == ("b",)
    with pytest.raises(ItemDamaged):
        filled.bag(collection, "b", 1)
    with pytest.raises(ItemDamaged):
        filled.entry(collection, "b")
    assert filled.bag(collection, "b", 0) is not None
    with filled.reading(collection) as view:
        rows, _ = view.bags(0, view.revision)
    assert (2, -2) not in {(row.revision, row.position) for row in rows}
    assert len(rows) == 3 * 4 - 1


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data"


def test_lost_bag_of_an_item_is_damage(filled, collection):
    with filled.writer.begin() as connection:
        connection.execute(delete(bags).where(bags.c.revision == 2, bags.c.position == 1))
    with pytest.raises(ItemDamaged):
        filled.get(collection, "b")


@pytest.mark.parametrize(("table", "values"), ROWS[:1] + BAGS, ids=["item", "vectors", "details"])
def test_patch_vouches_for_no_damage_and_a_put_mends_it(filled, collection, entry, table, values):
    change(filled, table, **values)
    with pytest.raises(ItemDamaged):
        editing.patch(filled, collection, "b", editing.Change({"n": 1}))
    filled.replace(collection, entry("b", metadata={"n": 1}))
    assert editing.patch(filled, collection, "b", editing.Change({"m": 2})).metadata == {
        "n": 1,
        "m": 2,
    }


def test_every_way_of_writing_leaves_checksums(filled, collection, entry):
    editing.patch(filled, collection, "a", editing.Change({"m": 2}))
    editing.patch(filled, collection, "b", editing.Change(photos=[1]))
    filled.replace(collection, entry("d", photos=0))
    assert unsound(filled) == []


def unsound(catalog) -> list[str]:
    """The items with other checksums than their rows'."""
    with catalog.reader.begin() as connection:
        wrong = []
        for row in connection.execute(select(items)).all():
            stored = connection.execute(
                select(bags).where(
                    bags.c.collection == row.collection, bags.c.revision == row.revision
                )
            )
            shown = picture_rows(connection, row.collection, [row.revision])[row.revision]
            rows = [bag._mapping for bag in stored]
            if row.checksums != checksums_of(row._mapping, shown, rows):
                wrong.append(row.id)
    return wrong


def test_rows_of_an_older_version_get_theirs_and_broken_ones_none(filled, collection, tmp_path):
    with filled.writer.begin() as connection:
        connection.execute(update(items).values(checksums=None))
        broken = bags.update().where(bags.c.revision == 2, bags.c.position == 0)
        connection.execute(broken.values(vectors=b"e123"))
    assert lacks_checksums(filled)
    assert [item.id for item in filled.list_items(collection)] == IDS
    following = Followers(filled, tmp_path / "data")
    for _ in range(20):
        following.step()
    assert unsound(filled) == ["b"]
    with filled.reader.begin() as connection:
        stored = connection.execute(select(items.c.checksums).where(items.c.revision == 2))
        assert stored.scalar() is None


def test_snapshot_keeps_checksums_and_what_they_say(filled, collection, tmp_path):
    change(filled, items, metadata='{"n": 7}')
    snapshot(filled, tmp_path / "a.tar", lambda *_: None)
    restored = Catalog.in_folder(tmp_path / "restored")
    restore(restored, tmp_path / "a.tar", tmp_path / "restored", lambda *_: None)
    home = restored.names.find("default")
    assert unsound(restored) == ["b"]
    with pytest.raises(ItemDamaged):
        restored.get(home, "b")
    restored.close()


def test_documents_name_a_damaged_item_until_it_is_put_again(filled, collection, entry, folder):
    change(filled, items, metadata="{")
    index = Index(filled, collection, folder / "segments")
    documents = index.documents.current()
    assert isinstance(documents, Documents)
    assert documents.revisions.tolist() == [1, 3]
    assert documents.damaged == {2: "b"}
    photos = PhotoList(index, Request("images", Query.of(entry("q").bags[0]), limit=10))
    assert photos.count(ListRequest()).damaged == {"b"}
    filled.put_many(collection, [entry("b")])
    documents = index.documents.current()
    assert documents.revisions[documents.live].tolist() == [1, 3, 4]
    assert documents.damaged == {}
