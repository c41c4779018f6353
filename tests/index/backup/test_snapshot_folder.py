"""The folder of snapshots lists its own, and spares others."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from index.backup import archive as archives
from index.backup.snapshot_folder import Snapshots
from index.disk import hold_lock


def quiet(*_: object) -> None:
    pass


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "snapshots"


@pytest.fixture
def shelf(catalog, folder: Path) -> Snapshots:
    """A folder with one snapshot."""
    shelf = Snapshots(folder)
    shelf.make(catalog, quiet)
    return shelf


def head(**changed: object) -> bytes:
    """An archive without anything behind its head."""
    whole = {"form": 1, "made": archives.now(), "collections": [], "pictures": 0}
    text = json.dumps(whole | changed).encode()
    return archives._member("snapshot.json", len(text)).tobuf() + text.ljust(512, b"\0")


def test_anything_that_ends_in_tar_is_listed_and_hides_no_snapshot(shelf, folder, tmp_path):
    (made,) = shelf.all()
    (tmp_path / "outside.tar").write_bytes((folder / made.name).read_bytes())
    (folder / "my photos.tar").write_bytes((folder / made.name).read_bytes())
    (folder / "holiday.tar").write_bytes(b"not ours")
    (folder / "empty.tar").touch()
    (folder / "folder.tar").mkdir()
    (folder / "link.tar").symlink_to(tmp_path / "outside.tar")
    (folder / "broken.tar").symlink_to(tmp_path / "nowhere")
    os.mkfifo(folder / "pipe.tar")
    (folder / ".tar").touch()
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.tar")).touch()
    (folder / "other.txt").touch()
    stored, foreign = shelf.list_files()
    assert stored == [made]
    problems = {file.name: file.problem for file in foreign}
    assert problems.pop("my photos.tar").startswith("its name is not one of a snapshot")
    assert problems.pop("holiday.tar")
    assert "ends before" in problems.pop("empty.tar")
    assert problems.pop("folder.tar") == "it is a folder"
    assert {problems.pop("link.tar"), problems.pop("broken.tar")} == {
        "it is a link to another file"
    }
    assert problems.pop("pipe.tar") == "it is no regular file"
    assert problems.keys() == {".tar", "caf\\xe9.tar"}
    assert {file.name: file.size for file in foreign}["holiday.tar"] == 8
    assert str(folder) not in str(foreign)


@pytest.mark.parametrize(
    "changed",
    [
        {"made": "yesterday"},
        {"made": "2026-01-01T00:00:00"},
        {"made": None},
        {"pictures": -1},
        {"pictures": float("nan")},
        {"pictures": True},
        {"collections": [{"name": "a"}]},
        {"collections": [["a"]]},
        {"collections": 1},
        {"collections": [{"name": "\ud800", "fingerprint": "", "revision": 0, "items": 0}]},
        {"collections": [{"name": "a", "fingerprint": 1, "revision": 0, "items": 0}]},
        {"collections": [{"name": "a", "fingerprint": "", "revision": 0, "items": 2**70}]},
        {"form": [1]},
    ],
)
def test_a_head_that_says_nonsense_is_foreign(shelf, folder, changed):
    (folder / "odd.tar").write_bytes(head(**changed))
    stored, foreign = shelf.list_files()
    assert (len(stored), [file.name for file in foreign]) == (1, ["odd.tar"])


def test_a_head_that_nests_is_foreign(shelf, folder):
    text = b"[" * 100_000
    member = archives._member("snapshot.json", len(text)).tobuf()
    (folder / "odd.tar").write_bytes(member + text.ljust(196 * 512, b"\0"))
    assert [file.name for file in shelf.list_files()[1]] == ["odd.tar"]


def test_a_file_that_vanishes_meanwhile_is_left_out(shelf, folder, monkeypatch):
    (made,) = shelf.all()
    read_head = archives.read_head

    def vanish(path: Path) -> archives.ArchiveHead:
        path.unlink()
        return read_head(path)

    monkeypatch.setattr(archives, "read_head", vanish)
    assert shelf.list_files() == ([], [])
    with pytest.raises(LookupError, match="GET /snapshots"):
        shelf.path(made.name)


def test_a_file_that_cannot_be_read_is_named_with_its_reason(shelf, monkeypatch):
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(archives, "read_head", refuse)
    stored, (foreign,) = shelf.list_files()
    assert (stored, foreign.problem) == ([], "Permission denied")


def test_foreign_files_are_neither_given_out_nor_deleted(shelf, folder, tmp_path):
    (folder / "holiday.tar").write_bytes(b"not ours")
    (tmp_path / "secret").write_bytes(b"a key")
    (folder / "link.tar").symlink_to(tmp_path / "secret")
    (folder / "folder.tar").mkdir()
    for name in ("holiday.tar", "link.tar", "folder.tar"):
        for work in (shelf.path, shelf.delete):
            with pytest.raises(LookupError, match=f"'{name}' is no snapshot"):
                work(name)
    assert len(list(folder.glob("*.tar"))) == 4


def test_a_damaged_snapshot_of_ours_can_be_deleted(shelf, folder):
    (made,) = shelf.all()
    (folder / made.name).write_bytes(b"damaged")
    assert [file.name for file in shelf.list_files()[1]] == [made.name]
    shelf.delete(made.name)
    assert shelf.list_files() == ([], [])


def test_unfinished_work_of_others_stays(shelf, folder, catalog):
    """A killed process's leftovers go, and nothing of a like name."""
    ours = "tessera-20260101T000000Z-00ff.tar"
    for name in ("holiday.partial", "photos.tar.partial", f"{ours}.partial"):
        (folder / name).mkdir()
        (folder / name / "a").touch()
    for name in ("film.making", f"{ours}.making"):
        (folder / name).touch()
    (folder / "folder.making").mkdir()
    with hold_lock(folder / "film.making"):
        assert shelf.making() is None
        shelf.make(catalog, quiet)
    left = {path.name for path in folder.iterdir() if path.suffix not in ("", ".tar")}
    assert left == {"holiday.partial", "photos.tar.partial", "film.making", "folder.making"}
    assert (folder / "holiday.partial" / "a").exists()


def test_a_failed_snapshot_leaves_nothing(shelf, folder, catalog):
    before = sorted(folder.iterdir())

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="disk is full"):
        shelf.make(catalog, fail)
    assert sorted(folder.iterdir()) == before
    assert shelf.making() is None


def test_a_folder_in_the_way_of_a_snapshot_stays(catalog, tmp_path):
    from index.backup.snapshots import snapshot

    (tmp_path / "monday.tar.partial").mkdir()
    (tmp_path / "monday.tar.partial" / "mine").touch()
    with pytest.raises(FileExistsError, match="is in the way"):
        snapshot(catalog, tmp_path / "monday.tar", quiet)
    assert (tmp_path / "monday.tar.partial" / "mine").exists()
