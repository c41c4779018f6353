"""The command `index` names read, unread and departed files."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import app
from index.catalog.catalog import Catalog
from index.database import webhooks
from index.database.storage import Storage
from index.database.webhook_rows import DeliveryOutcome, Webhook

Png = Callable[..., bytes]
Command = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def index(small_matcher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs the command; its exit code and lines, without the rate."""
    settings: dict[str, object] = {"MATCHER": small_matcher, "DATA": tmp_path / "data"}
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


def test_webhooks_are_told_by_the_next_service(
    index: Command, photos: Path, tmp_path: Path
) -> None:
    index(photos)
    with closing(Catalog(Storage(tmp_path / "data"))) as catalog:
        home = catalog.names.find("default")
        url = "https://shop.example/a"
        events = ("import.finished", "import.failed")
        webhooks.add(catalog.writer, home, Webhook("h", "", url, events, "whsec_", 1.0))
        index(photos)
        (tmp_path / "broken.csv").write_text('id,title\n1,"never closed\n')
        index(photos / "red.png", tmp_path / "broken.csv")
        told = []
        while claim := webhooks.claim(catalog.writer, time.time(), 60.0):
            told.append(json.loads(claim[1].body))
            last = DeliveryOutcome(claim[1].id, "", 1.0, "delivered", 1, "")
            webhooks.settle(catalog.writer, claim[1], last)
    assert [(event["type"], event["data"]["counts"]) for event in told] == [
        ("import.finished", {"skipped": 2}),
        ("import.failed", {"refused": 1, "skipped": 1}),
    ]
    assert "broken.csv" in told[1]["data"]["reason"]


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
            "photos are files of JPEG, PNG, WEBP, GIF, BMP, TIFF, AVIF, HEIF, raw files, videos "
            "and PDFs",
            "0 stored, 0 skipped, 0 refused",
        ],
    )


def test_what_is_read_is_named_without_videos_if_their_extra_is_missing(
    index: Command, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.cli.imports.can_read_videos", lambda: False)
    (photos / "a.xyz").touch()
    readable = "photos are files of JPEG, PNG, WEBP, GIF, BMP, TIFF, AVIF, HEIF, raw files and PDFs"
    assert readable in index(photos)[1]


def test_a_table_of_rows_without_an_id_leaves_open_what_is_gone(
    index: Command, tmp_path: Path
) -> None:
    table = tmp_path / "shop.csv"
    table.write_text("sku,title\n1,red\n2,blue\n")
    index(table)
    table.write_text("sku,title\n1,red\n2,blue,too,many\n")
    code, lines = index(table)
    assert code == 0
    assert (
        f"1 stored items may no longer be in {table}, such as '2', but it cannot be told: "
        f"1 rows of {table} have no readable id, and may be of any item"
    ) in lines


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


def test_the_collection_becomes_equal_to_the_folder(index: Command, photos: Path) -> None:
    index(photos)
    (photos / "red.png").rename(photos / "green.png")
    changes = [
        "# 0 new, 0 changed, 1 renamed, 0 deleted",
        "0 stored, 1 patched, 1 skipped, 0 refused",
    ]
    assert index(photos) == (0, changes)
    (photos / "blue.png").unlink()
    assert index(photos, "--list") == (
        0,
        [
            f"deleted {photos}/blue.png",
            f"1 deleted, as they are no longer in {photos}",
            "# 0 new, 0 changed, 0 renamed, 1 deleted",
            "0 stored, 1 skipped, 0 refused",
        ],
    )
    assert index(photos) == (0, ["0 stored, 1 skipped, 0 refused"])


def test_changes_are_listed(index: Command, photos: Path, png: Png) -> None:
    index(photos)
    (photos / "red.png").rename(photos / "green.png")
    (photos / "blue.png").write_bytes(png("yellow", size=(30, 30)))
    (photos / "broken.png").write_text("no photo")
    (photos / "a.txt").write_text("")
    _, lines = index(photos, "--list")
    named = [line for line in lines if str(photos) in line and not line.startswith("not read")]
    assert sorted(line.partition(" that")[0] for line in named) == [
        f"changed {photos}/blue.png",
        f"refused {photos}/broken.png: the file is not an image",
        f"renamed {photos}/red.png -> {photos}/green.png",
        f"unread {photos}/a.txt: .txt files",
    ]


def test_an_empty_folder_deletes_nothing_by_itself(index: Command, photos: Path) -> None:
    index(photos)
    away = photos.with_name("away")
    photos.rename(away)
    photos.mkdir()
    code, lines = index(photos)
    assert code == 1
    assert lines[0] == (
        f"error: 2 of 2 items are no longer in {photos}, and none was deleted: the folder is "
        "empty, or is not mounted. Is it whole? --yes deletes them"
    )
    photos.rmdir()
    away.rename(photos)
    assert index(photos) == (0, ["0 stored, 2 skipped, 0 refused"])


def test_many_missing_photos_are_deleted_with_yes(index: Command, photos: Path, png: Png) -> None:
    for number in range(9):
        (photos / f"{number}.png").write_bytes(png((number, 9, 9)))
    index(photos)
    for number in range(7):
        (photos / f"{number}.png").unlink()
    gone = f"7 stored items are no longer in {photos}, such as 'photos/0.png': --sync deletes them"
    assert index(photos, "--no-sync")[1][0] == gone
    code, lines = index(photos)
    assert code == 1
    assert "7 of 11 items are no longer in" in lines[0]
    assert "10%, or 5 of a folder at most are deleted" in lines[0]
    assert index(photos, "--most-deleted", "0.5")[0] == 1
    assert index(photos, "--yes")[1][0] == f"7 deleted, as they are no longer in {photos}"
    assert index(photos) == (0, ["0 stored, 4 skipped, 0 refused"])


def test_a_deleted_photo_comes_again_once_it_is_restored(index: Command, photos: Path) -> None:
    index(photos)
    assert CliRunner().invoke(app, ["delete", "photos/red.png"]).exit_code == 0
    _, lines = index(photos)
    kind = "photos with the content of deleted ones, which `tessera index deleted` lists"
    assert lines[0] == f"not read: 1 {kind}, such as {photos}/red.png"
    listed = f"photos/red.png\t{photos}/red.png"
    assert index("deleted") == (0, [listed, "1 deleted photos are left out of imports"])
    code, lines = index("deleted", "--restore", "photos/blue.png")
    assert (code, "no deleted photo 'photos/blue.png'" in lines[0]) == (1, True)
    assert index("deleted", "--restore", "photos/red.png")[0] == 0
    assert index(photos) == (0, ["1 stored, 1 skipped, 0 refused"])


def test_broken_sidecars_are_named(index: Command, photos: Path) -> None:
    (photos / "red.png.json").write_text('{"title": "red.p')
    code, lines = index(photos)
    missing = "its .json sidecar cannot be read: what that says of the photo is missing"
    assert (code, lines[0]) == (0, f"stored {photos}/red.png: {missing}")
    assert lines[-1] == "2 stored, 0 skipped, 0 refused"


def test_files_of_patterns_leave_photos_out(index: Command, photos: Path, png: Png) -> None:
    (photos / "sub").mkdir()
    for name in ("red.png", "blue.png"):
        (photos / "sub" / name).write_bytes(png("green"))
    (photos / ".tesseraignore").write_text("r*.png\n")
    (photos / "sub" / ".tesseraignore").write_text("!red.png\nblue.png\n")
    code, lines = index(photos)
    assert (code, lines[-1]) == (0, "2 stored, 0 skipped, 0 refused")
    assert f"not read: 2 excluded files, such as {photos}/red.png" in lines
    (photos / "sub" / ".tesseraignore").write_text("!\n")
    code, lines = index(photos)
    assert lines[0].startswith(f"refused {photos}/sub: its .tesseraignore is not understood")
    assert lines[-1] == "0 stored, 1 skipped, 1 refused"  # and what is below stays


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


def test_a_table_that_takes_photos_away_says_so(index: Command, photos: Path) -> None:
    table = photos / "feed.txt"  # as of Google's merchants, divided by tabs
    table.write_text("id\ttitle\timage_link\nred, large\tRed\tred.png\nb\tBlue\t\n")
    assert index(table)[1][-1] == "2 stored, 0 skipped, 0 refused"
    table.write_text("id\ttitle\nred, large\tRed\nb\tBlue\n")
    code, lines = index(table)
    assert (code, lines[-1]) == (0, "1 stored, 1 skipped, 0 refused")
    assert "# 1 rows: its photos are gone" in lines


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


def test_embedding_again_says_how_long_it_takes_and_how_many(
    index: Command, photos: Path, other_matcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(photos)
    assert index("--reembed") == (0, ["default is of this model already: nothing to re-embed"])
    monkeypatch.setenv("TESSERA_MATCHER", str(other_matcher))
    code, lines = index("--reembed", "--share", "0.5")
    assert lines[0].startswith("2 items of default are embedded again, which takes a minute here")
    assert (code, lines[-1]) == (0, "default is of this model now: 2 items embedded again")


def test_changed_series_are_told_once(index: Command, photos: Path) -> None:
    (photos / "copy.png").write_bytes((photos / "red.png").read_bytes())
    _, lines = index(photos)
    assert sum("changed their series of near-duplicates" in line for line in lines) == 1
    assert index(photos) == (0, ["0 stored, 3 skipped, 0 refused"])
