"""Pictures come back as they were put, or not at all."""

from __future__ import annotations

import os
import resource
import threading
from pathlib import Path

import pytest

from index.catalog.catalog import Catalog
from index.catalog.ownership import NOTE
from index.catalog.pictures import FolderPictures, PictureLost, name_of
from index.database.storage import Storage
from index.items import Picture


@pytest.fixture
def store(tmp_path: Path) -> FolderPictures:
    return FolderPictures(tmp_path / "pictures")


def put(store, *pictures):
    named = {name_of(jpeg): jpeg for jpeg in pictures}
    store.put(named)
    return list(named)


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file() and path.name != NOTE]


def test_pictures_come_back_by_name_and_equal_ones_share_a_file(store, tmp_path):
    first, second = put(store, b"a", b"b")
    put(store, b"a")
    assert (store.get(first), store.get(second)) == (b"a", b"b")
    assert sorted(store.names()) == sorted([first, second])
    assert len(files(tmp_path)) == 2
    store.delete([first, "0" * 64])
    assert store.missing([first, second]) == {first}


def test_missing_and_damaged_pictures_are_told_apart_and_may_be_put_again(store, tmp_path):
    (name,) = put(store, b"a")
    (file,) = files(tmp_path)
    file.write_bytes(b"b")
    with pytest.raises(PictureLost, match="is damaged; put its item again"):
        store.get(name)
    file.unlink()
    with pytest.raises(PictureLost, match="is missing; put its item again"):
        store.get(name)
    put(store, b"a")
    assert store.get(name) == b"a"


def test_files_of_others_are_no_pictures(store, tmp_path):
    (name,) = put(store, b"a")
    folder = tmp_path / "pictures" / name[:3]
    for other in ("notes.txt", f"{name}.png", "short.jpg"):
        (folder / other).write_bytes(b"")
    assert list(store.names()) == [name]


def test_partial_files_may_be_deleted_under_a_put(store, tmp_path, monkeypatch):
    rename, lost = Path.rename, []

    def swept_before(path, target):
        if not lost:
            lost.append(path)
            store.delete_partial(0)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", swept_before)
    (name,) = put(store, b"a")
    assert lost
    assert store.get(name) == b"a"
    assert len(files(tmp_path)) == 1


@pytest.fixture
def full_disk():
    """Limits files to half a megabyte, like a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_full_disk_acknowledges_nothing_and_leaves_nothing_torn(
    catalog, collection, entry, tmp_path, full_disk
):
    large = entry("large")
    object.__setattr__(large, "pictures", (Picture(os.urandom(10**6), 4, 3, "0" * 64),))
    with pytest.raises(OSError, match="File too large"):
        catalog.put_many(collection, [entry("small"), large])
    assert catalog.count(collection) == 0
    assert catalog.revision(collection) == catalog.read_acknowledged(collection) == 0
    assert files(tmp_path / "data" / "pictures" / "partial") == []
    catalog.replace(collection, entry("small"))
    catalog.sweep()
    assert catalog.picture(collection, "small").jpeg == b"jpeg"
    assert len(list(catalog.pictures.names())) == 1


class Memory(dict):
    """A store without files, as an object store would be one."""

    def __init__(self, *pairs, **named):
        super().__init__(*pairs, **named)
        self.notes = {}

    put = dict.update
    get = dict.__getitem__

    def missing(self, names):
        return set(names) - set(self)

    def delete(self, names):
        for name in names:
            self.pop(name, None)

    def names(self):
        return iter(list(self))

    def delete_partial(self, older):
        return 0

    def read_note(self, name):
        return self.notes.get(name)

    def write_note(self, name, content, *, new=False):
        if new and name in self.notes:
            return False
        self.notes[name] = content
        return True

    def check(self):
        pass


def test_another_store_may_hold_the_pictures(tmp_path, entry):
    catalog = Catalog(Storage(tmp_path, sweep_after=0), Memory())
    catalog.pictures["0" * 64] = b""
    collection = catalog.names.make("a", fingerprint="m", dimension=8, score="sum_of_max")
    catalog.replace(collection, entry("a"))
    catalog.sweep()
    assert catalog.pictures == {name_of(b"jpeg"): b"jpeg"}
    assert catalog.entry(collection, "a").pictures[0].jpeg == b"jpeg"
    catalog.close()


def test_lost_picture_is_told_with_its_item(catalog, collection, entry, tmp_path):
    catalog.replace(collection, entry("a"))
    (file,) = files(tmp_path / "data" / "pictures")
    file.write_bytes(b"other")
    for read in (catalog.picture, catalog.entry):
        with pytest.raises(PictureLost, match=r"item 'a': picture .* is damaged"):
            read(collection, "a")
    assert catalog.get(collection, "a").photos[0].width == 4
    catalog.replace(collection, entry("a"))
    assert catalog.picture(collection, "a").jpeg == b"jpeg"


def with_picture(entry, name, jpeg):
    made = entry(name)
    object.__setattr__(made, "pictures", (Picture(jpeg, 4, 3, "0" * 64),))
    return made


def test_sweeps_take_no_picture_that_a_put_is_about_to_name(catalog, collection, entry):
    entries = [with_picture(entry, name, jpeg) for name, jpeg in (("a", b"1"), ("b", b"1"))]
    done = threading.Event()

    def sweep():
        while not done.is_set():
            catalog.purge(collection, catalog.revision(collection))
            catalog.sweep()

    sweeper = threading.Thread(target=sweep)
    sweeper.start()
    try:
        for _ in range(40):
            for one in entries:
                catalog.replace(collection, one)
                assert catalog.picture(collection, one.id).jpeg == b"1"
                catalog.delete(collection, one.id)
    finally:
        done.set()
        sweeper.join()
    catalog.purge(collection, catalog.revision(collection))
    catalog.sweep()
    assert list(catalog.pictures.names()) == []


def test_no_connection_is_held_while_a_picture_is_read(tmp_path, entry):
    class Slow(Memory):
        def get(self, name):
            held.append(catalog.reader.pool.checkedout())
            return super().get(name)

    held = []
    catalog = Catalog(Storage(tmp_path), Slow())
    home = catalog.names.make("default", fingerprint="a", dimension=8, score="sum_of_max")
    catalog.replace(home, entry("a"))
    assert catalog.picture(home, "a").jpeg == b"jpeg"
    assert held == [0]
    catalog.close()
