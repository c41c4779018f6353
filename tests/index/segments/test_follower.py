"""The follower: it publishes the catalog's contents, and repairs its files."""

import errno
import os
import shutil
import sqlite3
from dataclasses import replace
from itertools import pairwise
from threading import Event

import numpy as np
import pytest
import torch

from index.catalog import reembedding
from index.catalog.catalog import Catalog
from index.search.index import Index
from index.search.requests import Request
from index.segments import candidates, manifest, rows
from index.segments import segment as segments
from index.segments.follower import Follower, Sizes
from index.segments.follower_process import Followers, catch_up, elect
from index.segments.rows import SIDES
from models.scores.scoring import SCORES
from models.text.queries import Query

TINY = Sizes(chunk=8, least=1, quiet=0.0, largest=192)
ALL = 1_000


def work(follower):
    while follower.step(flush=True):
        pass


@pytest.fixture(autouse=True)
def without_power_cuts(monkeypatch):
    """Flush nothing to the disk: no test here cuts the power."""
    monkeypatch.setattr(segments, "sync", lambda path: None)
    monkeypatch.setattr(manifest, "sync", lambda path: None)


@pytest.fixture
def directory(segments_folder, collection):
    return segments_folder / collection.token


@pytest.fixture
def published(catalog, collection, directory):
    """The manifest's segments, opened again."""

    def read():
        listed = manifest.read(directory, collection.token).segments
        return [segments.map_folder(directory / one.folder, one.span, one.sums) for one in listed]

    return read


@pytest.fixture
def complete(catalog, collection, directory, published):
    """Says whether segments hold the catalog's rows, and no others."""

    def check():
        with catalog.reading(collection) as view:
            newest, current = view.revision, view.revisions()
            truth = segments.of_bags(
                view.bags(0, newest)[0],
                segments.RevisionSpan(0, newest, newest, view.mark(newest)),
                SCORES["sum_of_max"],
                collection.dimension,
            )
        chain = [segment.only(current) for segment in published()]
        assert [one.span.after for one in chain] == [0, *(one.span.until for one in chain[:-1])]
        assert chain[-1].span.until == newest
        for side in SIDES:
            joined = rows.join([one.sides[side] for one in chain], rows.in_memory)
            for name in rows.STORED:
                assert getattr(joined, name).tolist() == getattr(truth.sides[side], name).tolist()
        return True

    return check


@pytest.fixture
def fresh(catalog, collection, segments_folder):
    """An index as another process opens it."""
    return lambda: Index(catalog, collection, segments_folder)


@pytest.fixture
def everything(sentence_bag):
    return Request("images", Query.of(sentence_bag(3)), limit=ALL)


@pytest.fixture
def fill(catalog, collection, entry):
    def put(count, start=0):
        numbers = range(start, start + count)
        catalog.put_many(collection, [entry(f"{i:03}", sentences=1) for i in numbers])

    return put


@pytest.fixture
def at_random(catalog, collection, entry, random):
    """Puts, replaces and deletes some items."""

    def number(most):
        return int(torch.randint(0, most, (1,), generator=random))

    def change():
        new = [f"{number(30)}" for _ in range(1 + number(12))]
        catalog.put_many(collection, [entry(one, sentences=number(3)) for one in new])
        for item in catalog.list_items(collection, after=f"{number(9)}", limit=number(6)):
            catalog.delete(collection, item.id)

    return change


@pytest.mark.parametrize("seed", range(3))
def test_what_is_published_is_what_the_catalog_has(
    catalog, collection, directory, at_random, entry, random, fresh, everything, right, complete,
    seed,
):  # fmt: skip
    random.manual_seed(seed)
    reader, now = fresh(), Follower(catalog, collection, directory, TINY)
    for step in range(15):
        at_random()
        match step % 5:
            case 0 | 2:
                now.step()
            case 1:
                work(now)
            case 3:
                work(now)
                now.forget()
            case 4:  # a follower that starts over with the others' files
                now = Follower(catalog, collection, directory, TINY)
        assert right(everything, reader.best(everything))
    assert right(everything, fresh().best(everything))
    catalog.replace(collection, entry("last"))
    work(now)
    assert complete()


@pytest.mark.parametrize("batch", [8, 120])  # as they come, or all at once
def test_segments_merge_so_that_there_are_few_and_rows_are_seldom_rewritten(
    follower, fill, complete, published, monkeypatch, batch
):
    written, write = [], segments.write

    def counted(parts, directory, score):
        written.append(sum(part.count for part in parts))
        return write(parts, directory, score)

    monkeypatch.setattr(segments, "write", counted)
    for start in range(0, 120, batch):
        fill(batch, start)
        work(follower)
    assert complete()
    assert sum(written) <= 5 * 2 * 120
    counts = [one.count for one in published()]
    assert len(counts) <= 6
    for older, newer in pairwise(counts):
        assert older + newer > TINY.largest or older > 2 * newer
    assert max(counts) <= TINY.largest


def test_few_changes_wait_until_it_is_quiet(catalog, collection, directory, fill, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("index.segments.follower.monotonic", lambda: now[0])
    following = Follower(catalog, collection, directory, Sizes(chunk=8, least=3, quiet=2.0))
    fill(2)
    assert not following.step()
    now[0] += 10
    assert not following.step()  # too few, however quiet
    fill(1, 2)
    assert not following.step()
    now[0] += 1.9
    assert not following.step()
    now[0] += 0.2
    assert following.step()
    fill(8, 3)
    assert following.step()  # enough, however busy


def test_neighbours_less_alike_merge_once_nothing_changes(
    catalog, collection, directory, fill, published, complete, monkeypatch
):
    now = [100.0]
    monkeypatch.setattr("index.segments.follower.monotonic", lambda: now[0])
    following = Follower(
        catalog, collection, directory, Sizes(chunk=8, least=1, quiet=0.0, rest=60.0)
    )
    fill(8)
    work(following)
    fill(2, 8)
    work(following)
    assert [part.count for part in published()] == [16, 4]
    now[0] += 59
    work(following)
    assert len(published()) == 2
    now[0] += 2
    work(following)
    assert [part.count for part in published()] == [20]
    assert complete()


def test_segments_grow_larger_once_nothing_changes(
    catalog, collection, directory, fill, published, complete, monkeypatch
):
    now = [100.0]
    monkeypatch.setattr("index.segments.follower.monotonic", lambda: now[0])
    sizes = Sizes(chunk=8, least=1, quiet=0.0, largest=16, largest_at_rest=40)
    following = Follower(catalog, collection, directory, sizes)
    for start in (0, 8, 16):
        fill(8, start)
        work(following)
    assert [part.count for part in published()] == [16, 16, 16]
    now[0] += 61
    work(following)
    assert [part.count for part in published()] == [16, 32]
    assert complete()


@pytest.fixture
def leave_free(monkeypatch):
    """Lets a follower see so many free bytes on the disk."""
    disk = shutil.disk_usage(".")

    def leave(free):
        monkeypatch.setattr(
            "index.segments.follower.shutil.disk_usage", lambda _: disk._replace(free=free)
        )

    return leave


def count_bytes(parts):
    """The bytes of segments' files."""
    return sum(size for part in parts for size, _ in part.sums.values())


def test_merges_wait_for_room_beyond_what_they_write(
    follower, fill, published, complete, leave_free, caplog
):
    leave_free(0)
    for start in (0, 8, 16):
        fill(8, start)
        work(follower)
    parts = published()
    assert [part.count for part in parts] == [16, 16, 16]  # changes are published all the same
    assert sum("too little room" in message for message in caplog.messages) == 1
    leave_free(2 * count_bytes(parts))
    work(follower)
    assert [part.count for part in published()] == [48]
    assert complete()


def test_fewer_neighbours_merge_where_not_all_fit(follower, fill, published, complete, leave_free):
    leave_free(0)
    for start in (0, 8, 16):
        fill(8, start)
        work(follower)
    parts = published()
    leave_free(2 * count_bytes(parts[1:]))
    work(follower)
    assert [part.count for part in published()] == [16, 32]
    assert complete()


def test_waste_is_given_back_where_what_stays_fits(
    catalog, collection, follower, fill, published, complete, leave_free
):
    fill(32)
    work(follower)
    before = count_bytes(published())
    for i in range(17):
        catalog.delete(collection, f"{i:03}")
    leave_free(before // 2)
    work(follower)
    assert sum(part.count for part in published()) == 2 * 15
    assert count_bytes(published()) < before
    assert complete()


def test_former_segments_make_room_at_once(
    catalog, collection, directory, fill, published, monkeypatch
):
    fill(32)
    work(Follower(catalog, collection, directory, TINY))  # which holds its segments no longer
    former = {path for path in directory.iterdir() if path.is_dir()}
    monkeypatch.setattr(manifest, "FORM", manifest.FORM + 1)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    following = Follower(catalog, collection, directory, TINY)
    with monkeypatch.context() as patch:
        patch.setattr(segments, "write", full)
        with pytest.raises(OSError, match="No space"):
            following.step()
    assert not former & {*directory.iterdir()}
    work(following)
    assert sum(part.count for part in published()) == 2 * 32


def test_photos_alone_count_where_sentences_are_retired(
    catalog, collection, follower, fill, published
):
    fill(16)
    work(follower)
    (part,) = published()
    images = sum(size for name, (size, _) in part.sums.items() if name.startswith("images"))
    retired = replace(part.sides["sentences"], live=np.zeros(len(part.sides["sentences"]), bool))
    alone = replace(part, sides=part.sides | {"sentences": retired})
    assert alone.live_size == images < part.live_size


def test_waste_is_given_back(catalog, collection, follow, fill, published, complete):
    fill(32)
    follow()
    before = sum(one.size for one in published())
    for i in range(30):
        catalog.delete(collection, f"{i:03}")
    follow()
    assert sum(one.size for one in published()) < before / 8
    assert complete()


def test_collection_that_is_empty_again_has_no_rows(
    catalog, collection, follow, fill, fresh, everything
):
    fill(5)
    follow()
    for i in range(5):
        catalog.delete(collection, f"{i:03}")
    follow()
    assert fresh().best(everything).hits == ()
    assert fresh().snapshot().unpublished == 0


def data_of(path):
    return bytearray(path.read_bytes())


def flip_a_bit(path):
    data = data_of(path)
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def zero_a_block(path):
    path.write_bytes(bytes(len(data_of(path))))


def truncate(path):
    os.truncate(path, path.stat().st_size // 2)


def remove(path):
    path.unlink()


@pytest.mark.parametrize("harm", [flip_a_bit, zero_a_block, truncate, remove])
def test_harm_to_any_file_is_found_and_built_again(
    catalog, collection, directory, fill, fresh, everything, right, complete, published,
    monkeypatch, caplog, harm,
):  # fmt: skip
    monkeypatch.setattr(candidates, "SCANNED", 8)
    now = Follower(catalog, collection, directory, TINY)
    fill(20)
    work(now)
    names = sorted({path.name for path in directory.rglob("*-*.npy")} | {"images.faiss"})
    assert len(names) == 2 * len(rows.STORED) + 1
    for number, name in enumerate(names):
        harmed = published()[0].folder
        caplog.clear()
        harm(harmed / name)
        assert right(everything, fresh().best(everything))  # another process finds it first
        assert harmed.name in caplog.text
        if number % 2:  # the follower was ended meanwhile
            now = Follower(catalog, collection, directory, TINY)
        work(now)
        assert complete()
        assert not harmed.exists()
        assert fresh().snapshot().unpublished == 0


def test_lost_folders_are_built_again(
    directory, follower, follow, fill, fresh, everything, right, complete, caplog
):
    fill(40)
    follow()
    for _ in range(3):
        shutil.rmtree(next(directory.glob("*/")))
        assert right(everything, fresh().best(everything))
        follow()
        assert complete()
    shutil.rmtree(directory)
    assert right(everything, fresh().best(everything))
    follow()
    assert complete()


def without_manifest(path):
    path.unlink()


def of_another_token(path):
    manifest.publish(path.parent, manifest.Manifest("another", ()))


def no_json(path):
    path.write_text("{")


def no_object(path):
    path.write_text("[]")


def wrong_checksum(path):
    path.write_text(path.read_text().replace('"checksum": "', '"checksum": "0'))


@pytest.mark.parametrize(
    "harm", [without_manifest, of_another_token, no_json, no_object, wrong_checksum, truncate]
)
def test_harmed_manifest_is_written_again(
    catalog, collection, directory, follower, fill, fresh, everything, right, complete, caplog, harm
):
    fill(20)
    work(follower)
    for now in (follower, Follower(catalog, collection, directory, TINY)):
        caplog.clear()
        harm(directory / manifest.NAME)
        assert right(everything, fresh().best(everything))
        assert "again" in caplog.text or harm is without_manifest
        work(now)
        assert complete()


@pytest.mark.parametrize("name", ["codes", "positions", "scales", "summaries"])
@pytest.mark.parametrize("with_what", [b"\0", b"\xa5"])
def test_row_that_disagrees_with_the_catalog_is_built_again(
    directory, follow, fill, index, everything, right, complete, monkeypatch, caplog, published,
    name, with_what,
):  # fmt: skip
    monkeypatch.setattr(segments, "SMALL", 128)  # so that every file is mapped
    fill(20)
    follow()
    assert right(everything, index.best(everything))
    folder = published()[0].folder
    with (folder / f"images-{name}.npy").open("r+b") as file:
        file.seek(128)
        file.write(60 * with_what)  # under the eyes of a reader that has it mapped
    assert right(everything, index.best(everything))
    assert f"segment {folder.name} does not agree with the catalog" in caplog.text
    follow()
    assert not folder.exists() or (folder / segments.BROKEN).exists()
    assert complete()
    assert right(everything, index.best(everything))


def test_what_rotted_on_disk_is_not_merged(directory, follow, fill, published, complete, caplog):
    fill(20)
    follow()
    folder = published()[0].folder
    flip_a_bit(folder / "images-codes.npy")
    fill(20, 20)
    follow()
    assert "images-codes.npy" in caplog.text
    assert not folder.exists()
    assert complete()


def test_healthy_collection_is_never_reported(
    catalog, collection, follow, index, entry, everything, sentence_bag, caplog
):
    for magnitude in (1e-3, 1.0, 1e3):
        one = entry(f"{magnitude}")
        one.images[0].vectors.mul_(magnitude)
        catalog.replace(collection, one)
    follow()
    for _ in range(20):
        query = Query((sentence_bag(3), sentence_bag(2)), (1.5, -0.5))
        index.best(Request("images", query, limit=ALL))
        index.best(Request("sentences", Query((sentence_bag(4),), (1.0,), "text"), limit=ALL))
    assert caplog.text == ""


def test_segment_stays_while_a_reader_holds_it(
    directory, follower, follow, fill, fresh, everything, right, published
):
    fill(16)
    follow()
    held = published()[0].folder
    reader = fresh()
    snapshot = reader.snapshot()
    fill(16, 16)
    follow()
    assert held.exists()
    assert len(snapshot.published[0].sides["images"].codes) > 0
    assert right(everything, reader.best(everything))  # and now it has the newer one
    del snapshot
    follow()
    assert not held.exists()


def test_restored_database_never_shows_what_vanished(
    catalog, collection, tmp_path, segments_folder, follow, fill, entry, everything, complete,
    brute_force, caplog,
):  # fmt: skip
    fill(20)
    follow()
    with sqlite3.connect(tmp_path / "data" / "catalog.sqlite") as connection:
        connection.execute("VACUUM INTO ?", [str(tmp_path / "backup.sqlite")])
    connection.close()
    fill(12, start=500)  # these vanish,
    catalog.delete(collection, "003")  # and this one comes back
    follow()
    catalog.close()
    for path in (tmp_path / "data").glob("catalog.sqlite*"):
        path.unlink()
    shutil.copy(tmp_path / "backup.sqlite", tmp_path / "data" / "catalog.sqlite")
    restored = Catalog.in_folder(tmp_path / "data")
    kept = {f"{i:03}" for i in range(20)}
    for more in (0, 13, 30):  # fewer, as many and more revisions than the other history had
        new = [entry(f"new {more} {i}") for i in range(more)]
        restored.put_many(collection, new)
        kept |= {one.id for one in new}
        index = Index(restored, collection, segments_folder)
        assert {hit.item for hit in index.best(everything).hits} == kept
    assert "another history" in caplog.text
    now = Follower(restored, collection, segments_folder / collection.token, TINY)
    work(now)
    index = Index(restored, collection, segments_folder)
    assert {hit.item for hit in index.best(everything).hits} == kept
    assert index.snapshot().unpublished == 0
    restored.close()


def test_retirements_are_forgotten_once_they_are_written(
    catalog, collection, follower, follow, fill, fresh, everything, right, complete
):
    old = fresh()
    fill(20)
    follow()
    assert right(everything, old.best(everything))
    for i in range(15):
        catalog.delete(collection, f"{i:03}")
    follow()
    follower.forget()
    with catalog.reading(collection) as view:
        assert view.floor == view.revision
    assert complete()
    assert right(everything, old.best(everything))
    assert right(everything, fresh().best(everything))
    fill(3, 100)
    follow()
    assert complete()


def test_file_times_in_the_future_play_no_role(
    directory, follower, follow, fill, complete, published
):
    for start in range(0, 24, 6):
        fill(6, start)
        follow()
        for path in directory.rglob("*"):
            os.utime(path, (4e9, 4e9) if start % 12 else (0, 0))
    follow()
    assert complete()
    assert set(directory.glob("*/")) == {one.folder for one in published()}


def test_disk_that_is_full_ends_nothing(
    catalog, collection, directory, follower, fill, fresh, everything, right, complete, monkeypatch
):
    fill(12)
    work(follower)
    for broken in ((segments, "sync"), (manifest, "sync"), (candidates, "build")):
        fill(12, 100)

        def full(*_):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(*broken, full)
            with pytest.raises(OSError, match="No space left"):
                follower.step(flush=True)
            assert right(everything, fresh().best(everything))
        work(follower)
        assert complete()


def test_following_goes_on_after_a_failure(
    catalog, collection, tmp_path, fill, complete, monkeypatch, caplog
):
    fill(12)
    following = Followers(catalog, tmp_path / "data", TINY)
    stopped = Event()
    write, failures = segments.write, iter([True, True])

    def sometimes(parts, directory, score):
        if next(failures, False):
            raise OSError(28, "No space left on device")
        return write(parts, directory, score)

    monkeypatch.setattr(segments, "write", sometimes)
    monkeypatch.setattr("index.segments.follower_process.RETRY", 0.0)
    monkeypatch.setattr("index.segments.follower_process.POLL", 0.0)
    step, rests = following.step, iter([True, True])
    monkeypatch.setattr(
        following, "step", lambda: step() or (None if next(rests, False) else stopped.set())
    )
    following.run(stopped)
    assert caplog.text.count("tried again") == 2
    assert complete()


def test_collections_that_are_being_reembedded_are_followed_too(
    catalog, collection, tmp_path, segments_folder, fill, monkeypatch
):
    monkeypatch.setattr("index.segments.follower_process.TIDY", 0.0)
    monkeypatch.setattr("index.catalog.catalog.PAUSE", 0.0)
    fill(10)
    wanted = {"fingerprint": "model-b", "dimension": 8, "score": "sum_of_max"}
    batches = []

    def interrupted(entries):
        if len(batches) == 2:
            raise KeyboardInterrupt
        batches.append(entries)
        return entries

    reembed = dict(name="default", **wanted, progress=lambda *_: None, batch=3)
    with pytest.raises(KeyboardInterrupt):
        reembedding.reembed(catalog, embed=interrupted, **reembed)
    following = Followers(catalog, tmp_path / "data", TINY)
    while following.step():
        pass
    (nameless,) = {one.token for one in catalog.names.list_followed()} - {collection.token}
    assert manifest.read(segments_folder / nameless, nameless).until == 6
    assert manifest.read(segments_folder / collection.token, collection.token).until == 10
    new = reembedding.reembed(catalog, embed=lambda entries: entries, **reembed)
    while following.step():
        pass
    assert new.token == nameless
    assert manifest.read(segments_folder / nameless, nameless).until == 10
    assert [path.name for path in segments_folder.iterdir()] == [nameless]  # the old one's go


def test_one_is_elected_and_another_only_after_it_let_go(tmp_path):
    first = elect(tmp_path)
    assert elect(tmp_path) is None
    os.close(first)
    second = elect(tmp_path)
    assert second is not None
    os.close(second)


def test_collection_that_fails_does_not_stop_the_others(
    catalog, collection, entry, tmp_path, monkeypatch, caplog
):
    other = catalog.names.make("other", fingerprint="m", dimension=8, score="sum_of_max")
    for one in (collection, other):
        catalog.put_many(one, [entry(f"{i}") for i in range(9)])
    now, write = [100.0], segments.write
    monkeypatch.setattr("index.segments.follower_process.monotonic", lambda: now[0])
    folder = blocked = tmp_path / "data" / "segments"

    def refuse(parts, directory, score):
        if directory == blocked / collection.token:
            raise OSError("no room")
        return write(parts, directory, score)

    monkeypatch.setattr(segments, "write", refuse)
    following = Followers(catalog, tmp_path / "data", TINY)
    while following.step():
        pass
    assert "'default' cannot be followed" in caplog.text
    assert str(following.failure) == "no room"
    assert manifest.read(folder / other.token, other.token).until == 9
    blocked = tmp_path
    assert not following.step()  # it rests
    now[0] += 10
    while following.step():
        pass
    assert manifest.read(folder / collection.token, collection.token).until == 9


def test_what_fails_in_one_go_is_told(catalog, collection, entry, tmp_path, monkeypatch):
    def refuse(parts, directory, score):
        raise OSError("no room")

    enough = [entry(f"{i}", sentences=0) for i in range(Sizes().least)]
    catalog.put_many(collection, enough)
    monkeypatch.setattr(segments, "write", refuse)
    with pytest.raises(OSError, match="no room"):
        catch_up(catalog, tmp_path / "data")
