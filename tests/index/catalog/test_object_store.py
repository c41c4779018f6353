"""Pictures in an object store are like FolderPictures'.

In memory, in a folder and over S3.
"""

import time

import obstore
import pytest
from obstore.exceptions import GenericError
from obstore.store import LocalStore, MemoryStore, from_url

from index.catalog.catalog import Catalog
from index.catalog.object_store import OPTIONS, ObjectPictures
from index.catalog.pictures import THREADS, PictureLost, name_of
from index.database.errors import StoreAway
from index.database.storage import Storage

NAMES = {name_of(jpeg): jpeg for jpeg in (b"1", b"2", b"3")}


@pytest.fixture(params=["memory", "folder", "s3"])
def store(request, tmp_path):
    if request.param == "s3":
        return from_url(request.getfixturevalue("bucket"), **OPTIONS)
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
    pictures.check()
    pictures.delete([gone, name_of(b"4")])
    pictures.delete([])
    pictures.delete_partial(0)
    assert set(pictures.names()) == NAMES.keys() - {gone}


def test_pictures_of_another_path_of_the_bucket_are_not_listed(bucket):
    below, above = ObjectPictures.at(f"{bucket}/more"), ObjectPictures.at(bucket)
    below.put({name_of(b"1"): b"1"})
    above.put({name_of(b"2"): b"2"})
    assert [list(one.names()) for one in (below, above)] == [[name_of(b"1")], [name_of(b"2")]]


CALLS = {
    "put": lambda pictures: pictures.put(NAMES),
    "get": lambda pictures: pictures.get(name_of(b"1")),
    "names": lambda pictures: list(pictures.names()),
    "delete": lambda pictures: pictures.delete(NAMES),
    "check": lambda pictures: pictures.check(),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("AWS_ENDPOINT=http://127.0.0.1:9", "cannot be reached; try again"),
        ("AWS_SECRET_ACCESS_KEY=another", "refuses the credentials"),
        ("bucket=missing", "has no bucket of this name"),
    ],
)
def test_store_that_cannot_be_used_says_why(bucket, monkeypatch, call, setting, why):
    name, _, value = setting.partition("=")
    monkeypatch.setenv(name, value)
    pictures = ObjectPictures.at("s3://missing/pictures" if name == "bucket" else bucket)
    with pytest.raises(StoreAway, match=why):
        CALLS[call](pictures)


def test_nothing_is_begun_once_the_store_has_failed(monkeypatch):
    begun = []

    def fail(*_):
        begun.append(1)
        time.sleep(0.01)
        raise GenericError("away")

    monkeypatch.setattr(obstore, "head", fail)
    with pytest.raises(StoreAway):
        ObjectPictures(MemoryStore()).missing(name_of(b"%d" % i) for i in range(1_000))
    assert THREADS <= len(begun) < 1_000


@pytest.mark.parametrize("url", ["ftp://there/x", "s3:/x://"])
def test_unknown_store_is_refused(url):
    with pytest.raises(ValueError, match="name a folder, or s3://BUCKET/PATH"):
        ObjectPictures.at(url)


def test_catalog_keeps_its_pictures_in_a_store(tmp_path, entry):
    (tmp_path / "objects").mkdir()
    storage = Storage(tmp_path / "data", pictures=f"file://{tmp_path / 'objects'}")
    catalog = Catalog(storage)
    home = catalog.names.make("default", fingerprint="a", dimension=8, score="sum_of_max")
    catalog.put_many(home, [entry("a"), entry("b")])
    catalog.delete(home, "a")
    assert catalog.picture(home, "b").jpeg == b"jpeg"
    catalog.delete(home, "b")
    catalog.purge(home, catalog.revision(home))
    assert list(catalog.pictures.names()) == []
    catalog.close()
    assert not (tmp_path / "data" / "pictures").exists()
