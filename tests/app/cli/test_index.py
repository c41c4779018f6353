"""The command `index` names read, unread and departed files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import app

Png = Callable[..., bytes]
Command = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def index(small_matcher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs the command; its exit code and lines, without the rate."""
    settings = {"MATCHER": small_matcher, "DATA": tmp_path / "data"}
    settings |= dict.fromkeys(("CAPTIONER", "REGION_CAPTIONER"), tmp_path / "none")
    for name, value in settings.items():
        monkeypatch.setenv(f"TESSERA_{name}", str(value))

    def run(*arguments: object) -> tuple[int, list[str]]:
        result = CliRunner().invoke(app, ["index", *map(str, arguments)])
        lines = result.output.splitlines()
        return result.exit_code, [line for line in lines if "items a second" not in line]

    return run


@pytest.fixture
def other_matcher(small_matcher: Path, tmp_path: Path) -> Path:
    """The small matcher as another model: with other facts."""
    from models import checkpoint

    path = tmp_path / "other.safetensors"
    checkpoint.save(path, "matchers", "dvsa", checkpoint.load(small_matcher).model, {}, "07e5")
    return path


@pytest.fixture
def photos(tmp_path: Path, png: Png) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for colour in ("red", "blue"):
        (folder / f"{colour}.png").write_bytes(png(colour))
    return folder


def test_a_folder_in_which_nothing_is_read_is_a_failure(index: Command, tmp_path: Path) -> None:
    folder = tmp_path / "iphone"
    folder.mkdir()
    for name in ("IMG_1.JXL", "IMG_2.jxl", "IMG_3.xyz"):
        (folder / name).write_bytes(b"\xff\n")
    assert index(folder) == (
        1,
        [
            f"not read: 2 .jxl files; export them as JPEG or PNG, such as {folder}/IMG_1.JXL",
            f"not read: 1 .xyz files, such as {folder}/IMG_3.xyz",
            "photos are files of JPEG, PNG, WEBP, GIF, BMP, TIFF, AVIF, HEIF, raw files and videos",
            "0 stored, 0 skipped, 0 refused",
        ],
    )


def test_control_characters_of_names_do_not_reach_the_terminal(
    index: Command, tmp_path: Path
) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "\x1b[31m\n.png").write_text("no photo")
    (folder / "\x1b[31m.xyz").write_text("no photo")
    code, lines = index(folder)
    assert code == 1
    assert lines[0].startswith(f"refused {folder}/\\x1b[31m\\n.png: the file is not an image")
    assert f"not read: 1 .xyz files, such as {folder}/\\x1b[31m.xyz" in lines


def test_photos_that_are_gone_are_told_and_deleted_by_a_sync(index: Command, photos: Path) -> None:
    index(photos)
    (photos / "red.png").rename(photos / "green.png")
    gone = (
        f"1 stored items are no longer in {photos}, such as 'photos/red.png': --sync deletes them"
    )
    assert index(photos) == (0, [gone, "1 stored, 1 skipped, 0 refused"])
    code, lines = index(photos, "--sync")
    assert code == 1
    assert lines[0].startswith("error: 1 of 3 items are no longer in")
    assert "--most-deleted 1 allows it" in lines[0]
    deleted = f"1 deleted, as they are no longer in {photos}"
    expected = 0, [deleted, "0 stored, 2 skipped, 0 refused"]
    assert index(photos, "--sync", "--most-deleted", "0.4") == expected
    assert index(photos) == (0, ["0 stored, 2 skipped, 0 refused"])


def test_excluded_photos_are_named(index: Command, photos: Path) -> None:
    code, lines = index(photos, "--exclude", "r*.png")
    assert code == 0
    assert lines == [
        f"not read: 1 excluded files, such as {photos}/red.png",
        "1 stored, 0 skipped, 0 refused",
    ]


def test_a_table_that_cannot_be_read_does_not_stop_others(index: Command, tmp_path: Path) -> None:
    for name, text in (
        ("a", "id,title\n1,red\n"),
        ("b", "id,id\n2,x\n"),
        ("c", "id,title\n3,blue\n"),
    ):
        (tmp_path / f"{name}.csv").write_text(text)
    code, lines = index(*(tmp_path / f"{name}.csv" for name in "abc"))
    assert code == 1
    assert lines[-1] == "2 stored, 0 skipped, 0 refused"
    (error,) = [line for line in lines if line.startswith("error: ")]
    assert error.endswith("two columns have the name 'id'; there are id, id")


def test_what_cells_lost_is_told_at_the_end(index: Command, tmp_path: Path) -> None:
    table = tmp_path / "shop.csv"
    table.write_text("id;title;Preis\n1;red;5,00 €\n2;blue;auf Anfrage\n3;lime;6,50 €\n")
    code, lines = index(table)
    assert code == 0
    assert 'commas = ["Preis"]' in lines
    assert lines[-3:] == [
        "# 'Preis': 1 cells are no numbers and stay texts, such as 'auf Anfrage'",
        "# 'Preis': numbers are stored without €",
        "3 stored, 0 skipped, 0 refused",
    ]
    table.write_text(table.read_text().replace("6,50", "7"))
    assert index(table)[1][-1] == "0 stored, 1 patched, 2 skipped, 0 refused"


def test_refused_rows_of_several_tables_are_in_one_file(index: Command, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("id,title\n,red\n")
    refused = tmp_path / "refused.jsonl"
    index(tmp_path / "a.csv", tmp_path / "b.csv", "--refused", refused)
    assert len(refused.read_text().splitlines()) == 2


def test_help_names_the_options_of_an_import(index: Command) -> None:
    code, lines = index("--help")
    text = " ".join(lines)
    assert code == 0
    for name in ("--collection", "--sync", "--exclude", "stats", "audit"):
        assert name in text, name


def test_embedding_again_says_how_many(
    index: Command, photos: Path, other_matcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(photos)
    assert index("--reembed") == (0, ["default is of this model already: nothing to re-embed"])
    monkeypatch.setenv("TESSERA_MATCHER", str(other_matcher))
    code, lines = index("--reembed")
    assert (code, lines[-1]) == (0, "default is of this model now: 2 items embedded again")
