"""Changes of folders are told, and imported."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from time import sleep

import pytest

from app.cli import import_paths
from app.cli.import_paths import ImportOptions, PathImport
from app.engine.engine import Engine
from app.imports.folders import watching
from app.imports.folders.watching import FolderWatch
from app.settings import Settings
from index.database import deleted_photos

Png = Callable[..., bytes]
LONG = 60.0  # seconds: a wait for what comes


@pytest.fixture
def photos(tmp_path: Path, png: Png) -> Path:
    folder = tmp_path / "photos"
    (folder / "data").mkdir(parents=True)
    (folder / "a.png").write_bytes(png("red"))
    return folder


@pytest.fixture
def watch(photos: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FolderWatch]:
    monkeypatch.setattr(watching, "QUIET", 50)
    watch = FolderWatch([photos], photos / "data")
    yield watch
    watch.close()


def test_a_change_ends_the_wait(watch: FolderWatch, photos: Path) -> None:
    watch.start()
    assert not watch.wait(0)
    writing = Thread(target=_write_until, args=(watch, photos / "b.png"))
    writing.start()
    assert watch.wait(LONG)
    writing.join()


@pytest.mark.parametrize("missing", [False, True])
def test_a_replaced_folder_is_watched(
    watch: FolderWatch, photos: Path, monkeypatch: pytest.MonkeyPatch, missing: bool
) -> None:
    monkeypatch.setattr(watching, "LOOKED_UP", 0.05)
    watch.start()
    former = watch._thread
    assert former
    photos.rename(photos.with_name("former"))
    if missing:
        assert watch.wait(LONG)
        watch.start()
        assert not watch.wait(0.1)
    photos.mkdir()
    assert watch.wait(LONG)
    watch.start()
    writing = Thread(target=_write_until, args=(watch, photos / "b.png"))
    writing.start()
    assert watch.wait(LONG)
    writing.join()
    former.join(LONG)
    assert not former.is_alive()


def _write_until(watch: FolderWatch, file: Path) -> None:
    """Write a file until the watch tells it; it may just begin."""
    for number in range(600):
        file.write_text(f"{number}")
        if watch.wait(0.1):
            return


def test_changes_of_the_data_folder_and_of_hidden_files_do_not_count(
    watch: FolderWatch, photos: Path, tmp_path: Path
) -> None:
    paths = {
        "a.png": True,
        "sub/a.png": True,
        ".tesseraignore": True,
        "data/catalog.sqlite": False,
        ".hidden/a.png": False,
        ".a.png.part": False,
    }
    assert {path: watch._counts(photos / path) for path in paths} == paths
    assert FolderWatch([photos], tmp_path)._counts(photos / "a.png")  # which is in the data folder


def test_a_watch_ends_with_its_parent(photos: Path) -> None:
    watch = FolderWatch([photos], photos / "data", parent=os.getpid())  # which is not its own
    assert watch.orphaned
    assert not watch.wait(LONG)
    assert not FolderWatch([photos], photos / "data", parent=os.getppid()).orphaned


def test_a_folder_is_imported_after_every_change(
    engine: Engine, settings: Settings, photos: Path, png: Png, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_paths, "RESTING", 0)
    monkeypatch.setattr(watching, "LOOKED_UP", 0.05)
    monkeypatch.setattr(watching, "QUIET", 50)
    parent = [os.getppid()]
    monkeypatch.setattr(watching.os, "getppid", lambda: parent[0])
    work = PathImport(engine, "default", settings, ImportOptions())
    following = Thread(target=work.follow, args=([photos], LONG, parent[0]))
    following.start()
    home = engine.open("default", create=True)
    try:
        _wait_for(engine, ["photos/a.png"])
        (photos / "b.png").write_bytes(png("blue"))
        _wait_for(engine, ["photos/a.png", "photos/b.png"])
        (photos / "a.png").rename(photos / "c.png")
        (photos / "b.png").unlink()
        _wait_for(engine, ["photos/a.png"])
        while engine.catalog.get(home, "photos/a.png").source != str(photos / "c.png"):
            sleep(0.02)
        engine.catalog.delete(home, "photos/a.png", remember=True)
        assert deleted_photos.restore(engine.catalog.writer, home, {"photos/a.png", "x"}) == {
            "photos/a.png"
        }
        _wait_for(engine, ["photos/c.png"])
    finally:
        parent[0] = 0
        following.join()


def _wait_for(engine: Engine, ids: list[str]) -> None:
    while [item.id for item in engine.catalog.list_items(engine.open("default"))] != ids:
        sleep(0.02)
