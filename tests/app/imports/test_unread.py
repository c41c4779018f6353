"""Unread files are named by kind; photos are known by content."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pathspec import GitIgnoreSpec

from app.imports.folder import NOTHING, find
from app.imports.folders.reports import ImportReport, read_reports
from app.imports.settling import DELETED
from app.imports.sources import ImportOutcome, ItemSource

Png = Callable[..., bytes]


@pytest.fixture
def folder(tmp_path: Path, png: Png) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "good.png").write_bytes(png("red"))
    return folder


def look(folder: Path, exclude: GitIgnoreSpec = NOTHING) -> tuple[set[str], dict[str, str]]:
    """The ids of a folder's photos, and unread kinds by name."""
    entries = list(find([folder], exclude))
    ids = {entry.id for entry in entries if isinstance(entry, ItemSource)}
    outcomes = [entry for entry in entries if isinstance(entry, ImportOutcome)]
    assert {outcome.status for outcome in outcomes} <= {"unread"}
    return ids, {Path(outcome.place).name: outcome.reason for outcome in outcomes}


@pytest.mark.parametrize("name", ["IMG_2.HEIC", "saved.jfif", "old.jpe", "no ending", "a.jpg~"])
def test_a_photo_is_read_under_any_name(folder: Path, png: Png, name: str) -> None:
    (folder / name).write_bytes(png("blue"))
    assert look(folder) == ({"photos/good.png", f"photos/{name}"}, {})


def test_files_of_other_kinds_are_named_by_their_endings(folder: Path) -> None:
    contents = {"a.JXL": b"\xff\n", "b.jxl": b"\xff\n", "d.svg": b"<svg/>", "e": b""}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    for name in ("items.jsonl", "shop.CSV"):
        (folder / name).write_text("{}")
    (folder / ".DS_Store").write_text("")
    os.mkfifo(folder / "pipe")
    assert look(folder) == (
        {"photos/good.png"},
        {
            "a.JXL": ".jxl files; export them as JPEG or PNG",
            "b.jxl": ".jxl files; export them as JPEG or PNG",
            "d.svg": ".svg files; export them as JPEG or PNG",
            "e": "files without an ending",
            "pipe": "files without an ending",
            "items.jsonl": ".jsonl files, imported if named",
            "shop.CSV": ".csv files, imported if named",
            ".DS_Store": "hidden files",
        },
    )


@pytest.mark.parametrize("name", ["@eaDir", "#recycle", "$RECYCLE.BIN", "lost+found", "__MACOSX"])
def test_folders_of_storages_are_left_out(folder: Path, png: Png, name: str) -> None:
    (folder / name / "good.png").mkdir(parents=True)
    (folder / name / "good.png" / "thumbnail.png").write_bytes(png("red"))
    kind = "folders of a storage or system, such as thumbnails and deleted files"
    assert look(folder) == ({"photos/good.png"}, {name: kind})
    assert look(folder / name)[0] == {f"{name}/good.png/thumbnail.png"}  # if it is named


def test_hidden_folders_and_those_without_media_are_left_out(folder: Path, png: Png) -> None:
    for name in ("sent", ".trash"):
        (folder / name).mkdir()
        (folder / name / "a.png").write_bytes(png("red"))
    (folder / "sent" / ".nomedia").touch()
    kinds = {"sent": "folders with a file .nomedia", ".trash": "hidden folders"}
    assert look(folder) == ({"photos/good.png"}, kinds)


@pytest.mark.parametrize(
    ("kind", "single"),
    [
        (".db files", ".db file"),
        (".jxl files; export them as JPEG or PNG", ".jxl file; export it as JPEG or PNG"),
        ("files without an ending", "file without an ending"),
        (
            "folders of a storage or system, such as thumbnails and deleted files",
            "folder of a storage or system, such as thumbnails and deleted files",
        ),
        ("folders with a file .nomedia", "folder with a file .nomedia"),
        ("links to folders read by another way", "link to folders read by another way"),
        (DELETED, DELETED.replace("photos", "photo")),
    ],
)
def test_a_report_names_a_single_file_in_the_singular(
    tmp_path: Path, kind: str, single: str
) -> None:
    report = ImportReport(["/photos"])
    for place, name in (("a", single), ("b", kind)):
        report.add(ImportOutcome(place, "unread", kind))
        report.write(tmp_path, "token")
        (read,) = read_reports(tmp_path, "token")
        assert [each["kind"] for each in read.as_json()["unread"]] == [name]


def test_what_matches_a_pattern_is_left_out(folder: Path, png: Png) -> None:
    for name in ("cache/a.png", "b/cache/a.png", "b/draft.tmp.png", "b/c.png"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(png("red"))
    ids, kinds = look(folder, GitIgnoreSpec.from_lines(["/cache/", "*.tmp.png"]))
    assert ids == {"photos/good.png", "photos/b/cache/a.png", "photos/b/c.png"}
    assert kinds == {"cache": "excluded folders", "draft.tmp.png": "excluded files"}


def test_a_linked_folder_is_read_once(folder: Path, tmp_path: Path, png: Png) -> None:
    other = tmp_path / "other"
    (other / "sub").mkdir(parents=True)
    (other / "sub" / "a.png").write_bytes(png("red"))
    (other / "back").symlink_to(folder)
    (folder / "link").symlink_to(other)
    (folder / "other").symlink_to(other / "sub")
    (folder / "up").symlink_to(tmp_path)
    (folder / "loop").symlink_to(folder)
    read = "links to folders read by another way"
    assert look(folder) == (
        {"photos/good.png", "photos/link/sub/a.png"},
        dict.fromkeys(("other", "up", "loop", "back"), read),
    )


def test_a_file_that_cannot_be_looked_at_is_refused_by_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "secret").write_text("")
    opened = Path.open

    def refuse(path: Path, *arguments: str) -> object:
        if path.name == "secret":
            raise PermissionError(13, "Permission denied")
        return opened(path, *arguments)

    monkeypatch.setattr(Path, "open", refuse)
    refused = [entry for entry in find([folder]) if isinstance(entry, ImportOutcome)]
    assert [(one.status, one.reason) for one in refused] == [
        ("refused", "it cannot be read: Permission denied")
    ]


@pytest.mark.parametrize("name", ["shop.xlsx", "items.JSON", "shop.csv.gz"])
def test_tables_of_other_formats_say_what_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK")
    (refused,) = find([tmp_path / name])
    assert isinstance(refused, ImportOutcome)
    assert (
        refused.reason
        == "tables are read as .csv, .jsonl, .parquet, .tsv, .txt: export it as one of these"
    )


def test_lines_of_items_are_read_under_a_name_in_capitals(tmp_path: Path) -> None:
    (tmp_path / "UPPER.JSONL").write_text('{"id": "a", "sentences": ["red"]}\n')
    (source,) = find([tmp_path / "UPPER.JSONL"])
    assert isinstance(source, ItemSource)
    assert source.id == "a"
