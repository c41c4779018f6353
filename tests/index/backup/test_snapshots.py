from __future__ import annotations

import dataclasses
import json
import os
import signal
import sqlite3
import subprocess
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import select

from index.backup import archive as archives
from index.backup import snapshots as backup
from index.backup.archive import NotWhole
from index.backup.snapshot_folder import Snapshots
from index.backup.snapshots import InProgress, NotEmpty, restore, snapshot
from index.backup.tar_members import Member, Members
from index.catalog.catalog import Catalog
from index.catalog.pictures import name_of
from index.catalog.reembedding import reembed
from index.database import deleted_photos
from index.database.deleted_photos import DeletedPhoto
from index.database.storage import Storage
from index.database.tables import pictures
from index.items import Entry, Item, ModelMismatch, Picture
from index.search.index import Index
from index.search.requests import Request
from models.text.queries import Query


def quiet(*_: object) -> None:
    pass


@pytest.fixture
def shown(entry):
    """An item with a picture of its own."""

    def make(item: str, version: int = 0, **fields) -> Entry:
        made = entry(item, metadata={"version": version}, **fields)
        jpeg = f"{item} {version}".encode()
        object.__setattr__(made, "pictures", (Picture(jpeg, 4, 3, name_of(jpeg)),))
        return made

    return make


@pytest.fixture
def filled(catalog, collection, shown):
    """Twelve items after a replacement and a deletion; another collection."""
    catalog.put_many(collection, [shown(f"item {number}") for number in range(12)])
    catalog.replace(collection, shown("item 3", 1))
    catalog.delete(collection, "item 5")
    other = catalog.names.make("other", fingerprint="model-b", dimension=8, score="sum_of_max")
    catalog.replace(other, shown("alone", sentences=1))
    return catalog


@pytest.fixture
def archive(filled, tmp_path) -> Path:
    snapshot(filled, tmp_path / "backup.tar", quiet)
    return tmp_path / "backup.tar"


@pytest.fixture
def fresh(tmp_path):
    with closing(Catalog.in_folder(tmp_path / "fresh")) as made:
        yield made


def contents(catalog: Catalog) -> dict[str, dict[str, tuple[Item, Picture]]]:
    """All stored content, by collection and id."""
    return {
        home.name: {
            item.id: (item, catalog.picture(home, item.id))
            for item in catalog.list_items(home, limit=10**6)
        }
        for home in catalog.names.all()
    }


def test_restored_catalog_holds_what_the_other_held(filled, archive, fresh, tmp_path):
    outcome = restore(fresh, archive, tmp_path / "fresh", quiet)
    assert contents(fresh) == contents(filled)
    assert outcome.head.items == 12
    assert [(one.name, one.items) for one in outcome.head.collections] == [
        ("default", 11),
        ("other", 1),
    ]
    assert outcome.lost == frozenset()
    assert not (tmp_path / "fresh" / backup.STAGING).exists()


def test_deletions_of_photos_are_those_of_the_snapshot(filled, collection, fresh, tmp_path):
    kept, other = (DeletedPhoto(name, f"/photos/{name}", "1", ("a",)) for name in "xy")
    with filled.writer.begin() as connection:
        deleted_photos.remember(connection, collection.name, kept)
    snapshot(filled, tmp_path / "backup.tar", quiet)
    with fresh.writer.begin() as connection:
        deleted_photos.remember(connection, collection.name, other)
    restore(fresh, tmp_path / "backup.tar", tmp_path, quiet, force=True)
    home = fresh.names.find(collection.name)
    assert deleted_photos.list_deleted(fresh.reader, home) == [kept]


def test_restored_catalog_answers_as_before(filled, archive, fresh, tmp_path, image_bag):
    bag = image_bag()
    request = Request("images", Query.of(bag), limit=20, where={"version": [0, 1]})
    restore(fresh, archive, tmp_path / "fresh", quiet)
    answers = []
    for catalog, folder in ((filled, "data"), (fresh, "fresh")):
        index = Index(catalog, catalog.names.find("default"), tmp_path / folder / "segments")
        answers.append([(hit.item, hit.score) for hit in index.best(request).hits])
        index.close()
    assert len(answers[0]) == 11
    assert answers[0] == answers[1]


def test_catalog_moves_to_another_kind_of_database(filled, archive, database, tmp_path):
    with closing(Catalog(Storage(tmp_path / "moved", database=database))) as moved:
        restore(moved, archive, tmp_path / "moved", quiet)
        assert contents(moved) == contents(filled)
        home = moved.names.find("default")
        found = moved.list_items(home, where={"version": 1})
        assert [item.id for item in found] == ["item 3"]
        assert moved.delete(home, "item 3") == filled.revision(filled.names.find("default")) + 1


def test_catalog_that_holds_items_is_only_replaced_if_asked(filled, archive, tmp_path, shown):
    home = filled.names.find("default")
    filled.replace(home, shown("later"))
    before = contents(filled)
    with pytest.raises(NotEmpty, match="--force"):
        restore(filled, archive, tmp_path / "data", quiet)
    assert contents(filled) == before
    restore(filled, archive, tmp_path / "data", quiet, force=True)
    assert {name: len(held) for name, held in contents(filled).items()} == {
        "default": 11,
        "other": 1,
    }
    filled.sweep()
    assert contents(filled)["default"].keys().isdisjoint({"later"})


def test_index_of_what_was_replaced_answers_no_more(
    filled, archive, tmp_path, shown, follow, segments_folder, image_bag, right
):
    """Segments of changes after the snapshot give no row."""
    home = filled.names.find("default")
    filled.put_many(home, [shown(f"later {number}") for number in range(20)])
    follow()
    old = Index(filled, home, segments_folder)
    request = Request("images", Query.of(image_bag()), limit=100)
    assert len(old.best(request).hits) == 31
    restore(filled, archive, tmp_path / "data", quiet, force=True)
    with pytest.raises(ModelMismatch):
        old.best(request)
    old.close()
    new = Index(filled, filled.names.find("default"), segments_folder)
    assert len(new.best(request).hits) == 11
    filled.replace(filled.names.find("default"), shown("after"))
    assert len(new.best(request).hits) == 12
    new.close()


def test_secret_of_cursors_stays_with_its_catalog(filled, archive, fresh, tmp_path):
    secrets = filled.secret, fresh.secret
    restore(fresh, archive, tmp_path / "fresh", quiet)
    with closing(Catalog.in_folder(tmp_path / "fresh")) as again:
        assert again.secret == secrets[1] != secrets[0]
    assert secrets[0] not in archive.read_bytes()


def test_collection_that_is_being_reembedded_goes_on_where_it_was(filled, fresh, tmp_path, shown):
    wanted = {"fingerprint": "model-c", "dimension": 8, "score": "sum_of_max"}

    def interrupted(done, _):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reembed(filled, "default", **wanted, embed=lambda same: same, progress=interrupted, batch=4)
    filled.delete(filled.names.find("default"), "item 0")
    snapshot(filled, tmp_path / "backup.tar", quiet)
    restore(fresh, tmp_path / "backup.tar", tmp_path / "fresh", quiet)
    embedded = []

    def embed(entries):
        embedded.extend(entry.id for entry in entries)
        return entries

    reembed(fresh, "default", **wanted, embed=embed, progress=quiet)
    assert len(embedded) == 11 - 4
    assert len(fresh.list_items(fresh.names.find("default"))) == 10


def test_everything_that_is_written_meanwhile_is_in_whole_or_not_at_all(
    filled, fresh, tmp_path, shown
):
    home, stop, written = filled.names.find("default"), threading.Event(), []

    def write():
        while not stop.is_set():
            version = len(written) + 1
            entries = [shown(item, version, sentences=1) for item in ("x", "y")]
            filled.put_many(home, entries)
            written.append(version)
            filled.purge(home, filled.revision(home))

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        for number in range(5):
            acknowledged = len(written)
            snapshot(filled, tmp_path / f"{number}.tar", quiet)
            restore(fresh, tmp_path / f"{number}.tar", tmp_path / "fresh", quiet, force=True)
            held = contents(fresh)["default"]
            versions = {
                one[0].metadata["version"] for name, one in held.items() if name in ("x", "y")
            }
            assert len(versions) <= 1
            assert acknowledged <= max(versions, default=0) <= len(written) + 1
        stop.set()
        writing.result()
    assert len(written) > 1


def test_pictures_are_kept_until_they_are_in_the_archive(filled, tmp_path, monkeypatch):
    """Their items are deleted and forgotten while the snapshot is being made."""
    home = filled.names.find("default")

    def progress(stage: str, done: int, total: int) -> None:
        if stage == "pictures" and done == 1:
            for item in filled.list_items(home):
                filled.delete(home, item.id)
            filled.purge(home, filled.revision(home))
            filled.sweep()

    outcome = snapshot(filled, tmp_path / "backup.tar", progress)
    assert outcome.lost == frozenset()
    assert outcome.head.pictures == 12
    filled.purge(home, filled.revision(home))
    assert len(list(filled.pictures.names())) == 1  # that of the other collection


def test_lost_picture_is_named_and_the_rest_is_restored(filled, fresh, tmp_path):
    home = filled.names.find("default")
    lost = name_of(filled.picture(home, "item 1").jpeg)
    filled.pictures.delete([lost])
    assert snapshot(filled, tmp_path / "backup.tar", quiet).lost == {lost}
    assert restore(fresh, tmp_path / "backup.tar", tmp_path / "fresh", quiet).lost == {lost}
    assert fresh.count(fresh.names.find("other")) == 1
    assert fresh.get(fresh.names.find("default"), "item 1").photos[0].width == 4


def test_archive_is_a_data_folder_when_it_is_unpacked(filled, archive, tmp_path):
    (tmp_path / "unpacked").mkdir()
    subprocess.run(["tar", "-xf", archive, "-C", tmp_path / "unpacked"], check=True)  # noqa: S603, S607
    with closing(Catalog.in_folder(tmp_path / "unpacked")) as unpacked:
        assert contents(unpacked) == contents(filled)


def test_file_that_is_there_is_not_written_over(filled, archive):
    before = archive.read_bytes()
    with pytest.raises(FileExistsError, match="another name"):
        snapshot(filled, archive, quiet)
    assert archive.read_bytes() == before


@pytest.mark.sqlite
def test_any_byte_that_is_wrong_or_missing_is_noticed(archive, fresh, tmp_path):
    """Bytes of parts and heads, and cuts; padding may be wrong."""
    whole = archive.read_bytes()
    with tarfile.open(archive) as tar:
        parts = tar.getmembers()
    assert [parts[0].name, parts[1].name, parts[-1].name] == [
        "snapshot.json",
        "catalog.sqlite",
        "end.json",
    ]
    places = [one.offset for one in parts]
    places += [one.offset_data + place for one in parts for place in (0, one.size // 2)]
    broken = tmp_path / "broken.tar"
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1
        broken.write_bytes(damaged)
        with pytest.raises(NotWhole, match=r"broken\.tar is damaged"):
            restore(fresh, broken, tmp_path / "fresh", quiet)
    for size in (0, 100, 512, *(one.offset_data + one.size - 1 for one in parts)):
        broken.write_bytes(whole[:size])
        with pytest.raises(NotWhole, match=r"broken\.tar is damaged"):
            restore(fresh, broken, tmp_path / "fresh", quiet)
    assert contents(fresh) == {}
    with pytest.raises(NotWhole):
        backup.verify(broken, quiet)
    assert backup.verify(archive, quiet).head.items == 12


def test_part_of_another_archive_is_noticed(filled, archive, tmp_path, shown, fresh):
    filled.replace(filled.names.find("default"), shown("item 1", 2))
    snapshot(filled, tmp_path / "other.tar", quiet)
    with (
        tarfile.open(archive) as first,
        tarfile.open(tmp_path / "other.tar") as second,
        tarfile.open(tmp_path / "mixed.tar", "w") as mixed,
    ):
        for member in first:
            source = second if member.name == "catalog.sqlite" else first
            part = source.getmember(member.name)
            mixed.addfile(part, source.extractfile(part))
    with pytest.raises(NotWhole, match=r"catalog\.sqlite is not as it was written"):
        restore(fresh, tmp_path / "mixed.tar", tmp_path / "fresh", quiet)


def test_archive_of_another_form_is_refused(archive, tmp_path):
    head = archives.read_head(archive)
    assert head.made.endswith("+00:00")
    text = json.dumps({"form": 99, "collections": [], "made": "", "pictures": 0})
    with tarfile.open(tmp_path / "new.tar", "w") as tar:
        archives._add(tar, "snapshot.json", text.encode())
    with pytest.raises(NotWhole, match="form 99"):
        archives.read_head(tmp_path / "new.tar")


def test_member_with_another_name_writes_nowhere(archive, fresh, tmp_path):
    for name in ("../../outside", "pictures/../../" + "0" * 64 + ".jpg", "/outside"):
        with tarfile.open(archive) as tar, tarfile.open(tmp_path / "odd.tar", "w") as odd:
            for member in tar:
                data = tar.extractfile(member)
                if member.name.startswith("pictures"):
                    member.name = name
                odd.addfile(member, data)
        with pytest.raises(NotWhole):
            restore(fresh, tmp_path / "odd.tar", tmp_path / "fresh", quiet)
    assert not (tmp_path / "outside").exists()


BLOCK = 512


def padded(data: bytes) -> bytes:
    return data.ljust(-(-len(data) // BLOCK) * BLOCK, b"\0")


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.type, member.linkname = size, kind, link
    return member.tobuf(tarfile.GNU_FORMAT)


def long_name() -> bytes:
    return header("././@LongLink", BLOCK, tarfile.GNUTYPE_LONGNAME) + b"a" * BLOCK


def extended(records: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    return header("././@PaxHeader", len(records), kind) + padded(records)


HEADS = {
    "long names that nest": long_name() * 2_000,
    "a long name of 40 MB": header("././@LongLink", 40 * 2**20, tarfile.GNUTYPE_LONGNAME),
    "extended headers that nest": extended(b"12 size=100\n") * 2_000,
    "a large extended header": extended(b"x" * 2**20),
    "an extended header that renames": extended(b"20 path=other.json\n") + header("a", 0),
    "a size without an end": extended(b"30 size=99999999999999999999\n") + header("a", 0),
    "a global header": extended(b"12 size=100\n", tarfile.XGLTYPE) + header("a", 0),
    "holes as GNU wrote them": header("snapshot.json", 0, tarfile.GNUTYPE_SPARSE),
    "holes by an extended header": extended(b"31 GNU.sparse.realsize=99999999\n") + header("a", 0),
    "a size that is negative": header("snapshot.json", -512),
    "a size beyond the file": header("snapshot.json", 10**11),
    "a link": header("snapshot.json", 0, tarfile.SYMTYPE, "/etc/passwd"),
    "a hard link": header("snapshot.json", 0, tarfile.LNKTYPE, "end.json"),
    "a device": header("snapshot.json", 0, tarfile.CHRTYPE),
    "a pipe": header("snapshot.json", 0, tarfile.FIFOTYPE),
    "a folder": header("snapshot.json/", 0, tarfile.DIRTYPE),
}


@pytest.mark.sqlite
@pytest.mark.parametrize("start", HEADS.values(), ids=HEADS)
def test_headers_that_no_archive_has_are_refused_by_their_first_block(start, tmp_path):
    (tmp_path / "odd.tar").write_bytes(start + b"\0" * 1024)
    with closing(archives.Archive(tmp_path / "odd.tar")) as opened:
        read: list[int] = []
        members = opened._members
        pieces = members.pieces
        members.pieces = lambda member: (read.append(member.size), pieces(member))[1]
        with pytest.raises(NotWhole, match="no snapshot"):
            opened.read_head()
        assert read == []
        assert members.place <= 2 * BLOCK


def remade(archive: Path, target: Path, change) -> Path:
    """An archive with changed parts and right checksums."""
    with tarfile.open(archive) as tar:
        parts = [(member.name, tar.extractfile(member).read()) for member in tar]
    parts = change(parts[:-1])
    sums = {name: sha256(data).hexdigest() for name, data in parts[:2]}
    end = {"parts": sums, "pictures": len(parts) - 2, "lost": []}
    with tarfile.open(target, "w") as tar:
        for name, data in [*parts, ("end.json", archives._seal(end))]:
            archives._add(tar, name, data)
    return target


@pytest.mark.sqlite
def test_pictures_are_those_that_the_rows_name_in_their_order(archive, fresh, tmp_path):
    name = name_of(b"none of its items")
    extra = (f"pictures/{name[:3]}/{name}.jpg", b"none of its items")
    changes = [
        lambda parts: parts[:-1],
        lambda parts: [*parts, parts[-1]],
        lambda parts: [*parts[:2], *reversed(parts[2:])],
        lambda parts: [*parts[:2], *sorted([*parts[2:], extra])],
    ]
    for change in changes:
        odd = remade(archive, tmp_path / "odd.tar", change)
        with pytest.raises(NotWhole):
            backup.verify(odd, quiet)
        with pytest.raises(NotWhole):
            restore(fresh, odd, tmp_path / "fresh", quiet)
    assert contents(fresh) == {}
    assert list(fresh.pictures.names()) == [], "one that is refused leaves nothing"
    same = remade(archive, tmp_path / "same.tar", lambda parts: parts)
    assert backup.verify(same, quiet).head.items == 12


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "
ITEMS = "1 AS collection, i AS revision, 'a' AS id, 0 AS bucket, '{}' AS metadata, "
ODD = {
    "a view without an end": f"DROP TABLE items; CREATE VIEW items AS {ENDLESS} {ITEMS}"
    "NULL AS source, NULL AS stamp FROM n",
    "a view next to the tables": "CREATE VIEW more AS SELECT 1",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON items BEGIN DELETE FROM items; END",
    "a column that is computed": "ALTER TABLE items ADD COLUMN more AS (hex(zeroblob(100000000)))",
    "a virtual table": "CREATE VIRTUAL TABLE more USING fts5(text)",
    "a table more": "CREATE TABLE more (a)",
    "many tables": "".join(f"CREATE TABLE more{number} (a);" for number in range(3_000)),
    "an index of an expression": "CREATE INDEX more ON items (length(id))",
    "an index of some rows": "CREATE INDEX more ON items (id) WHERE id LIKE '%a%a%a%'",
    "a table less": "DROP TABLE facets",
    "another default": "DROP TABLE settings; CREATE TABLE settings (name VARCHAR NOT NULL, "
    "value TEXT NOT NULL DEFAULT (randomblob(9)), PRIMARY KEY (name))",
    "a version that is a view": "DROP TABLE alembic_version; CREATE VIEW alembic_version AS "
    f"{ENDLESS} '0004' AS version_num FROM n WHERE i < 0",
    "a newer version": "UPDATE alembic_version SET version_num = '9999'",
    "an older version": "UPDATE alembic_version SET version_num = '0003'",
    "a schema that was written by hand": "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET "
    "sql = 'CREATE TABLE items (a CHECK (' || hex(zeroblob(200000)) || '))' WHERE name = 'items'",
    "a table in another's pages": "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage "
    "= (SELECT rootpage FROM sqlite_schema WHERE name = 'bags') WHERE name = 'items'",
    "a row without its collection": "PRAGMA foreign_keys = OFF; DELETE FROM collections",
}


@pytest.mark.sqlite
@pytest.mark.parametrize("sql", ODD.values(), ids=ODD)
def test_database_that_is_not_as_ours_is_refused_before_it_is_asked(sql, archive, filled, tmp_path):
    def change(parts):
        (tmp_path / "odd.sqlite").write_bytes(parts[1][1])
        with closing(sqlite3.connect(tmp_path / "odd.sqlite")) as connection:
            connection.execute("PRAGMA legacy_alter_table = ON")
            connection.executescript(sql)
        return [parts[0], (parts[1][0], (tmp_path / "odd.sqlite").read_bytes()), *parts[2:]]

    before, shown = contents(filled), set(filled.pictures.names())
    odd = remade(archive, tmp_path / "odd.tar", change)
    for work in (
        lambda: backup.verify(odd, quiet),
        lambda: restore(filled, odd, tmp_path / "data", quiet, force=True),
    ):
        with pytest.raises(NotWhole, match=r"odd\.tar is damaged, or no snapshot: "):
            work()
    assert contents(filled) == before
    assert set(filled.pictures.names()) == shown


@pytest.mark.sqlite
@pytest.mark.parametrize("size", [0, 3, 513, 1000, 40_000])
def test_file_with_another_size_of_pages_is_refused(size, archive, tmp_path):
    def change(parts):
        rows = bytearray(parts[1][1])
        rows[16:18] = size.to_bytes(2, "big")
        return [parts[0], (parts[1][0], bytes(rows)), *parts[2:]]

    with pytest.raises(NotWhole, match="its database"):
        backup.verify(remade(archive, tmp_path / "odd.tar", change), quiet)


@pytest.mark.sqlite
def test_a_page_in_the_place_of_another_ends_nothing_but_the_restore(archive, tmp_path):
    """Circles and dead ends have a sentence; empty pages may pass."""
    with tarfile.open(archive) as tar:
        rows = tar.extractfile("catalog.sqlite").read()
    pages = [rows[place : place + 4096] for place in range(0, len(rows), 4096)]
    refused = 0
    for place in range(1, len(pages)):
        damaged = b"".join([*pages[:place], pages[len(pages) // 2], *pages[place + 1 :]])

        def change(parts, damaged=damaged):
            return [parts[0], (parts[1][0], damaged), *parts[2:]]

        try:
            backup.verify(remade(archive, tmp_path / "odd.tar", change), quiet)
        except NotWhole:
            refused += 1
    assert refused > len(pages) // 2


@pytest.mark.sqlite
def test_text_that_is_no_utf8_is_told_and_nothing_is_stored(archive, filled, tmp_path):
    def change(parts):
        (tmp_path / "odd.sqlite").write_bytes(parts[1][1])
        with closing(sqlite3.connect(tmp_path / "odd.sqlite")) as connection:
            connection.execute("UPDATE items SET metadata = CAST(x'ff' AS TEXT)")
            connection.commit()
        return [parts[0], (parts[1][0], (tmp_path / "odd.sqlite").read_bytes()), *parts[2:]]

    before = contents(filled)
    odd = remade(archive, tmp_path / "odd.tar", change)
    with pytest.raises(NotWhole, match="holds rows that cannot be restored"):
        restore(filled, odd, tmp_path / "data", quiet, force=True)
    assert contents(filled) == before


@pytest.mark.sqlite
def test_database_of_8_gib_and_more_can_be_read(tmp_path):
    """As tarfile writes its size.

    The file has holes, and no real bytes.
    """
    member = tarfile.TarInfo("catalog.sqlite")
    member.size = 9 * 2**30
    start = member.tobuf(tarfile.PAX_FORMAT)
    with (tmp_path / "large.tar").open("wb+") as file:
        file.write(start)
        file.truncate(len(start) + member.size)
        members = Members(file)
        assert members.take() == Member("catalog.sqlite", len(start), 9 * 2**30)
        assert members.place == len(start) + member.size


def test_snapshots_of_a_folder(filled, tmp_path):
    shelf = Snapshots(tmp_path / "snapshots")
    assert shelf.all() == []
    made = shelf.make(filled, quiet)
    assert shelf.all() == [made]
    assert made.head.items == 12
    assert made.size == shelf.path(made.name).stat().st_size
    for name in ("lock", "../data/catalog.sqlite", "none.tar", ".tar", ""):
        with pytest.raises(LookupError):
            shelf.path(name)
    (tmp_path / "snapshots" / "broken.tar").write_bytes(b"")
    assert shelf.all() == [made]
    shelf.delete(made.name)
    assert shelf.all() == []


def test_one_snapshot_is_made_at_a_time(filled, tmp_path):
    shelf = Snapshots(tmp_path / "snapshots")

    def progress(*_):
        with pytest.raises(InProgress):
            shelf.make(filled, quiet)

    shelf.make(filled, progress)
    assert len(shelf.all()) == 1


def killed_after(steps: int, work) -> bool:
    """Run work in a process, killed at its n-th progress."""
    child = os.fork()
    if child == 0:
        left = iter(range(steps))

        def progress(*_):
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            work(progress)
            os._exit(0)
        except BaseException:  # noqa: BLE001 - nothing may come back into pytest
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL)
    return status != 0


@pytest.mark.sqlite
def test_killed_snapshot_leaves_no_archive(filled, tmp_path):
    filled.close()
    folder, steps = tmp_path / "snapshots", 0

    def work(progress):
        with closing(Catalog.in_folder(tmp_path / "data")) as catalog:
            Snapshots(folder).make(catalog, progress)

    while killed_after(steps, work):
        assert Snapshots(folder).all() == []
        assert list(folder.glob("*.tar")) == []
        steps += 4
    assert steps > 16
    assert len(Snapshots(folder).all()) == 1
    assert {path.suffix for path in folder.iterdir()} == {"", ".tar"}  # the lock and the snapshot


@pytest.mark.sqlite
def test_killed_restore_leaves_what_was_there(filled, archive, tmp_path, shown):
    filled.replace(filled.names.find("default"), shown("later"))
    before = contents(filled)
    filled.close()
    steps = 0

    def work(progress):
        with closing(Catalog.in_folder(tmp_path / "data")) as catalog:
            restore(catalog, archive, tmp_path / "data", progress, force=True)

    while killed_after(steps, work):
        with closing(Catalog.in_folder(tmp_path / "data")) as catalog:
            assert contents(catalog) == before
        steps += 2
    assert steps > 10
    with closing(Catalog.in_folder(tmp_path / "data")) as catalog:
        assert "later" not in contents(catalog)["default"]
        assert not (tmp_path / "data" / backup.STAGING).exists()
        catalog.storage = dataclasses.replace(catalog.storage, sweep_after=0)
        catalog.sweep(share=1.0)
        with catalog.reader.begin() as connection:
            named = set(connection.execute(select(pictures.c.name)).scalars())
        assert set(catalog.pictures.names()) == named
