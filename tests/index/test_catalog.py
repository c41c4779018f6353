import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from index.catalog import Catalog
from index.items import ModelMismatch, Picture


def test_item_comes_back_whole(catalog, collection, entry):
    given = entry("a", metadata={"n": [1, {"x": None}]}, source="/photos/a.jpg", stamp="12 34")
    catalog.put(collection, given)
    back = catalog.entry(collection, "a")
    assert (back.metadata, back.source, back.stamp) == (given.metadata, "/photos/a.jpg", "12 34")
    assert (back.picture, back.sentences) == (given.picture, given.sentences)
    for one, other in zip((back.image, *back.bags), (given.image, *given.bags), strict=True):
        assert torch.equal(one.vectors, other.vectors)
        assert one.labels == other.labels


def test_item_is_described_without_its_picture(catalog, collection, entry):
    revision = catalog.put(collection, entry("a", metadata={"k": 1}))
    item = catalog.get(collection, "a")
    assert (item.id, item.revision, item.metadata) == ("a", revision, {"k": 1})
    assert item.sentences == ("sentence 0 of a", "sentence 1 of a")
    assert (item.width, item.height, item.digest) == (4, 3, "0" * 64)


def test_put_replaces_everything_the_id_had(catalog, collection, entry):
    catalog.put(collection, entry("a", sentences=3, metadata={"old": 1}))
    catalog.put(collection, entry("a", sentences=1, picture=False, metadata={"new": 1}))
    assert catalog.get(collection, "a").sentences == ("sentence 0 of a",)
    assert catalog.list_items(collection, where={"old": 1}) == []
    assert catalog.count(collection) == 1
    with pytest.raises(LookupError, match="no picture"):
        catalog.picture(collection, "a")


def test_picture_comes_back_byte_for_byte(catalog, collection, entry):
    catalog.put(collection, entry("a"))
    assert catalog.picture(collection, "a") == Picture(b"jpeg", 4, 3, "0" * 64)


def test_every_change_has_a_higher_revision(catalog, collection, entry):
    changes = [
        catalog.put(collection, entry("a")),
        *catalog.put_many(collection, [entry("b"), entry("a")]),
        catalog.delete(collection, "b"),
        catalog.put(collection, entry("b")),
    ]
    assert changes == sorted(set(changes))
    with catalog.reading(collection) as view:
        assert view.revision == changes[-1]
        assert view.revisions().tolist() == [changes[2], changes[4]]
        assert sorted(view.retired(0)) == changes[:2]


def test_deleted_item_is_unknown(catalog, collection, entry):
    catalog.put(collection, entry("a"))
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
    object.__setattr__(wrong, "image", image_bag(2, dimension=5))
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
    catalog.put(collection, entry("a", source="a.jpg", stamp="1"))
    catalog.put(collection, entry("b"))
    assert catalog.stamps(collection, ["a.jpg", "b.jpg"]) == {"a.jpg": "1"}


def test_collections_keep_apart(catalog, collection, entry):
    other = catalog.collection("b", fingerprint="model-b", dimension=8, score="sum_of_max")
    catalog.put(collection, entry("a"))
    assert catalog.count(other) == 0
    assert [one.name for one in catalog.collections()] == ["b", "default"]
    assert catalog.find("b") == other


def test_unknown_collection_is_answered_with_the_known_ones(catalog, collection):
    with pytest.raises(LookupError, match="no collection 'x'; there are: default"):
        catalog.find("x")


def test_another_model_is_refused_and_told_the_way_out(catalog, collection):
    with pytest.raises(ModelMismatch, match=r"model-a.*model-b.*tessera index --reembed"):
        catalog.collection("default", fingerprint="model-b", dimension=8, score="sum_of_max")


def test_many_threads_write_and_nothing_is_lost(catalog, collection, entry):
    entries = [entry(f"{i}", sentences=1) for i in range(40)]
    with ThreadPoolExecutor(8) as pool:
        revisions = list(pool.map(lambda one: catalog.put(collection, one), entries))
    assert sorted(revisions) == list(range(1, 41))
    assert catalog.count(collection) == 40


WRITER = """
import sys, torch
from pathlib import Path
from index.catalog import Catalog
from index.items import Entry
from models.types import FragmentBag, Span

catalog = Catalog.in_folder(Path(sys.argv[1]))
collection = catalog.collection("default", fingerprint="m", dimension=2, score="sum_of_max")
bag = FragmentBag(torch.ones(1, 2), (Span(0, 1),), ("a",))
for number in range(int(sys.argv[3])):
    item = f"{sys.argv[2]}{number}"
    catalog.put(collection, Entry(item, sentences=("a",), bags=(bag,)))
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
    collection = catalog.find("default")
    found = {item.id for item in catalog.list_items(collection, limit=10**6)}
    sentences = [catalog.entry(collection, item).bags[0].vectors.tolist() for item in found]
    catalog.close()
    assert sentences == [[[1.0, 1.0]]] * len(found)
    return found


def test_killed_writer_loses_nothing_it_acknowledged(tmp_path):
    with write(tmp_path, "a", 10**6) as process:
        acknowledged = [process.stdout.readline().strip() for _ in range(30)]
        process.send_signal(signal.SIGKILL)
        acknowledged += process.stdout.read().split()
    assert set(acknowledged) <= stored(tmp_path)
    assert len(stored(tmp_path)) <= len(acknowledged) + 1  # one may be stored but not yet told


def test_processes_that_start_at_once_all_write(tmp_path):
    writers = [write(tmp_path, name, 20) for name in "ab"]
    for process in writers:
        _, _ = process.communicate(timeout=60)
        assert process.returncode == 0
    assert stored(tmp_path) == {f"{name}{i}" for name in "ab" for i in range(20)}
