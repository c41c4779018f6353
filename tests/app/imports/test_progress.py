"""Service and page tell the rest of running imports."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.imports import progress
from app.imports.folders.reports import ImportReport, read_reports
from app.imports.sources import ImportOutcome
from tests.stored_items import put

Png = Callable[..., bytes]


def test_what_is_left_goes_down_and_is_forgotten_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "WRITTEN", 0.001)
    outcomes = (ImportOutcome(str(number), "stored") for number in range(4))
    note_progress = progress.note_progress(outcomes, tmp_path, "shop", lambda: 10)
    for done, _ in enumerate(note_progress, start=1):
        while progress.count_coming(tmp_path, "shop") != 10 - done:
            pass
    assert progress.count_coming(tmp_path, "shop") == 0
    assert list((tmp_path / progress.FOLDER).iterdir()) == []


def test_an_import_that_ends_while_it_is_counted_leaves_no_note(tmp_path: Path) -> None:
    counting, counted = Event(), Event()

    def count() -> int:
        counting.set()
        assert counted.wait(60)
        return 4

    note_progress = progress.note_progress(
        iter([ImportOutcome("a", "stored")]), tmp_path, "shop", count
    )
    assert next(note_progress).place == "a"
    assert counting.wait(60)
    assert progress.is_importing(tmp_path, "shop")
    assert not list(note_progress)
    counted.set()
    assert not progress.is_importing(tmp_path, "shop")
    assert list((tmp_path / progress.FOLDER).iterdir()) == []


def test_other_collections_broken_and_forgotten_notes_count_for_nothing(tmp_path: Path) -> None:
    folder = tmp_path / progress.FOLDER
    folder.mkdir()
    (folder / "a.json").write_text(json.dumps({"collection": "shop", "left": 5}))
    (folder / "b.json").write_text(json.dumps({"collection": "other", "left": 7}))
    (folder / "c.json").write_text("{")
    (folder / "d.json").write_text(json.dumps({"collection": "shop", "left": 9}))
    os.utime(folder / "d.json", (0, 0))
    assert progress.count_coming(tmp_path, "shop") == 5
    assert not (folder / "d.json").exists()


DAMAGED: dict[str, bytes | None] = {
    "empty": b"",
    "cut": b'{"collection": "shop", "le',
    "list": b"[]",
    "number": b"5",
    "null": b"null",
    "lacking": b"{}",
    "half": b'{"collection": "shop"}',
    "text": b'{"collection": "shop", "left": "many"}',
    "nothing": b'{"collection": "shop", "left": null}',
    "negative": b'{"collection": "shop", "left": -5}',
    "fraction": b'{"collection": "shop", "left": 1.5}',
    "true": b'{"collection": "shop", "left": true}',
    "infinite": b'{"collection": "shop", "left": 1e999}',
    "digits": b'{"collection": "shop", "left": ' + b"9" * 5_000 + b"}",
    "binary": bytes(range(256)),
    "nul": bytes(4096),
    "deep": b"[" * 100_000,
    "long": b" " * 1_000_000,
    "folder": None,
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_note_costs_itself_alone_and_is_told_once(
    client: TestClient, engine: Engine, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    folder = engine.folder / progress.FOLDER
    folder.mkdir()
    token = engine.open("default").token
    write(folder / "good.json", token, 2)
    damaged, content = folder / f"{kind}.json", DAMAGED[kind]
    if content is None:
        damaged.mkdir()
    else:
        damaged.write_bytes(content.replace(b"shop", token.encode()))
    for _ in range(2):
        assert client.get("/index").json()["coming"] == 2
        assert client.get("/collections/default").json()["coming"] == 2
    told = [line for line in caplog.messages if f"{kind}.json of an import is damaged" in line]
    assert len(told) == 1


def test_a_pipe_among_the_notes_keeps_no_one_waiting(tmp_path: Path) -> None:
    (tmp_path / progress.FOLDER).mkdir()
    os.mkfifo(tmp_path / progress.FOLDER / "a.json")
    assert progress.count_coming(tmp_path, "shop") == 0


def test_an_import_goes_on_where_its_progress_cannot_be_noted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / progress.FOLDER).write_text("a file where the folder should be")
    outcomes = [ImportOutcome(str(number), "stored") for number in range(4)]
    assert list(progress.note_progress(iter(outcomes), tmp_path, "shop", lambda: 4)) == outcomes
    assert progress.count_coming(tmp_path, "shop") == 0
    assert "the progress of the import is not shown" in caplog.text


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_import_goes_on_where_its_sources_cannot_be_counted(tmp_path: Path) -> None:
    def count() -> int:
        raise RuntimeError("a bug")

    outcomes = [ImportOutcome(str(number), "stored") for number in range(4)]
    assert list(progress.note_progress(iter(outcomes), tmp_path, "shop", count)) == outcomes


def test_what_a_killed_import_was_writing_is_forgotten(tmp_path: Path) -> None:
    folder = tmp_path / progress.FOLDER
    folder.mkdir()
    for name in ("new.part", "old.part", "photos.unfinished"):
        (folder / name).write_text("{")
    os.utime(folder / "old.part", (0, 0))
    os.utime(folder / "photos.unfinished", (0, 0))
    assert progress.count_coming(tmp_path, "shop") == 0
    assert {file.name for file in folder.iterdir()} == {"new.part", "photos.unfinished"}


def test_the_index_tells_what_is_stored_and_what_is_coming(
    client: TestClient, engine: Engine, png: Png
) -> None:
    put(engine, "default", [Draft("a").with_photo(png("red"))])
    (engine.folder / progress.FOLDER).mkdir()
    note = engine.folder / progress.FOLDER / "a.json"
    write(note, engine.open("default").token, 2)
    told = client.get("/index").json()
    assert (told["items"], told["behind"], told["coming"]) == (1, 0, 2)


def test_the_last_import_of_each_path_is_told(client: TestClient, engine: Engine) -> None:
    token = engine.open("default").token
    for paths, reason in ((["/a"], "old"), (["/b"], "other"), (["/a", "/b"], "both")):
        report = ImportReport(paths)
        for number in range(30):
            report.add(ImportOutcome(f"/a/{number}", "unread", reason))
        report.write(engine.folder, token)
        report.ended = ""
    (engine.folder / progress.FOLDER / "reports" / "damaged.json").write_text('{"collection": 1')
    reports = read_reports(engine.folder, token)
    assert {len(report.unread[next(iter(report.unread))].examples) for report in reports} == {20}
    told = client.get("/collections/default/imports").json()["imports"]
    assert {"paths", "ended", "counts", "unread", "refused", "kept"} == told[0].keys()
    assert told[0]["counts"] == {"unread": 30}
    assert read_reports(engine.folder, "another") == []


def write(note: Path, collection: str, left: int) -> None:
    """Note the rest, whole or not at all, as imports do."""
    whole = note.with_suffix(".part")
    whole.write_text(json.dumps({"collection": collection, "left": left}))
    whole.replace(note)


@pytest.fixture
def empty(browser: Any, address: str, watched: Any) -> Iterator[Any]:
    with watched(browser, address) as page:
        yield page


def test_the_page_shows_progress_and_fills_by_itself(empty: Any, engine: Engine, png: Png) -> None:
    (engine.folder / progress.FOLDER).mkdir()
    note = engine.folder / progress.FOLDER / "a.json"
    token = engine.open("default").token
    write(note, token, 3)
    empty.goto("/")
    empty.wait_for_selector("h2:has-text('Being indexed')")
    empty.wait_for_selector("#progress:has-text('Indexing: 0 of 3 searchable')")
    put(engine, "default", [Draft("a").with_photo(png("red"))])
    write(note, token, 2)
    empty.wait_for_selector("button[title=a] img")
    empty.wait_for_selector("#progress:has-text('1 of 3 searchable')")
    note.unlink()
    empty.wait_for_selector("#progress", state="hidden")


def test_the_page_opens_the_collection_that_is_being_filled(
    empty: Any, engine: Engine, png: Png
) -> None:
    engine.open("default")
    shop = engine.open("shop", create=True)
    (engine.folder / progress.FOLDER).mkdir()
    note = engine.folder / progress.FOLDER / "a.json"
    write(note, shop.token, 3)
    empty.goto("/")
    empty.wait_for_selector("h2:has-text('Being indexed')")
    assert empty.input_value("#collections") == "shop"


def test_the_page_says_that_photos_are_read_and_which_were_not(
    empty: Any, engine: Engine, png: Png
) -> None:
    token = engine.open("default").token
    progress.note_start(engine.folder, token)
    empty.goto("/")
    empty.wait_for_selector("h2:has-text('Being indexed')")
    empty.wait_for_selector("#progress:has-text('Reading the photos')")
    report = ImportReport(["/photos"])
    report.add(ImportOutcome("/photos/a.xyz", "unread", ".xyz files"))
    report.add(ImportOutcome("/photos/b.jpg", "refused", "it breaks off"))
    report.write(engine.folder, token)
    put(engine, "default", [Draft("a").with_photo(png("red"))])
    (engine.folder / progress.FOLDER / f"start-{token}.json").unlink()
    empty.click("#unread summary:has-text('Not read: 2 files or folders')")
    empty.wait_for_selector("#unread li:has-text('/photos/b.jpg: it breaks off')")
    empty.wait_for_selector("#unread h3:text-is('1 .xyz file')")
