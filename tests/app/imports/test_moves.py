"""Moved files keep their items; deleted photos stay away."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.imports.departed import Departures
from app.imports.folder import find
from app.imports.storing import import_sources
from index.catalog import edits
from index.catalog.edits import Change, ItemSelection
from index.database import deleted_photos
from tests.stored_items import put

Png = Callable[..., bytes]
COLOURS = {"a": "red", "b": "blue", "c": "green"}


@pytest.fixture
def folder(tmp_path: Path, engine: Engine, png: Png, embedded: list[str]) -> Path:
    """A folder of three stored photos."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for name, colour in COLOURS.items():
        (folder / f"{name}.png").write_bytes(png(colour))
    scan(engine, folder)
    embedded.clear()
    return folder


@pytest.fixture
def embedded(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources of embedded drafts."""
    sources = list[str]()
    embed = engine.embed

    def note(drafts: Sequence[Draft]) -> Any:
        sources.extend(Path(draft.source or draft.id).name for draft in drafts)
        return embed(drafts)

    monkeypatch.setattr(engine, "embed", note)
    return sources


@pytest.fixture
def gif() -> bytes:
    """An animation: its digests are those of frames."""
    frames = [Image.new("RGB", (40, 30), colour) for colour in ("cyan", "maroon", "olive")]
    file = BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=100)
    return file.getvalue()


def scan(engine: Engine, *folders: Path) -> list[tuple[str, str]]:
    """Import folders and delete departed items; names with their changes."""
    departures = [Departures(folder) for folder in folders]
    entries = (entry for each in departures for entry in each.watch(find([each.path])))
    outcomes = list(import_sources(engine, "default", entries, batch=2, most_bytes=10**6))
    changes = [(Path(one.place).name, one.change or one.status) for one in outcomes]
    for each in departures:
        gone = each.delete(engine, engine.open("default"), 1)
        changes += [(Path(row.source).name, "deleted") for row in gone]
    return [(name, change) for name, change in changes if change != "skipped"]


def places(engine: Engine) -> dict[str, str]:
    """The names of stored files by id."""
    listed = engine.catalog.list_items(engine.open("default"))
    return {item.id: Path(item.source or "").name for item in listed}


def test_a_renamed_file_keeps_id_vectors_and_what_was_added(
    engine: Engine, folder: Path, embedded: list[str]
) -> None:
    home = engine.open("default")
    edits.patch(engine.catalog, home, "photos/a.png", Change({"tag": "tram"}))
    before = engine.catalog.entry(home, "photos/a.png")
    (folder / "2019 Lisbon").mkdir()
    (folder / "a.png").rename(folder / "2019 Lisbon" / "z.png")
    assert scan(engine, folder) == [("z.png", "renamed")]
    after = engine.catalog.entry(home, "photos/a.png")
    assert after.images[0].vectors.equal(before.images[0].vectors)
    moved = {"file": "photos/2019 Lisbon/z.png", "folder": "photos/2019 Lisbon"}
    assert after.metadata == {**before.metadata, **moved}
    assert after.metadata["tag"] == "tram"
    assert embedded == []
    assert scan(engine, folder) == []


def test_files_that_change_places_keep_their_items(
    engine: Engine, folder: Path, embedded: list[str]
) -> None:
    (folder / "a.png").rename(folder / "x")
    (folder / "b.png").rename(folder / "a.png")
    (folder / "x").rename(folder / "b.png")
    assert sorted(scan(engine, folder)) == [("a.png", "renamed"), ("b.png", "renamed")]
    names = {"photos/a.png": "b.png", "photos/b.png": "a.png", "photos/c.png": "c.png"}
    assert (places(engine), embedded) == (names, [])


def test_a_file_moved_over_another_takes_its_place_alone(
    engine: Engine, folder: Path, embedded: list[str]
) -> None:
    (folder / "a.png").replace(folder / "b.png")
    assert scan(engine, folder) == [("b.png", "renamed"), ("b.png", "deleted")]
    assert places(engine) == {"photos/a.png": "b.png", "photos/c.png": "c.png"}
    assert (embedded, scan(engine, folder)) == ([], [])


@pytest.mark.parametrize("name", ["0.png", "z.png"])
def test_a_new_file_under_the_name_of_a_renamed_one_is_another_item(
    engine: Engine, folder: Path, png: Png, embedded: list[str], name: str
) -> None:
    (folder / "a.png").rename(folder / name)
    (folder / "a.png").write_bytes(png("yellow", size=(30, 30)))
    assert (
        sorted(scan(engine, folder))
        == [(name, "renamed"), ("a.png", "new")][:: 1 if name < "a" else -1]
    )
    assert embedded == ["a.png"]
    assert places(engine)["photos/a.png"] == name
    (other,) = (item for item, file in places(engine).items() if file == "a.png")
    assert other.startswith("photos/a.png~")
    assert scan(engine, folder) == []


def test_a_copy_leaves_the_item_of_the_first(
    engine: Engine, folder: Path, embedded: list[str]
) -> None:
    (folder / "0.png").write_bytes((folder / "a.png").read_bytes())
    os.utime(folder / "a.png", (1, 1))
    assert sorted(scan(engine, folder)) == [("0.png", "new"), ("a.png", "restated")]
    assert places(engine)["photos/a.png"] == "a.png"
    assert embedded == ["0.png"]


def test_a_changed_file_keeps_its_id(
    engine: Engine, folder: Path, png: Png, embedded: list[str]
) -> None:
    (folder / "a.png").write_bytes(png("yellow", size=(30, 30)))
    assert scan(engine, folder) == [("a.png", "changed")]
    assert (places(engine)["photos/a.png"], embedded) == ("a.png", ["a.png"])


def test_a_file_that_moves_to_another_folder_keeps_its_item(
    engine: Engine, folder: Path, tmp_path: Path, embedded: list[str]
) -> None:
    (tmp_path / "more").mkdir()
    (folder / "a.png").rename(tmp_path / "more" / "a.png")
    assert scan(engine, tmp_path / "more") == [("a.png", "renamed")]
    assert scan(engine, folder) == []
    assert (places(engine)["photos/a.png"], embedded) == ("a.png", [])


def test_items_from_elsewhere_stay(engine: Engine, folder: Path, png: Png) -> None:
    put(engine, "default", [Draft("photos/new.png").with_photo(png("red"))])
    for file in folder.iterdir():
        file.unlink()
    assert [change for _, change in scan(engine, folder)] == ["deleted"] * 3
    assert places(engine) == {"photos/new.png": ""}


@pytest.mark.parametrize("many", [True, False])
def test_a_deleted_photo_stays_away_until_it_is_forgotten(
    engine: Engine, folder: Path, embedded: list[str], many: bool
) -> None:
    home = engine.open("default")
    if many:
        edits.delete(engine.catalog, home, ItemSelection(["photos/a.png"]), remember=True)
    else:
        engine.catalog.delete(home, "photos/a.png", remember=True)
    assert scan(engine, folder) == [("a.png", "unread")]
    (folder / "a.png").rename(folder / "z.png")
    os.utime(folder / "z.png", (1, 1))
    assert scan(engine, folder) == [("z.png", "unread")]
    (deleted,) = deleted_photos.list_deleted(engine.catalog.reader, home)
    assert (deleted.id, deleted.place) == ("photos/a.png", str(folder / "a.png"))
    assert deleted_photos.restore(engine.catalog.writer, home, {deleted.id}) == {deleted.id}
    assert scan(engine, folder) == [("z.png", "new")]
    assert embedded == ["z.png"]


def test_a_restored_photo_comes_though_its_deleted_copy_stays_away(
    engine: Engine, folder: Path
) -> None:
    (folder / "copy.png").write_bytes((folder / "a.png").read_bytes())
    scan(engine, folder)
    home = engine.open("default")
    for name in ("a", "copy"):
        engine.catalog.delete(home, f"photos/{name}.png", remember=True)
    assert sorted(scan(engine, folder)) == [("a.png", "unread"), ("copy.png", "unread")]
    deleted_photos.restore(engine.catalog.writer, home, {"photos/a.png"})
    for change in ([("a.png", "new")], []):
        assert sorted(set(scan(engine, folder)) - {("copy.png", "unread")}) == change
    assert places(engine)["photos/a.png"] == "a.png"
    assert "photos/copy.png" not in places(engine)


def test_a_photo_whose_copy_was_deleted_may_be_renamed(engine: Engine, folder: Path) -> None:
    (folder / "copy.png").write_bytes((folder / "a.png").read_bytes())
    scan(engine, folder)
    engine.catalog.delete(engine.open("default"), "photos/copy.png", remember=True)
    (folder / "a.png").rename(folder / "z.png")
    assert sorted(scan(engine, folder)) == [("copy.png", "unread"), ("z.png", "renamed")]
    assert places(engine)["photos/a.png"] == "z.png"


def test_the_file_of_a_deleted_copy_takes_over_from_a_lost_one(
    engine: Engine, folder: Path, embedded: list[str]
) -> None:
    copy, home = folder / "a (1).png", engine.open("default")
    copy.write_bytes((folder / "a.png").read_bytes())
    scan(engine, folder)
    engine.catalog.delete(home, "photos/a.png", remember=True)
    assert scan(engine, folder) == [("a.png", "unread")]
    copy.unlink()
    assert scan(engine, folder) == [("a.png", "renamed")]
    assert places(engine)["photos/a (1).png"] == "a.png"
    assert embedded == ["a (1).png"]
    assert scan(engine, folder) == []


def test_a_deleted_copy_stays_away_where_the_other_one_is_edited(
    engine: Engine, folder: Path, png: Png
) -> None:
    copy, home = folder / "a (1).png", engine.open("default")
    copy.write_bytes((folder / "a.png").read_bytes())
    scan(engine, folder)
    engine.catalog.delete(home, "photos/a.png", remember=True)
    copy.write_bytes(png("yellow", size=(30, 30)))
    assert sorted(scan(engine, folder)) == [("a (1).png", "changed"), ("a.png", "unread")]
    assert places(engine)["photos/a (1).png"] == "a (1).png"


def test_a_deleted_video_takes_over_from_its_lost_copy(
    engine: Engine, folder: Path, gif: bytes
) -> None:
    for number, name in enumerate(("v.gif", "w.gif")):
        (folder / name).write_bytes(gif)
        os.utime(folder / name, (number, number))
    scan(engine, folder)
    engine.catalog.delete(engine.open("default"), "photos/v.gif", remember=True)
    assert scan(engine, folder) == [("v.gif", "unread")]
    os.utime(folder / "w.gif", (5, 5))  # which is still there
    assert ("v.gif", "unread") in scan(engine, folder)
    (folder / "w.gif").unlink()
    assert scan(engine, folder) == [("v.gif", "renamed")]
    assert places(engine)["photos/w.gif"] == "v.gif"


def test_photos_of_which_all_copies_were_deleted_stay_away(engine: Engine, folder: Path) -> None:
    (folder / "copy.png").write_bytes((folder / "a.png").read_bytes())
    scan(engine, folder)
    for name in ("a", "copy"):
        engine.catalog.delete(engine.open("default"), f"photos/{name}.png", remember=True)
    (folder / "copy.png").unlink()
    assert scan(engine, folder) == [("a.png", "unread")]
    (folder / "a.png").rename(folder / "z.png")
    assert scan(engine, folder) == [("z.png", "unread")]


def test_a_renamed_raw_file_keeps_its_item(
    engine: Engine, folder: Path, png: Png, embedded: list[str]
) -> None:
    (folder / "r.dng").write_bytes(png("yellow", size=(30, 30)))
    scan(engine, folder)
    (folder / "r.dng").rename(folder / "z.dng")
    assert scan(engine, folder) == [("z.dng", "renamed")]
    assert embedded == ["r.dng"]


def test_another_photo_at_the_place_of_a_deleted_one_is_stored(
    engine: Engine, folder: Path, png: Png
) -> None:
    engine.catalog.delete(engine.open("default"), "photos/a.png", remember=True)
    (folder / "a.png").write_bytes(png("yellow", size=(30, 30)))
    assert scan(engine, folder) == [("a.png", "new")]


def test_what_was_deleted_is_remembered_under_a_new_name(engine: Engine, folder: Path) -> None:
    names = engine.catalog.names
    engine.catalog.delete(engine.open("default"), "photos/a.png", remember=True)
    names.rename("default", "mine")
    (deleted,) = deleted_photos.list_deleted(engine.catalog.reader, names.find("mine"))
    assert deleted.id == "photos/a.png"
    assert deleted_photos.list_deleted(engine.catalog.reader, engine.open("default")) == []
    names.drop("mine")
    names.rename("default", "mine")
    assert deleted_photos.list_deleted(engine.catalog.reader, names.find("mine")) == []
