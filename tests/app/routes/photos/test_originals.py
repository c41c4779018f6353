"""Original files by a link, below named folders alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.engine.engine import Engine
from app.imports.folder import find
from app.imports.storing import import_sources
from app.main import create_app
from app.settings import Settings

Png = Callable[..., bytes]
PHOTO = "/items/photos%2Fa.png/original"


@pytest.fixture
def folder(tmp_path: Path, engine: Engine, png: Png) -> Path:
    """A folder with photos: one is a link, one has another name."""
    folder = tmp_path / "photos"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(png("blue"))
    (folder / "a.png").write_bytes(png("red"))
    (folder / "page.html").write_bytes(png("lime"))
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    outcomes = import_sources(engine, "default", find([folder]), batch=2, most_bytes=10**6)
    assert [outcome.status for outcome in outcomes] == ["stored"] * 3
    return folder


@pytest.fixture
def client(engine: Engine, settings: Settings, folder: Path) -> Iterator[TestClient]:
    served = settings.model_copy(update={"originals": (folder,)})
    with TestClient(create_app(served, engine), raise_server_exceptions=False) as client:
        yield client


def refusal(client: TestClient, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 404
    detail: str = answer.json()["detail"]
    return detail


def test_an_original_is_the_file_byte_by_byte(client: TestClient, folder: Path) -> None:
    answer = client.get(PHOTO)
    assert answer.content == (folder / "a.png").read_bytes()
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-disposition"] == 'inline; filename="a.png"'
    assert answer.headers["cache-control"] == "private, no-cache"
    assert client.head(PHOTO).status_code == 200
    assert client.get("/session").json()["originals"]
    read = client.get("/items/photos%2Fa.png")
    assert read.json()["original"]
    (folder / "a.png").unlink()
    known = {"If-None-Match": read.headers["etag"]}
    assert not client.get("/items/photos%2Fa.png", headers=known).json()["original"]


def test_parts_and_unchanged_originals_are_answered_as_asked(client: TestClient) -> None:
    whole = client.get(PHOTO)
    part = client.get(PHOTO, headers={"Range": "bytes=2-5"})
    assert (part.status_code, part.content) == (206, whole.content[2:6])
    behind = client.get(PHOTO, headers={"Range": "bytes=99999-"})
    assert behind.status_code == 416
    same = client.get(PHOTO, headers={"If-None-Match": whole.headers["etag"]})
    assert (same.status_code, same.content) == (304, b"")


def test_links_lead_out_of_no_folder(client: TestClient) -> None:
    assert "in none of the folders" in refusal(client, "/items/photos%2Flink.png/original")


def test_what_a_browser_could_run_is_no_page(client: TestClient) -> None:
    answer = client.get("/items/photos%2Fpage.html/original")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_missing_and_changed_files_are_not_found(client: TestClient, folder: Path) -> None:
    os.utime(folder / "a.png", (1, 1))
    assert "has changed since it was indexed" in refusal(client, PHOTO)
    (folder / "a.png").unlink()
    assert "is gone" in refusal(client, PHOTO)
    client.put("/items/sent", json={"sentences": ["a red wall"]})
    assert "has no file" in refusal(client, "/items/sent/original")
    stored = [client.get(f"/items/{name}").json() for name in ("photos%2Fa.png", "sent")]
    assert [item["original"] for item in stored] == [False, False]
    assert "no item" in refusal(client, "/items/unknown/original")


def test_a_place_that_climbs_out_of_a_folder_is_refused(engine: Engine, folder: Path) -> None:
    from dataclasses import replace

    from app.imports.folders.originals import find_original

    item = engine.catalog.get(engine.open("default"), "photos/a.png")
    climbing = replace(item, source=f"{folder}/../secret.png")
    with pytest.raises(LookupError, match="in none of the folders"):
        find_original(climbing, [folder])
    with pytest.raises(LookupError, match="in none of the folders"):
        find_original(item, [folder.parent / "phot"])


def test_by_default_no_original_is_served(engine: Engine, settings: Settings, folder: Path) -> None:
    with TestClient(create_app(settings, engine)) as client:
        assert "TESSERA_ORIGINALS" in refusal(client, PHOTO)
        assert not client.get("/session").json()["originals"]
