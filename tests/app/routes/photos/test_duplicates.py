"""Lists of near-duplicates, with the bytes of all but the largest."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from app.cli import app as command
from app.engine.engine import Engine
from app.imports.folder import find
from app.imports.folders.series import group_photos
from app.imports.storing import import_sources
from app.main import create_app
from app.settings import Settings

Png = Callable[..., bytes]
PHOTOS = {
    "a": ("red", (400, 300)),
    "b": ("red", (40, 30)),
    "c": ("red", (40, 30)),
    "d": ("blue", (40, 30)),
    "e": ("blue", (40, 30)),
    "f": ("lime", (40, 30)),
}


@pytest.fixture
def sizes(tmp_path: Path, engine: Engine, png: Png) -> dict[str, int]:
    """The sizes of imported files by id: of two series."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for name, (colour, size) in PHOTOS.items():
        (folder / f"{name}.png").write_bytes(png(colour, size=size))
    store(engine, folder)
    return {f"photos/{file.name}": file.stat().st_size for file in folder.iterdir()}


def store(engine: Engine, folder: Path) -> None:
    """Import a folder, and group its photos."""
    assert list(import_sources(engine, "default", find([folder]), batch=4, most_bytes=10**6))
    group_photos(engine, "default")


@pytest.fixture
def client(engine: Engine, settings: Settings, sizes: dict[str, int]) -> Iterator[TestClient]:
    with TestClient(create_app(settings, engine), raise_server_exceptions=False) as client:
        yield client


def test_series_come_with_what_all_but_the_largest_take(
    client: TestClient, sizes: dict[str, int]
) -> None:
    answer = client.get("/duplicates").json()
    first, second = answer["groups"]
    assert [item["id"] for item in first["items"]] == [f"photos/{n}.png" for n in "abc"]
    assert [item["largest"] for item in first["items"]] == [True, False, False]
    assert [item["same_file"] for item in second["items"]] == [False, True]
    assert first["bytes"] == sizes["photos/b.png"] + sizes["photos/c.png"]
    assert (answer["series"], answer["photos"]) == (2, 5)
    assert answer["bytes"] == first["bytes"] + second["bytes"]
    assert all(item["bytes"] == sizes[item["id"]] for item in first["items"])
    assert client.get(first["items"][0]["thumbnail"]).status_code == 200


def test_pages_of_series_are_the_whole_list(client: TestClient) -> None:
    first = client.get("/duplicates?limit=1").json()
    second = client.get("/duplicates", params={"limit": 1, "cursor": first["cursor"]}).json()
    assert first["groups"] + second["groups"] == client.get("/duplicates").json()["groups"]
    assert second["cursor"] is None
    for foreign in ("", "x"):
        assert client.get("/duplicates", params={"cursor": foreign}).status_code == 422


def test_deleting_a_duplicate_leaves_its_file_and_the_list(
    client: TestClient, tmp_path: Path
) -> None:
    sent = {"ids": ["photos/e.png"]}
    assert client.post("/items/delete", json=sent).json()["deleted"] == 1
    assert client.get("/duplicates").json()["series"] == 1
    assert (tmp_path / "photos" / "e.png").exists()


COPIES = {  # of one photo, with its second of change; the best one first
    "f/IMG_20190804_152210.png": 9,
    "e/IMG_20190804.png": 9,
    "b/IMG_20190804 copy.png": 1,
    "d/2020.png": 8,
    "c/2020.png": 9,
    "b/2020 (1).png": 9,
}


def test_of_the_same_size_the_best_dated_and_named_comes_first(
    client: TestClient, engine: Engine, png: Png, tmp_path: Path
) -> None:
    folder = tmp_path / "photos"
    for name, changed in COPIES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(png("navy", size=(60, 40)))
        os.utime(folder / name, (10**9 + changed,) * 2)
    store(engine, folder)
    (series,) = (
        group for group in client.get("/duplicates").json()["groups"] if group["photos"] > 3
    )
    assert [item["id"] for item in series["items"]] == [f"photos/{name}" for name in COPIES]
    assert [item["largest"] for item in series["items"]] == [True] + 5 * [False]


def test_a_copy_without_the_sidecar_is_the_same_file(
    client: TestClient, engine: Engine, png: Png, tmp_path: Path
) -> None:
    folder = tmp_path / "photos"
    (folder / "d.xmp").write_text("<x:xmpmeta xmlns:x='adobe:ns:meta/'/>")
    store(engine, folder)
    series = client.get("/duplicates").json()["groups"][1]
    assert [item["id"] for item in series["items"]] == ["photos/d.png", "photos/e.png"]
    assert [item["same_file"] for item in series["items"]] == [False, True]


def test_the_command_lists_the_same(engine: Engine, sizes: dict[str, int], tmp_path: Path) -> None:
    run = CliRunner().invoke(command, ["index", "duplicates", "--data", f"{tmp_path}"])
    assert run.exit_code == 0, run.output
    spare = sum(sizes[f"photos/{name}.png"] for name in "bce")
    assert f"2 series of 5 photos, {spare:,} bytes to spare" in run.stderr
    assert f"photos/a.png\t{sizes['photos/a.png']:,}" in run.stdout


def test_the_name_of_a_series_is_no_word(client: TestClient) -> None:
    name = client.get("/duplicates").json()["groups"][0]["series"]
    suggested = client.get("/suggest", params={"text": name[:2]}).json()["suggestions"]
    assert not any(each["text"].startswith(name[:2]) for each in suggested)
    found = client.post("/search/products", json={"filter": {"series": name}}).json()
    assert found["total"] == 3


def test_deleted_photos_come_again_with_the_next_import(
    client: TestClient, engine: Engine, sizes: dict[str, int], tmp_path: Path
) -> None:
    spare = ["photos/b.png", "photos/c.png"]
    assert client.post("/items/delete", json={"ids": spare}).json()["deleted"] == 2
    store(engine, tmp_path / "photos")
    assert client.get("/items/photos%2Fb.png").status_code == 404
    answer = client.post("/items/restore", json={"ids": [*spare, "photos/f.png", spare[0]]}).json()
    assert answer == {"collection": "default", "restored": spare, "unknown": ["photos/f.png"]}
    store(engine, tmp_path / "photos")
    listed = client.get("/items", params={"limit": 100}).json()["items"]
    assert {item["id"] for item in listed} == {*sizes}
    again = client.post("/items/restore", json={"ids": spare}).json()
    assert (again["restored"], again["unknown"]) == ([], spare)
