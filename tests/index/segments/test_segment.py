"""Segments: written and read, refused if harmed, held if open."""

import errno
import fcntl
import gc
import os
from contextlib import closing

import numpy as np
import pytest

from index.segments import candidates
from index.segments import segment as segments
from index.segments.follower import Sizes
from index.segments.rows import SIDES
from index.segments.segment import Hold, RevisionSpan
from models.scores.scoring import SCORES

SUM_OF_MAX = SCORES["sum_of_max"]
SPAN = RevisionSpan(0, 40, 40, "a mark")


@pytest.fixture
def in_memory(catalog, collection, entry):
    catalog.put_many(collection, [entry(f"{i:03}", sentences=1) for i in range(40)])
    with catalog.reading(collection) as view:
        return segments.of_bags(view.bags(0, 40)[0], SPAN, SUM_OF_MAX, 8)


@pytest.fixture
def written(in_memory, tmp_path, monkeypatch):
    """A segment's folder and its files; both sides have codes for FAISS."""
    monkeypatch.setattr(candidates, "SCANNED", 10)
    return segments.write([in_memory], tmp_path / "here", SUM_OF_MAX)


def test_segment_comes_back_from_disk_as_it_was(in_memory, written):
    opened = segments.map_folder(written[0], SPAN, written[1])
    for side in SIDES:
        for name in segments.STORED:
            ours, theirs = (getattr(one.sides[side], name) for one in (in_memory, opened))
            assert ours.dtype == theirs.dtype
            assert ours.tolist() == theirs.tolist()
            assert not theirs.flags.writeable
        assert opened.structures[side].index.ntotal == 40
    assert opened.structures.keys() == set(SIDES)


def test_segment_without_rows_is_a_segment_too(in_memory, tmp_path):
    none = in_memory.only(np.empty(0, np.int64))
    folder, sums = segments.write([none], tmp_path / "here", SUM_OF_MAX)
    opened = segments.map_folder(folder, SPAN, sums)
    assert (opened.count, opened.size, opened.structures) == (0, 0, {})


def flip_a_bit(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 4
    path.write_bytes(data)


def zero_a_block(path):
    data = path.read_bytes()
    path.write_bytes(data[:-64] + bytes(64) if data[-64:] != bytes(64) else b"x" * len(data))


def truncate(path):
    os.truncate(path, path.stat().st_size - 1)


def lengthen(path):
    path.write_bytes(path.read_bytes() + b"\0")


def remove(path):
    path.unlink()


@pytest.mark.parametrize("harm", [flip_a_bit, zero_a_block, truncate, lengthen, remove])
def test_harm_to_any_file_is_found(written, harm):
    folder, sums = written
    assert len(sums) == 2 * len(segments.STORED) + 2
    for name in sums:
        whole = (folder / name).read_bytes()
        harm(folder / name)
        with pytest.raises((ValueError, FileNotFoundError), match=name):
            segments.map_folder(folder, SPAN, sums)
        (folder / name).write_bytes(whole)
    assert segments.map_folder(folder, SPAN, sums).count == 80


def test_structure_of_another_segment_is_refused(written, tmp_path):
    folder, _ = written
    with pytest.raises(ValueError, match="has 40 rows, not 39"):
        candidates.read(folder / "images.faiss", 39)
    (tmp_path / "x.faiss").write_bytes(b"nonsense" * 20)
    with pytest.raises(ValueError, match="cannot be read"):
        candidates.read(tmp_path / "x.faiss", 39)


def test_folder_that_was_lost_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        segments.map_folder(tmp_path / "lost", SPAN, {})


def test_segment_is_deleted_only_once_no_one_holds_it(written):
    folder, sums = written
    first, second = (segments.map_folder(folder, SPAN, sums) for _ in range(2))
    assert not segments.discard(folder)
    del first
    assert not segments.discard(folder)
    assert (
        second.sides["images"].codes.sum()
        == segments.map_folder(folder, SPAN, sums).sides["images"].codes.sum()
    )
    del second
    assert segments.discard(folder)
    assert not folder.exists()


def test_segment_without_retired_rows_holds_its_files_too(written):
    folder, sums = written
    whole = segments.map_folder(folder, SPAN, sums)
    part = whole.without(np.array([3]))
    del whole
    assert not segments.discard(folder)
    assert part.sides["images"].live.sum() == 39


def test_hold_that_fails_lets_go_of_nothing_else(written):
    lock = written[0] / segments.LOCK
    with lock.open() as deleting:
        fcntl.flock(deleting, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError) as failed:
            Hold(written[0])
        with lock.open() as other:  # has the number that the hold had
            del failed
            gc.collect()
            assert os.fstat(other.fileno())
    with closing(Hold(written[0])):
        assert not segments.discard(written[0])
    assert segments.discard(written[0])


def test_unfinished_folder_is_deleted(tmp_path):
    (tmp_path / "abc").mkdir()
    (tmp_path / "abc" / "images-codes.npy").write_text("half")
    assert segments.list_unlisted(tmp_path, []) == [tmp_path / "abc"]
    assert segments.discard(tmp_path / "abc")
    assert list(tmp_path.iterdir()) == []


def test_write_that_fails_leaves_nothing_behind(in_memory, tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("fsync", "posix_fallocate"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, lambda *_: full(0))
            with pytest.raises(OSError, match="No space left"):
                segments.write([in_memory], tmp_path / "here", SUM_OF_MAX)
        assert list((tmp_path / "here").iterdir()) == []
    with pytest.raises(OSError, match="not written"):
        candidates.write(candidates.Structure(candidates.library().IndexFlatIP(4)), tmp_path)


def test_neighbours_are_joined_without_their_retired_rows(catalog, collection, entry):
    catalog.put_many(collection, [entry(f"{i}", sentences=2) for i in range(6)])
    with catalog.reading(collection) as view:
        parts = [
            segments.of_bags(
                view.bags(after, after + 2)[0],
                RevisionSpan(after, after + 2, 6, "m"),
                SUM_OF_MAX,
                8,
            ).without(np.array([2, 3]))
            for after in (0, 2, 4)
        ]
    joined = segments.join(parts, RevisionSpan(0, 0, 9, "n"))
    assert joined.span == RevisionSpan(0, 6, 9, "n")
    assert joined.sides["images"].revisions.tolist() == [1, 4, 5, 6]
    assert joined.sides["sentences"].revisions.tolist() == [1, 1, 4, 4, 5, 5, 6, 6]
    assert joined.sides["sentences"].positions.tolist() == [0, 1] * 4
    later = joined.since(4)
    assert (later.span.after, later.sides["images"].revisions.tolist()) == (4, [5, 6])


def test_only_current_rows_count(in_memory):
    current = np.array([1, 2, 39, 77])
    assert np.flatnonzero(in_memory.only(current).sides["images"].live).tolist() == [0, 1, 38]
    assert in_memory.only(current).wasted
    assert not in_memory.wasted
    everything = np.arange(1, 41)
    assert in_memory.only(everything) is in_memory


def test_a_default_segment_is_large_enough_for_a_structure():
    assert Sizes().chunk > candidates.SCANNED
