import json
import shutil

import numpy as np
import pytest

from index import rows, segments
from index.segments import Segments, Sizes

TINY = Sizes(on_disk=2000, chunk=3000, largest=6000)  # bytes: an entry here has about 400


@pytest.fixture
def store(tmp_path):
    return Segments(tmp_path / "segments", 8, TINY)


@pytest.fixture
def view(catalog, collection):
    return lambda: catalog.reading(collection)


def loaded(store, view):
    with view() as now:
        return store.load(now)


def ids(snapshot):
    """The item id of every live row, images and sentences."""
    return sorted(
        rows.item(row)
        for segment in snapshot.segments
        for rows in (segment.images, segment.sentences)
        for row in rows.chosen(None)
    )


def fill(catalog, collection, entry, count):
    catalog.put_many(collection, [entry(f"{i:03}", sentences=1) for i in range(count)])
    return sorted(2 * [f"{i:03}" for i in range(count)])


def test_rows_hold_what_the_catalog_holds(store, view, catalog, collection, entry):
    given = entry("a", sentences=2)
    catalog.put(collection, given)
    (segment,) = loaded(store, view).segments
    for side, bags in ((segment.images, [given.image]), (segment.sentences, given.bags)):
        for row, bag in enumerate(bags):
            assert side.bag(row).vectors.tolist() == bag.vectors.tolist()
            assert side.bag(row).labels == bag.labels
    assert segment.sentences.positions.tolist() == [0, 1]


def test_few_bags_stay_in_memory_and_many_go_to_disk(store, view, catalog, collection, entry):
    fill(catalog, collection, entry, 2)
    assert [one.folder for one in loaded(store, view).segments] == [None]
    fill(catalog, collection, entry, 40)
    assert any(one.folder for one in loaded(store, view).segments)


def test_growing_collection_has_few_segments(store, view, catalog, collection, entry):
    snapshot = loaded(store, view)
    for i in range(60):
        catalog.put(collection, entry(f"{i:03}", sentences=1))
        with view() as now:
            snapshot = store.advance(snapshot, now)
        ends = [(one.after, one.until) for one in snapshot.segments]
        assert [after for after, _ in ends[1:]] == [until for _, until in ends[:-1]]
    assert ids(snapshot) == sorted(2 * [f"{i:03}" for i in range(60)])
    assert len(snapshot.segments) < 12
    assert all(one.size < 3 * TINY.largest for one in snapshot.segments)


def test_deleted_and_replaced_rows_count_no_more(store, view, catalog, collection, entry):
    expected = fill(catalog, collection, entry, 30)
    snapshot = loaded(store, view)
    catalog.put(collection, entry("003", sentences=1))
    catalog.delete(collection, "005")
    with view() as now:
        newer = store.advance(snapshot, now)
    assert ids(newer) == [item for item in expected if item != "005"]
    assert ids(snapshot) == expected  # a search that began earlier is not disturbed


def test_waste_is_given_back(store, view, catalog, collection, entry):
    fill(catalog, collection, entry, 60)
    snapshot = loaded(store, view)
    size = sum(one.size for one in snapshot.segments)
    for i in range(50):
        catalog.delete(collection, f"{i:03}")
    with view() as now:
        snapshot = store.advance(snapshot, now)
    assert sum(one.size for one in snapshot.segments) < size / 2
    assert ids(snapshot) == sorted(2 * [f"{i:03}" for i in range(50, 60)])


def test_segments_on_disk_are_used_again(tmp_path, view, catalog, collection, entry, monkeypatch):
    store = Segments(tmp_path / "segments", 8, Sizes(on_disk=1, chunk=3000, largest=6000))
    expected = fill(catalog, collection, entry, 60)
    before = loaded(store, view)
    catalog.delete(collection, "007")
    monkeypatch.setattr(segments, "_build", lambda bags, *_: pytest.fail(f"built {len(bags)}"))
    after = loaded(store, view)
    assert [one.folder for one in after.segments] == [one.folder for one in before.segments]
    assert ids(after) == [item for item in expected if item != "007"]


def cut_vectors(folder):
    path = folder / "images" / "vectors.npy"
    path.write_bytes(path.read_bytes()[:-8])


def scramble_offsets(folder):
    path = folder / "sentences" / "offsets.npy"
    offsets = np.load(path)
    offsets[1] = 10**9
    np.save(path, offsets)


def empty_description(folder):
    (folder / "segment.json").write_text("")


def lose_an_array(folder):
    (folder / "images" / "ends.npy").unlink()


def claim_other_revisions(folder):
    described = json.loads((folder / "segment.json").read_text())
    (folder / "segment.json").write_text(json.dumps(described | {"until": 10**6}))


def unlink_everything(folder):
    for path in folder.rglob("*.*"):
        path.unlink()


@pytest.mark.parametrize(
    "harm",
    [
        cut_vectors,
        scramble_offsets,
        empty_description,
        lose_an_array,
        claim_other_revisions,
        unlink_everything,
    ],
)
def test_harmed_segment_is_built_again(store, view, catalog, collection, entry, harm):
    expected = fill(catalog, collection, entry, 60)
    for segment in loaded(store, view).segments:
        if segment.folder:
            harm(segment.folder)
    assert ids(loaded(store, view)) == expected


def test_segment_that_lacks_an_item_is_built_again(store, view, catalog, collection, entry):
    expected = fill(catalog, collection, entry, 60)
    folder = next(one.folder for one in loaded(store, view).segments if one.folder)
    for side in ("images", "sentences"):
        whole = rows.mapped(folder / side)
        shutil.rmtree(folder / side)
        (folder / side).mkdir()
        rows.join([whole.without(whole.revisions[:1])], rows.on_disk(folder / side))
    assert ids(loaded(store, view)) == expected


def test_unfinished_and_foreign_files_are_swept_away(store, view, catalog, collection, entry):
    fill(catalog, collection, entry, 3)
    folder = store._directory
    (folder / "abc.partial" / "images").mkdir(parents=True)
    loaded(store, view)
    assert list(folder.iterdir()) == []


def test_full_disk_ends_no_search(store, view, catalog, collection, entry, monkeypatch, caplog):
    expected = fill(catalog, collection, entry, 60)

    def full(_path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(segments, "_sync", full)
    assert ids(loaded(store, view)) == expected
    assert "No space left" in caplog.text
