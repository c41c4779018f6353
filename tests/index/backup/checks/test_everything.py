from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from sqlalchemy import delete, insert, or_, select, update

from index.backup.checks.everything import check
from index.backup.checks.finding import CheckFinding
from index.backup.snapshots import STAGING
from index.catalog.pictures import name_of
from index.catalog.restating import Restatement, restate
from index.database import curation, deleted_photos, setting_rows, webhooks
from index.database.deleted_photos import DeletedPhoto
from index.database.tables import bags, changes, collections, facets, items, retired, settings
from index.database.webhook_rows import Webhook
from index.items import Picture
from index.segments import manifest
from index.segments import segment as segments
from models.scores.scoring import SCORES


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def filled(catalog, collection, entry, follow):
    """Ten items in segments; the last two share a picture."""
    for number in range(10):
        made = entry(f"item {number}", metadata={"n": number, "tags": ["a", "b"]})
        jpeg = str(number).encode()
        object.__setattr__(made, "pictures", (Picture(jpeg, 4, 3, name_of(jpeg)),))
        catalog.replace(collection, made)
    catalog.delete(collection, "item 9")
    follow()
    return catalog


def wrong(catalog, folder) -> list[tuple[str, str, str]]:
    return [(one.part, one.subject, one.problem) for one in findings(catalog, folder)]


def findings(catalog, folder) -> list[CheckFinding]:
    return list(check(catalog, folder, lambda *_: None))


def repaired(catalog, folder) -> bool:
    """Whether repairs mend all faults."""
    found = findings(catalog, folder)
    assert found
    for finding in found:
        assert finding.repair is not None, finding
        finding.repair()
    return wrong(catalog, folder) == []


def change(catalog, *statements) -> None:
    with catalog.writer.begin() as connection:
        connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        for statement in statements:
            connection.execute(statement)


def test_nothing_is_wrong_with_what_was_just_stored(filled, folder):
    stages = []
    assert list(check(filled, folder, lambda *step: stages.append(step))) == []
    assert stages[-1] == ("items of default", 9, 9)


DAMAGED = ['{"cut', "[5]", '{"no": "such"}', "null", '[{"text": 1}]']


@pytest.mark.parametrize("value", DAMAGED)
def test_damaged_settings_are_passed_over_named_and_deleted(filled, folder, collection, value):
    writer, reader = filled.writer, filled.reader
    curation.write(writer, collection, "synonyms", [["sofa", "couch"]])
    curation.write(writer, collection, "pins", [{"text": "sofa", "ids": ["item 1"]}])
    curation.write(writer, collection, "language", ["de"])
    photo = DeletedPhoto("a", "/a.jpg", "1-2", ("d",))
    hook = Webhook("h", "", "https://shop.example/a", ("import.finished",), "whsec_", 1.0)
    webhooks.add(writer, collection, hook)
    webhooks.enqueue(writer, collection, "import.finished", "m", "{}", 10.0)
    with writer.begin() as connection:
        deleted_photos.remember(connection, "default", photo)
    assert wrong(filled, folder) == []
    kinds = ("curation/", "webhooks/", "deliveries/", "deleted/")
    named = select(settings.c.name).where(or_(*map(setting_rows.begins, kinds)))
    with reader.begin() as connection:
        names = sorted(set(connection.execute(named).scalars()))
    names = [name for name in names if not name.endswith("/version")]
    change(
        filled, *(update(settings).where(settings.c.name == n).values(value=value) for n in names)
    )
    kinds_of_curation = ("synonyms", "pins", "language")
    assert [curation.read(reader, collection, kind) for kind in kinds_of_curation] == [[], [], []]
    assert webhooks.list_webhooks(reader, collection) == []
    assert webhooks.claim(writer, 20.0, 60.0) is None
    assert deleted_photos.list_deleted(reader, collection) == []
    found = [one for one in findings(filled, folder) if one.part == "settings"]
    assert sorted(one.subject for one in found) == names
    assert repaired(filled, folder)


WRONG_TYPES = [  # of a field of a row that is right otherwise
    (webhooks.HOOKS, "created", None),
    (webhooks.HOOKS, "events", "abc"),
    (webhooks.DELIVERIES, "due", None),
    (deleted_photos.PREFIX, "place", 5),
]


@pytest.mark.parametrize(("prefix", "field", "value"), WRONG_TYPES)
def test_fields_of_settings_have_their_types(filled, folder, collection, prefix, field, value):
    for number in range(2):
        hook = Webhook(f"h{number}", "", f"https://{number}.example", ("e",), "whsec_", 1.0)
        webhooks.add(filled.writer, collection, hook)
        photo = DeletedPhoto("a", f"/{number}.jpg", "1-2", ("d",))
        with filled.writer.begin() as connection:
            deleted_photos.remember(connection, "default", photo)
    webhooks.enqueue(filled.writer, collection, "e", "m", "{}", 10.0)
    with filled.writer.begin() as connection:
        chosen = select(settings).where(setting_rows.begins(prefix)).limit(1)
        name, text = connection.execute(chosen).one()
        setting_rows.put(connection, name, json.dumps(json.loads(text) | {field: value}))
    counts = {webhooks.HOOKS: 1, webhooks.DELIVERIES: 2, deleted_photos.PREFIX: 2}
    assert len(webhooks.list_webhooks(filled.reader, collection)) == counts[prefix]
    left = len(deleted_photos.list_deleted(filled.reader, collection))
    assert left == (1 if prefix == deleted_photos.PREFIX else 2)
    assert webhooks.has_due(filled.reader, 20.0)
    assert [(part, subject) for part, subject, _ in wrong(filled, folder)] == [("settings", name)]
    assert repaired(filled, folder)


def test_facets_that_disagree_with_metadata_are_rebuilt(filled, folder, collection):
    change(
        filled,
        delete(facets).where(facets.c.revision == 2, facets.c.value == '"a"'),
        update(facets).where(facets.c.revision == 3, facets.c.key == "n").values(value="99"),
    )
    agree = "filters do not agree with its metadata"
    assert wrong(filled, folder) == [
        ("items", "default/item 1", agree),
        ("items", "default/item 2", agree),
    ]
    assert repaired(filled, folder)
    found = filled.list_items(collection, where={"n": [1, 2], "tags": "a"})
    assert [item.id for item in found] == ["item 1", "item 2"]


def test_metadata_that_is_too_deep_is_stored_as_it_is_read(filled, folder, collection):
    deep = '{"n": 1, "tags": ["a", "b"], "x": ' + "[" * 980 + "]" * 980 + "}"
    change(filled, update(items).where(items.c.revision == 2).values(metadata=deep, checksums=None))
    problem = "its metadata is more than 50 deep; what is deeper is a text here"
    assert wrong(filled, folder) == [("items", "default/item 1", problem)]
    read = filled.get(collection, "item 1").metadata
    assert repaired(filled, folder)
    after = filled.get(collection, "item 1")
    assert (after.metadata, after.notes, len(after.photos)) == (read, (), 1)


def test_metadata_that_is_damaged_is_told(filled, folder):
    broken = {"metadata": '{"n": 1, "ta', "checksums": None}
    change(filled, update(items).where(items.c.revision == 2).values(**broken))
    ((_, subject, problem),) = wrong(filled, folder)
    assert subject == "default/item 1"
    assert problem.startswith("its metadata is broken (")
    assert problem.endswith("put it again")


def test_facets_of_an_item_that_is_gone_are_not_rebuilt(filled, folder, collection):
    change(filled, delete(facets).where(facets.c.revision == 2))
    finding = findings(filled, folder)[0]
    filled.delete(collection, "item 1")
    finding.repair()
    assert wrong(filled, folder) == []


def test_lost_and_damaged_pictures_are_told_by_item(filled, folder):
    names = {item: name_of(item[-1].encode()) for item in ("item 1", "item 2")}
    filled.pictures.delete([names["item 1"]])
    (folder / "pictures" / names["item 2"][:3] / f"{names['item 2']}.jpg").write_bytes(b"9")
    problem = "its picture is missing or damaged; put it again"
    assert wrong(filled, folder) == [
        ("pictures", f"default/{item}", problem) for item in ("item 1", "item 2")
    ]
    assert all(one.repair is None for one in findings(filled, folder))


def test_lost_pictures_of_imported_files_are_read_again_by_the_next_import(
    filled, folder, collection
):
    entry = filled.get_many(collection, ["item 1"])["item 1"]
    imported = Restatement(entry, "/photos/1.jpg", "12-34 rating=2e03a7", entry.metadata)
    assert restate(filled, collection, [imported], "default") == [True]
    filled.pictures.delete([name_of(b"1")])
    (finding,) = findings(filled, folder)
    problem = "its picture is missing or damaged"
    assert (finding.problem, finding.left) == (problem, "import /photos/1.jpg again")
    finding.repair()
    assert filled.stamps(collection, ["/photos/1.jpg"]) == {
        "/photos/1.jpg": "12-unread rating=2e03a7"
    }
    (told,) = findings(filled, folder)
    assert (told.problem, told.repair) == (problem + "; import /photos/1.jpg again", None)
    finding.repair()  # of an item that has changed since
    assert len(findings(filled, folder)) == 1


DAMAGES = [
    (items, {"metadata": '{"n": 7}'}),
    (bags, {"vectors": b"e" + b"\0" * 16}),
]


@pytest.mark.parametrize(("table", "values"), DAMAGES)
def test_damaged_items_of_imported_files_are_read_again_by_the_next_import(
    filled, folder, collection, table, values
):
    stamp = {"source": "/shop.csv#1", "stamp": "2e03a7"}
    entry = filled.get_many(collection, ["item 1"])["item 1"]
    imported = Restatement(entry, stamp["source"], stamp["stamp"], entry.metadata)
    assert restate(filled, collection, [imported], "default") == [True]
    revision = filled.get(collection, "item 1").revision
    change(filled, update(table).where(table.c.revision == revision).values(**values))
    before = [(one.part, one.subject) for one in findings(filled, folder)]
    first = findings(filled, folder)[0]
    assert first.left == "import /shop.csv#1 again"
    first.repair()
    assert filled.stamps(collection, [stamp["source"]]) == {stamp["source"]: "unread"}
    after = findings(filled, folder)
    assert [(one.part, one.subject) for one in after] == before  # nothing vouches for the damage
    assert after[0].problem.endswith("; import /shop.csv#1 again")
    first.repair()  # of an item that is marked already
    filled.delete(collection, "item 1") if table is bags else None
    first.repair()  # of an item that may be gone


@pytest.mark.parametrize("values", [{"id": "item one"}, {"stamp": b"\0\xff"}, {"source": b"\0"}])
def test_damage_that_no_import_can_mend_says_so(filled, folder, collection, values):
    entry = filled.get_many(collection, ["item 1"])["item 1"]
    assert restate(filled, collection, [Restatement(entry, "/a#1", "2e", {})], "default") == [True]
    revision = filled.get(collection, "item 1").revision
    change(filled, update(items).where(items.c.revision == revision).values(**values))
    first = findings(filled, folder)[0]
    assert first.repair is None
    assert first.problem.endswith(("; delete it, and put or import it again", "; put it again"))


def test_what_nothing_refers_to_is_deleted(filled, folder, collection):
    filled.pictures.put({name_of(jpeg): jpeg for jpeg in (b"x", b"y")})
    (folder / "segments" / ("0" * 32)).mkdir()
    filled.names.make("gone", fingerprint="m", dimension=8, score="sum_of_max")
    change(filled, update(collections).where(collections.c.name == "gone").values(name=None))
    assert "pictures" not in {part for part, _, _ in wrong(filled, folder)}, "not for a day"
    filled.storage = replace(filled.storage, sweep_after=0)
    assert [(part, problem) for part, _, problem in wrong(filled, folder)] == [
        ("pictures", "2 that no item has"),
        ("segments", "1 folders of no collection"),
        ("database", "1 replaced collections"),
    ]
    assert repaired(filled, folder)
    assert filled.count(collection) == 9


def test_interrupted_restore_is_told(filled, folder):
    (folder / STAGING).mkdir()
    assert wrong(filled, folder) == [
        ("database", STAGING, "a restore is running, or was interrupted: run it again")
    ]


@pytest.mark.parametrize("name", ["images-codes.npy", "sentences-revisions.npy"])
def test_segment_that_is_damaged_is_built_again(filled, folder, collection, name):
    directory = folder / "segments" / collection.token
    first = manifest.read(directory, collection.token).segments[0]
    file = directory / first.folder / name
    assert file.exists(), list(file.parent.iterdir())
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert wrong(filled, folder) == [
        ("segments", "default", f"segment {first.folder} is damaged or missing")
    ]
    assert repaired(filled, folder)


def test_segments_without_a_manifest_are_built_again(filled, folder, collection):
    (folder / "segments" / collection.token / manifest.NAME).write_text("{")
    assert repaired(filled, folder)


def test_segments_of_another_version_are_no_damage(filled, folder, monkeypatch):
    monkeypatch.setattr(manifest, "FORM", manifest.FORM + 1)
    assert wrong(filled, folder) == []


def test_segment_that_is_missing_is_built_again(filled, folder, collection):
    directory = folder / "segments" / collection.token
    first = manifest.read(directory, collection.token).segments[0].folder
    shutil.rmtree(directory / first)
    assert wrong(filled, folder) == [
        ("segments", "default", f"segment {first} is damaged or missing")
    ]
    assert repaired(filled, folder)


def test_segments_of_another_history_are_built_again(filled, folder, collection):
    change(filled, update(changes).values(mark="another"))
    assert "is of another history" in wrong(filled, folder)[0][2]
    assert repaired(filled, folder)


def test_segment_without_a_row_of_the_catalog_is_built_again(filled, folder, collection):
    """Its checksums are right: it was written so."""
    directory = folder / "segments" / collection.token
    listed = manifest.read(directory, collection.token).segments
    first = segments.map_folder(directory / listed[0].folder, listed[0].span, listed[0].sums)
    fewer = first.without(first.sides["images"].revisions[:1])
    written, sums = segments.write([fewer], directory, SCORES["sum_of_max"])
    replaced = manifest.Listed(written.name, listed[0].span, sums)
    manifest.publish(directory, manifest.Manifest(collection.token, (replaced, *listed[1:])))
    assert wrong(filled, folder) == [
        ("segments", "default", f"segment {written.name} has other rows than the catalog")
    ]
    first.hold.close()
    assert repaired(filled, folder)


def test_items_that_are_not_whole_are_told(filled, folder):
    change(
        filled,
        update(items).where(items.c.revision == 1).values(metadata="{"),
        update(bags).where(bags.c.revision == 2, bags.c.position == 0).values(vectors=b"e123"),
        delete(bags).where(bags.c.revision == 3, bags.c.position == -1),
        update(bags).where(bags.c.revision == 4, bags.c.position == 1).values(details=b"[]"),
        update(items).where(items.c.revision == 5).values(bucket=70_000),
    )
    found = [one for one in findings(filled, folder) if one.part == "items"]
    assert [one.subject for one in found] == [f"default/item {number}" for number in range(5)]
    parts = ["metadata", "bag 0 is broken", "has bags [0, 1]", "bag 1 is broken", "bucket"]
    assert all(part in one.problem for part, one in zip(parts, found, strict=True))
    assert not any(one.repair for one in found)


def test_numbers_that_contradict_each_other_are_told(filled, folder, collection):
    here = collections.c.key == collection.key
    change(
        filled,
        update(collections).where(here).values(revision=8),
        insert(retired).values(collection=collection.key, revision=4, was=2, id="item 1"),
    )
    problems = [problem for part, _, problem in wrong(filled, folder) if part == "revisions"]
    assert "it has change 11 and forgot up to 0, but ends at 8" in problems[0]
    assert "it counts as replaced or deleted and is there" in problems[1]


def test_row_that_belongs_to_nothing_is_told(filled, folder):
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as connection, connection:
        connection.execute("DELETE FROM items WHERE revision = 1")  # without foreign keys
    assert {(part, subject) for part, subject, _ in wrong(filled, folder)} == {
        ("database", "bags"),
        ("database", "facets"),
        ("database", "pictures"),
    }


def test_damaged_file_is_told_and_not_read_on(filled, folder):
    filled.close()
    file = folder / "catalog.sqlite"
    data = bytearray(file.read_bytes())
    for place in range(3 * 4096, len(data), 4096):
        data[place : place + 512] = b"\xff" * 512
    file.write_bytes(data)
    found = findings(filled, folder)
    assert found
    assert {one.part for one in found} == {"database"}
    assert all(one.problem.endswith("restore a snapshot") for one in found)
