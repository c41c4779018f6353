"""Departed items are known, and deleted in a sync."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.engine.engine import Engine
from app.imports.departed import Departures, NothingDeleted
from app.imports.folder import find
from app.imports.storing import import_sources
from app.imports.tables.table import open_table

Png = Callable[..., bytes]


@pytest.fixture
def folder(tmp_path: Path, png: Png) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for name in ("a", "b", "c", "d"):
        (folder / f"{name}.png").write_bytes(png("red"))
    return folder


def bring(engine: Engine, path: Path) -> Departures:
    departures = Departures(path)
    if path.suffix == ".csv":
        with open_table(path, {}) as table:
            watched = departures.watch(table.sources())
            list(import_sources(engine, "default", watched, batch=2, most_bytes=10**6))
    else:
        watched = departures.watch(find([path]))
        list(import_sources(engine, "default", watched, batch=2, most_bytes=10**6))
    return departures


def list_gone(engine: Engine, departures: Departures) -> tuple[list[str], int]:
    rows, total = departures.list_departed(engine, engine.open("default"))
    return [row.id for row in rows], total


def ids(engine: Engine) -> list[str]:
    return [item.id for item in engine.catalog.list_items(engine.open("default"))]


def test_deleted_and_renamed_photos_are_gone_up_to_a_share(engine: Engine, folder: Path) -> None:
    home = engine.open("default", create=True)
    assert list_gone(engine, bring(engine, folder)) == ([], 4)
    (folder / "a.png").unlink()
    (folder / "b.png").rename(folder / "e.png")
    departures = bring(engine, folder)
    assert list_gone(engine, departures) == (["photos/a.png"], 4)
    with pytest.raises(NothingDeleted, match=r"1 of 4 items are no longer in .* 10% at most"):
        departures.delete(engine, home, 0.1)
    assert [row.id for row in departures.delete(engine, home, 0.5)] == ["photos/a.png"]
    assert ids(engine) == [f"photos/{name}.png" for name in ("b", "c", "d")]
    assert engine.catalog.get(home, "photos/b.png").source == str(folder / "e.png")
    assert departures.delete(engine, home, 0) == []


def test_photos_that_cannot_be_read_now_are_not_gone(engine: Engine, folder: Path) -> None:
    bring(engine, folder)
    (folder / "a.png").write_bytes(b"broken")
    (folder / "b.png").unlink()
    (folder / "b.png").symlink_to("nowhere")
    assert list_gone(engine, bring(engine, folder)) == ([], 4)


def test_a_folder_that_cannot_be_read_loses_nothing(
    engine: Engine, folder: Path, png: Png, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "x.png").write_bytes(png("red"))
    bring(engine, folder)
    scandir = __import__("os").scandir

    def refuse(path: str) -> object:
        if Path(path).name == "sub":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr("os.scandir", refuse)
    (folder / "a.png").unlink()
    assert list_gone(engine, bring(engine, folder))[0] == ["photos/a.png"]


def test_rows_that_left_a_table_are_gone_and_others_stay(engine: Engine, folder: Path) -> None:
    table = folder / "shop.csv"
    table.write_text("sku,title,image\n1,red,a.png\n2,blue,b.png\n3,red,lost.png\n")
    other = folder / "other.csv"
    other.write_text("sku,title\n9,red\n")
    home = engine.open("default", create=True)
    for path in (folder, other, table):
        bring(engine, path)
    table.write_text("sku,title,image\n2,blue,lost.png\n4,red,a.png\n")
    departures = bring(engine, table)
    assert list_gone(engine, departures) == (["1"], 3)
    assert [row.id for row in departures.delete(engine, home, 1)] == ["1"]
    assert list_gone(engine, bring(engine, folder)) == ([], 4)
    assert ids(engine) == ["2", "4", "9", *(f"photos/{name}.png" for name in "abcd")]


def test_rows_without_a_readable_id_leave_open_what_is_gone(engine: Engine, tmp_path: Path) -> None:
    table = tmp_path / "shop.csv"
    table.write_text("sku,title\n1,red\n2,blue\n")
    home = engine.open("default", create=True)
    bring(engine, table)
    table.write_text("sku,title\n1,red\n2,blue,too,many\n")
    departures = bring(engine, table)
    assert list_gone(engine, departures)[0] == []
    assert departures.explain_unknown(engine, home) == (
        f"1 stored items may no longer be in {table}, such as '2', but it cannot be told: "
        f"1 rows of {table} have no readable id, and may be of any item"
    )
    with pytest.raises(NothingDeleted, match=r"1 rows of .* have no readable id"):
        departures.delete(engine, home, 1)


def test_rows_without_a_readable_id_are_no_doubt_if_all_items_are_there(
    engine: Engine, tmp_path: Path
) -> None:
    table = tmp_path / "shop.csv"
    table.write_text("sku,title\n1,red\n")
    home = engine.open("default", create=True)
    bring(engine, table)
    table.write_text("sku,title\n1,red\n2,blue,too,many\n")
    assert bring(engine, table).explain_unknown(engine, home) == ""


def test_lines_that_left_a_file_are_gone(engine: Engine, tmp_path: Path) -> None:
    lines = tmp_path / "items.jsonl"
    lines.write_text('{"id": "a", "sentences": ["red"]}\n{"id": "b", "sentences": ["blue"]}\n')
    bring(engine, lines)
    lines.write_text('{"id": "b", "image": "lost.png"}\n')
    assert list_gone(engine, bring(engine, lines)) == (["a"], 2)
