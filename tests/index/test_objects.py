"""Pictures in an object store, in memory and in a folder, keep what FolderPictures promises."""

import pytest
from obstore.store import LocalStore, MemoryStore

from index.catalog import Catalog
from index.failures import Busy
from index.objects import ObjectPictures
from index.pictures import PictureLost, name_of
from index.storage import Storage

NAMES = {name_of(jpeg): jpeg for jpeg in (b"1", b"2", b"3")}


@pytest.fixture(params=["memory", "folder"])
def store(request, tmp_path):
    return MemoryStore() if request.param == "memory" else LocalStore(tmp_path)


@pytest.fixture
def pictures(store):
    return ObjectPictures(store)


def test_pictures_come_back_and_are_listed(pictures, store):
    pictures.put(NAMES)
    pictures.put(NAMES)
    store.put("notes.jpg", b"not ours")
    assert {name: pictures.get(name) for name in pictures.names()} == NAMES


def test_missing_pictures_are_told_and_lost(pictures):
    pictures.put(NAMES)
    other = name_of(b"4")
    assert pictures.missing([*NAMES, other]) == {other}
    with pytest.raises(PictureLost, match="is missing; put its item again"):
        pictures.get(other)


def test_damaged_picture_is_lost_and_written_again(pictures, store):
    name = name_of(b"1")
    store.put(f"{name[:3]}/{name}.jpg", b"damaged")
    with pytest.raises(PictureLost, match="is damaged"):
        pictures.get(name)
    pictures.put({name: b"1"})
    assert pictures.get(name) == b"1"


def test_deleted_pictures_are_gone_and_others_stay(pictures):
    pictures.put(NAMES)
    gone = name_of(b"1")
    pictures.delete([gone, name_of(b"4")])
    pictures.delete_partial()
    assert set(pictures.names()) == NAMES.keys() - {gone}


def test_store_that_is_away_is_busy():
    away = ObjectPictures.at("http://127.0.0.1:9/pictures")
    with pytest.raises(Busy, match="cannot be reached"):
        away.get(name_of(b"1"))


@pytest.mark.parametrize("url", ["ftp://there/x", "s3:/x://"])
def test_unknown_store_is_refused(url):
    with pytest.raises(ValueError, match="name a folder, or s3://BUCKET/PATH"):
        ObjectPictures.at(url)


def test_catalog_keeps_its_pictures_in_a_store(tmp_path, entry):
    (tmp_path / "objects").mkdir()
    storage = Storage(tmp_path / "data", pictures=f"file://{tmp_path / 'objects'}")
    catalog = Catalog(storage)
    home = catalog.collection("default", fingerprint="a", dimension=8, score="sum_of_max")
    catalog.put_many(home, [entry("a"), entry("b")])
    catalog.delete(home, "a")
    assert catalog.picture(home, "b").jpeg == b"jpeg"
    catalog.delete(home, "b")
    catalog.purge(home, catalog.revision(home))
    assert list(catalog.pictures.names()) == []
    catalog.close()
    assert not (tmp_path / "data" / "pictures").exists()
