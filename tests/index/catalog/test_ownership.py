"""A data folder and its pictures belong to one catalog."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from threading import Barrier, Thread

import pytest
from obstore.store import MemoryStore
from sqlalchemy import make_url

from index.backup import snapshots as backup
from index.backup.checks.everything import check
from index.catalog.catalog import Catalog
from index.catalog.object_store import ObjectPictures
from index.catalog.ownership import (
    ADOPTING,
    LOCK,
    LOOK,
    NOTE,
    TELL,
    ForeignCatalog,
    Owner,
    Ownership,
    OwnershipClaim,
)
from index.catalog.pictures import FolderPictures
from index.database.catalog_name import ensure_name, read_name
from index.database.errors import StoreAway
from index.database.storage import Storage
from index.items import Picture

MODEL = {"fingerprint": "m", "dimension": 8, "score": "sum_of_max"}


def opened(storage, claim=None):
    return closing(Catalog(storage, claim=claim or OwnershipClaim()))


def fill(catalog, entry, count=4):
    home = catalog.names.make("default", **MODEL)
    for number in range(count):
        jpeg = f"{number}".encode()
        shown = replace(entry(f"{number}"), pictures=(Picture(jpeg, 4, 3, "0" * 64),))
        catalog.replace(home, shown)
    return home


def named(catalog):
    with catalog.reader.begin() as connection:
        return read_name(connection)


@pytest.fixture(params=["folder", "s3"])
def shared(request, tmp_path):
    """A store outside of data folders."""
    if request.param == "s3":
        return request.getfixturevalue("bucket")
    return str(tmp_path / "shared")


@pytest.fixture
def production(tmp_path, shared, entry):
    """A storage of four photos, in reach of others."""
    storage = Storage(tmp_path / "production", pictures=shared, sweep_after=0)
    with opened(storage) as catalog:
        fill(catalog, entry)
    return storage


def photos(storage):
    with opened(storage) as catalog:
        return len(list(catalog.pictures.names()))


def test_catalogs_have_names_of_their_own_and_keep_them(tmp_path):
    names = set()
    for folder in "ab":
        for _ in range(2):
            with opened(Storage(tmp_path / folder)) as catalog:
                names.add(named(catalog))
    assert len(names) == 2
    assert None not in names


def test_another_catalog_is_refused_with_a_sentence(production, tmp_path):
    other = Storage(tmp_path / "other", pictures=production.pictures)
    with pytest.raises(ForeignCatalog) as refused:
        Catalog(other)
    sentence = str(refused.value)
    for part in (production.pictures, str(tmp_path / "production" / "catalog.sqlite")):
        assert part in sentence
    assert "TESSERA_PICTURES" in sentence
    assert "--adopt-pictures" in sentence
    assert photos(production) == 4


def test_adopted_pictures_belong_to_the_other_from_then_on(production, tmp_path, entry):
    other = Storage(tmp_path / "other", pictures=production.pictures, sweep_after=0)
    with opened(production) as former:
        home = former.names.find("default")
        with opened(other, ADOPTING) as catalog:
            assert catalog.sweep().withheld, "four of four are no garbage"
            former.delete(home, "0")
            former.purge(home, former.revision(home))
            assert former.sweep().deleted == 0
            assert len(list(catalog.pictures.names())) == 4
            former.ownership._confirmed = float("-inf")
            with pytest.raises(StoreAway, match="belongs to the catalog in"):
                former.replace(home, entry("5"))
            assert catalog.sweep(share=1.0).deleted == 4
    with pytest.raises(ForeignCatalog, match="not to that in"):
        Catalog(production)


def test_store_without_a_note_goes_to_the_catalog_that_knows_it(production, tmp_path, shared):
    def forget_owner():
        if "://" in shared:
            pictures = ObjectPictures.at(shared)
            pictures._store.delete(NOTE)
        else:
            (tmp_path / "shared" / NOTE).unlink()

    forget_owner()
    with pytest.raises(ForeignCatalog, match=r"has data that the catalog in .* does not know"):
        Catalog(Storage(tmp_path / "other", pictures=shared))
    assert photos(production) == 4
    with pytest.raises(ForeignCatalog, match="belongs to the catalog in"):
        Catalog(Storage(tmp_path / "other", pictures=shared))


@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_one_of_two_that_start_at_once_gets_the_store(tmp_path, kind):
    for round_ in range(5):
        folder, memory = tmp_path / f"{round_}", MemoryStore()
        barrier, outcomes = Barrier(2), []
        for number in range(2):  # alembic's tables are made by one thread at a time
            Catalog(Storage(folder / f"data {number}"), MemoryStore(), LOOK).close()

        def start(number, folder=folder, memory=memory, barrier=barrier, outcomes=outcomes):
            pictures = FolderPictures(folder) if kind == "folder" else ObjectPictures(memory)
            storage = Storage(folder / f"data {number}", pictures=str(folder))
            barrier.wait()
            try:
                Catalog(storage, pictures).close()
            except ForeignCatalog:
                outcomes.append("refused")
            else:
                outcomes.append("opened")

        threads = [Thread(target=start, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["opened", "refused"]


def test_copy_of_a_data_folder_is_another_catalog(production, tmp_path):
    shutil.copytree(production.folder, tmp_path / "copy")
    copy = replace(production, folder=tmp_path / "copy")
    for _ in range(2):
        with pytest.raises(ForeignCatalog, match="which is a copy of it"):
            Catalog(copy)
    assert photos(production) == 4
    with opened(copy, ADOPTING) as catalog:
        assert catalog.sweep().deleted == 0
    with pytest.raises(ForeignCatalog):
        Catalog(production)


def test_copied_or_moved_folder_with_its_own_pictures_just_opens(tmp_path, entry):
    with opened(Storage(tmp_path / "a")) as catalog:
        home = fill(catalog, entry)
        name = named(catalog)
    (tmp_path / "a").rename(tmp_path / "b")
    with opened(Storage(tmp_path / "b")) as moved:
        assert named(moved) == name
    shutil.copytree(tmp_path / "b", tmp_path / "c")
    for folder, same in (("c", False), ("b", True), ("c", False)):
        with opened(Storage(tmp_path / folder)) as copy:
            assert (named(copy) == name) is same
            assert copy.picture(home, "0").jpeg == b"0"
            owner = Owner.read((tmp_path / folder / "pictures" / NOTE).read_bytes())
            assert owner.catalog == named(copy)


def test_copy_instead_of_its_original_is_the_same_catalog(production, tmp_path):
    shutil.copytree(production.folder, tmp_path / "saved")
    shutil.rmtree(production.folder)
    shutil.copytree(tmp_path / "saved", production.folder)
    assert photos(production) == 4


def test_copied_database_of_a_server_is_another_catalog(postgresql, tmp_path, entry, shared):
    with postgresql.database() as url, postgresql.database() as empty:
        storage = Storage(tmp_path / "production", database=url, pictures=shared)
        with opened(storage) as catalog:
            fill(catalog, entry)
        name, copy = (make_url(one).database for one in (url, empty))
        postgresql._tell(f"DROP DATABASE {copy}")
        postgresql._tell(f"CREATE DATABASE {copy} TEMPLATE {name}")
        for folder in ("production", "new"):
            with pytest.raises(ForeignCatalog, match="which is a copy of it"):
                Catalog(replace(storage, folder=tmp_path / folder, database=empty))
        assert photos(storage) == 4


@pytest.mark.parametrize("note", [b"", b"[]", b"{}", b"\xff"])
def test_damaged_note_refuses_every_catalog(tmp_path, note):
    with opened(Storage(tmp_path)):
        pass
    (tmp_path / "pictures" / NOTE).write_bytes(note)
    with pytest.raises(ForeignCatalog, match=r"unknown: its owner.json is damaged"):
        Catalog(Storage(tmp_path))
    with opened(Storage(tmp_path), ADOPTING):
        pass
    with opened(Storage(tmp_path)):
        pass


def test_lost_database_is_not_made_again_in_a_folder_with_data(tmp_path, entry):
    with opened(Storage(tmp_path)) as catalog:
        fill(catalog, entry)
    for file in tmp_path.glob("catalog.sqlite*"):
        file.unlink()
    with pytest.raises(ForeignCatalog, match=r"no longer in .*: restore a snapshot"):
        Catalog(Storage(tmp_path))
    assert not (tmp_path / "catalog.sqlite").exists()
    (tmp_path / NOTE).unlink()  # as if an older version had made it
    (tmp_path / "pictures" / NOTE).unlink()
    with pytest.raises(ForeignCatalog, match=r"has data that the catalog in .* does not know"):
        Catalog(Storage(tmp_path))


def test_folder_of_an_older_version_with_anothers_segments_is_refused(tmp_path):
    (tmp_path / "segments" / ("a" * 32)).mkdir(parents=True)
    with pytest.raises(ForeignCatalog, match=r"data folder .* has data that .*TESSERA_DATABASE"):
        Catalog(Storage(tmp_path))
    assert (tmp_path / "segments" / ("a" * 32)).exists()


def test_folder_of_an_older_version_is_its_catalogs(tmp_path, entry):
    with opened(Storage(tmp_path)) as catalog:
        home = fill(catalog, entry)
        (tmp_path / "segments" / home.token).mkdir(parents=True)
    for note in tmp_path.rglob(NOTE):
        note.unlink()
    with closing(sqlite3.connect(tmp_path / "catalog.sqlite")) as database, database:
        database.execute("DELETE FROM settings WHERE name IN ('catalog', 'home')")
    with opened(Storage(tmp_path)) as catalog:
        assert catalog.picture(home, "0").jpeg == b"0"
    assert len(list(tmp_path.rglob(NOTE))) == 2


def test_empty_catalog_elsewhere_is_no_fresh_start_next_to_a_filled_one(tmp_path, entry):
    with opened(Storage(tmp_path / "data")) as catalog:
        fill(catalog, entry)
    for note in tmp_path.rglob(NOTE):
        note.unlink()
    elsewhere = Storage(
        tmp_path / "data",
        database=f"sqlite:///{tmp_path / 'other.sqlite'}",
        pictures=str(tmp_path / "p"),
    )
    with pytest.raises(ForeignCatalog, match="TESSERA_DATABASE or TESSERA_DATA is probably wrong"):
        Catalog(elsewhere)


def test_folder_in_use_is_not_adopted(tmp_path):
    with opened(Storage(tmp_path / "data")):
        pass
    other = Storage(tmp_path / "data", database=f"sqlite:///{tmp_path / 'other.sqlite'}")
    from index.disk import hold_lock

    with (
        hold_lock(tmp_path / "data" / LOCK),
        pytest.raises(ForeignCatalog, match="a service uses the data folder"),
    ):
        Catalog(other, claim=ADOPTING)
    Catalog(other, claim=ADOPTING).close()


def test_note_tells_no_password(postgresql, tmp_path):
    with postgresql.database() as url:
        secret = url.replace("tessera@", "tessera:s3cret@")
        with opened(Storage(tmp_path, database=f"{secret}&password=s3cret")):
            pass
        for note in tmp_path.rglob(NOTE):
            assert b"s3cret" not in note.read_bytes()
            assert json.loads(note.read_bytes())["database"].startswith("postgresql://tessera@")


def test_check_tells_the_owner_and_repairs_nothing(production, tmp_path):
    other = Storage(tmp_path / "other", pictures=production.pictures, sweep_after=0)
    with opened(other, TELL) as catalog:
        findings = list(check(catalog, other.folder, lambda *_: None))
        assert [(one.part, one.repair) for one in findings] == [("owner", None)]
        assert catalog.sweep(share=1.0).deleted == 0
    assert photos(production) == 4


def test_sweep_leaves_segments_of_another_catalog(tmp_path):
    with opened(Storage(tmp_path)) as catalog:
        (tmp_path / "segments" / ("a" * 32)).mkdir(parents=True)
        (tmp_path / NOTE).write_bytes(Owner("another", "elsewhere").note)
        catalog.sweep(tmp_path / "segments")
        assert (tmp_path / "segments" / ("a" * 32)).exists()


def test_look_writes_nothing(tmp_path):
    with opened(Storage(tmp_path), LOOK) as catalog:
        assert named(catalog) is None
        assert list(tmp_path.rglob(NOTE)) == []
        name = ensure_name(catalog.reader, catalog.exclusive)
        assert isinstance(catalog.ownership, Ownership)
        assert named(catalog) == name


@pytest.fixture
def saved(production, tmp_path):
    """A snapshot of production, and the name of its catalog."""
    file = tmp_path / "monday.tar"
    with opened(production) as catalog:
        backup.snapshot(catalog, file, lambda *_: None)
        return file, named(catalog)


def restore(storage, saved, **options):
    file, origin = saved
    with opened(storage, OwnershipClaim(origin=origin)) as catalog:
        backup.restore(catalog, file, storage.folder, lambda *_: None, **options)
        catalog.sweep(storage.folder / "segments")


def test_rehearsed_restore_with_productions_store_is_refused(production, saved, tmp_path):
    with pytest.raises(ForeignCatalog, match="belongs to the catalog in"):
        restore(replace(production, folder=tmp_path / "new"), saved)
    assert photos(production) == 4
    restore(Storage(tmp_path / "apart"), saved)
    assert photos(Storage(tmp_path / "apart")) == 4
    assert photos(production) == 4


def test_restore_in_place_goes_on(production, saved):
    with opened(production) as catalog:
        name = named(catalog)
        catalog.delete(catalog.names.find("default"), "0")
    restore(production, saved, force=True)
    with opened(production) as catalog:
        assert named(catalog) == name
        assert catalog.count(catalog.names.find("default")) == 4
    assert photos(production) == 4


def test_restore_instead_of_a_lost_database_gets_its_pictures(production, saved):
    for file in production.folder.glob("catalog.sqlite*"):
        file.unlink()
    restore(production, saved)
    assert photos(production) == 4


@pytest.fixture
def moved(production, postgresql):
    with postgresql.database() as url:
        yield replace(production, database=url)


def test_move_to_postgresql_takes_the_pictures_along(production, saved, moved):
    restore(moved, saved)
    for _ in range(2):
        assert photos(moved) == 4
        with pytest.raises(ForeignCatalog, match="TESSERA_DATABASE is probably missing"):
            Catalog(production)


def test_move_that_fails_leaves_all_as_it_was(production, saved, moved, tmp_path):
    file, origin = saved
    file.write_bytes(file.read_bytes()[:-5_000])
    with pytest.raises(backup.NotWhole):
        restore(moved, (file, origin))
    assert photos(production) == 4
    with pytest.raises(ForeignCatalog):
        Catalog(moved)


def test_move_that_is_killed_at_its_end_is_finished_when_opened(production, saved, moved):
    file, origin = saved
    catalog = Catalog(moved, claim=OwnershipClaim(origin=origin))
    catalog.ownership.settle = lambda: None
    backup.restore(catalog, file, moved.folder, lambda *_: None)
    catalog.close()
    assert photos(moved) == 4
    with pytest.raises(ForeignCatalog):
        Catalog(production)


def test_move_is_refused_while_a_service_uses_the_folder(production, saved, moved):
    from index.disk import hold_lock

    with hold_lock(production.folder / LOCK), pytest.raises(ForeignCatalog):
        restore(moved, saved)
    assert photos(production) == 4


def test_wrong_database_is_refused_and_takes_nothing(production, saved, moved, postgresql):
    restore(moved, saved)
    with postgresql.database() as wrong:
        for claim in (OwnershipClaim(), OwnershipClaim(origin=saved[1])):
            with pytest.raises(ForeignCatalog, match="TESSERA_DATABASE or TESSERA_DATA is"):
                Catalog(replace(moved, database=wrong), claim=claim)
    assert photos(moved) == 4


def test_nothing_is_deleted_or_stored_while_the_store_is_away(bucket, tmp_path, entry, monkeypatch):
    storage = Storage(tmp_path / "data", pictures=bucket)
    monkeypatch.setenv("AWS_ENDPOINT", "http://127.0.0.1:9")
    with opened(storage) as catalog:
        home = catalog.names.make("default", **MODEL)
        with pytest.raises(StoreAway):
            catalog.replace(home, entry("a"))
        with pytest.raises(StoreAway):
            catalog.sweep()
    with pytest.raises(StoreAway):
        Catalog(storage, claim=ADOPTING)


def test_hosts_go_on_where_one_has_restored_a_lost_database(tmp_path, entry):
    address, store = f"sqlite:///{tmp_path / 'shared.sqlite'}", str(tmp_path / "pictures")
    one, two = (Storage(tmp_path / name, database=address, pictures=store) for name in "ab")
    with opened(one) as catalog:
        fill(catalog, entry)
        backup.snapshot(catalog, tmp_path / "all.tar", lambda *_: None)
        lost = named(catalog)
    with opened(two):
        pass
    for file in tmp_path.glob("shared.sqlite*"):
        file.unlink()
    with opened(two, LOOK):  # a new, empty database at the same address
        pass
    for storage in (one, two):
        with pytest.raises(ForeignCatalog, match=r"no longer in"):
            opened(storage)
    with opened(one, OwnershipClaim(origin=lost)) as catalog:
        backup.restore(catalog, tmp_path / "all.tar", one.folder, lambda *_: None)
    for storage in (two, one, two):
        with opened(storage) as catalog:
            assert catalog.count(catalog.names.find("default")) == 4
            assert catalog.ownership.refusal is None
            assert Owner.read((storage.folder / NOTE).read_bytes()).catalog == named(catalog)
