"""Folders of object stores are imported as folders on disk are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.engine.engine import Engine
from app.imports.departed import Departures, NothingDeleted
from app.imports.folders.object_walk import find_objects
from app.imports.folders.objects import ObjectFolder
from app.imports.storing import import_sources
from tests.outside.s3_server import Store

Png = Callable[..., bytes]
Changes = dict[str, str]


def scan(engine: Engine, url: str, most: float | None = 1) -> Changes:
    """Import a folder and delete departed items; changes by path."""
    folder = ObjectFolder(url)
    departures = Departures(folder)
    entries = departures.watch(find_objects(folder))
    outcomes = import_sources(engine, "default", entries, batch=2, most_bytes=10**6)
    changes = {
        one.place.removeprefix(f"{folder.url}/"): one.change or one.reason or one.status
        for one in outcomes
    }
    gone = departures.delete(engine, engine.open("default"), most)
    return changes | {row.source.removeprefix(f"{folder.url}/"): "deleted" for row in gone}


def follow(engine: Engine, folder: Path, url: str, png: Png) -> None:
    """Check a collection of a folder behind a URL."""
    for name, colour in (("a.png", "red"), ("sub/b.png", "blue"), ("sub/c.png", "green")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(png(colour))
    (folder / "sub" / "notes.txt").write_text("")
    (folder / "broken.png").write_text("no photo")
    first = scan(engine, url)
    assert (first["a.png"], first["sub/b.png"]) == ("new", "new")
    assert first["sub/notes.txt"] == ".txt files"
    assert "not an image" in first["broken.png"]
    (folder / "broken.png").unlink()
    (folder / "a.png").rename(folder / "sub" / "a.png")
    (folder / "sub" / "b.png").write_bytes(png("yellow", size=(30, 30)))
    (folder / "sub" / "c.png").unlink()
    changes = scan(engine, url)
    assert {name: change for name, change in changes.items() if "notes" not in name} == {
        "sub/a.png": "renamed",
        "sub/b.png": "changed",
        "sub/c.png": "deleted",
    }
    ids = [item.id for item in engine.catalog.list_items(engine.open("default"))]
    assert ids == ["photos/a.png", "photos/sub/b.png"]
    (folder / ".tesseraignore").write_text("/sub/b*")
    assert scan(engine, url)["sub/b.png"] == "deleted"


def test_a_collection_follows_a_folder_behind_an_address(
    engine: Engine, tmp_path: Path, png: Png
) -> None:
    (tmp_path / "photos").mkdir()
    follow(engine, tmp_path / "photos", f"file://{tmp_path}/photos/", png)


def test_a_collection_follows_a_bucket(
    engine: Engine, object_store: Store, bucket: str, png: Png
) -> None:
    name = bucket.split("/")[2]
    (object_store.folder / name / "photos").mkdir()
    follow(engine, object_store.folder / name / "photos", f"s3://{name}/photos", png)


def test_a_store_that_cannot_be_listed_deletes_nothing(
    engine: Engine, tmp_path: Path, png: Png
) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "a.png").write_bytes(png("red"))
    scan(engine, f"file://{folder}")
    folder.rename(tmp_path / "away")
    with pytest.raises((NothingDeleted, ValueError)):
        scan(engine, f"file://{folder}", None)  # as empty, or as a folder that is not there
    (tmp_path / "away").rename(folder)
    assert scan(engine, f"file://{folder}", None) == {"a.png": "skipped"}


def test_an_address_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="no folder of photos is at ftp://x"):
        ObjectFolder("ftp://x/photos")
