"""Snapshots over HTTP and by commands: made, downloaded, restored, checked."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from starlette.testclient import TestClient

from app.settings import Settings
from index.disk import locked

Png = Callable[..., bytes]
COLOURS = ("red", "blue", "green", "yellow")


def fill(client, png: Png) -> None:
    for number in range(12):
        photo = png(COLOURS[number % 4], COLOURS[number // 4])
        fields = {"metadata": json.dumps({"n": number}), "sentences": [f"photo {number}"]}
        answer = client.put(f"/items/{number}", files={"image": photo}, data=fields)
        assert answer.status_code == 201


def ask(client, **fields) -> dict:
    body = {"text": "a red and blue photo", "limit": 5} | fields
    answer = client.post("/search/image", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_snapshot_is_made_listed_downloaded_in_parts_and_deleted(
    client: TestClient, png: Png, settings: Settings
) -> None:
    fill(client, png)
    answer = client.post("/snapshots")
    assert answer.status_code == 201
    made = answer.json()
    assert answer.headers["location"] == made["url"]
    assert made.pop("lost") == 0
    assert made["collections"][0] | {"model": ""} == {
        "name": "default",
        "items": 12,
        "revision": 12,
        "model": "",
    }
    assert client.get("/snapshots").json() == {"snapshots": [made]}
    whole = client.get(made["url"])
    assert whole.headers["content-type"] == "application/x-tar"
    assert len(whole.content) == made["bytes"]
    headers = {"Range": "bytes=1000-", "If-Range": whole.headers["etag"]}
    rest = client.get(made["url"], headers=headers)
    assert rest.status_code == 206
    assert rest.content == whole.content[1000:]
    assert client.get(made["url"], headers={"Range": "bytes=999999999-"}).status_code == 416
    assert client.delete(made["url"]).status_code == 204
    assert client.get("/snapshots").json() == {"snapshots": []}


@pytest.mark.parametrize("name", ["none.tar", "lock", "..%2Fcatalog.sqlite", "%2Fetc%2Fpasswd"])
def test_name_of_no_snapshot_is_a_problem(client: TestClient, name: str) -> None:
    for method in ("GET", "DELETE"):
        answer = client.request(method, f"/snapshots/{name}")
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/problem+json"


def test_second_snapshot_at_a_time_is_a_conflict(
    client: TestClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.snapshot_folder.mkdir()
    with locked(settings.snapshot_folder / "lock"):
        answer = client.post("/snapshots")
    assert answer.status_code == 409
    assert answer.json()["type"] == "urn:tessera:problem:in-progress"


@pytest.fixture
def run(
    small_matcher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a command in a process of its own."""
    monkeypatch.setenv("TESSERA_MATCHER", str(small_matcher))
    monkeypatch.setenv("TESSERA_CAPTIONER", str(tmp_path / "none"))
    monkeypatch.setenv("TESSERA_GROUNDER", str(tmp_path / "none"))
    monkeypatch.setenv("TESSERA_DATA", str(tmp_path / "data"))

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tessera", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=100)  # noqa: S603

    return run


@contextmanager
def serving(data: Path) -> Iterator[tuple[httpx2.Client, subprocess.Popen[str]]]:
    """A real service of a data folder."""
    command = [sys.executable, "-m", "tessera", "serve", "--port", "0", "--no-sample"]
    process = subprocess.Popen(  # noqa: S603
        [*command, "--data", str(data)], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        address = ""
        for line in process.stderr:
            if "running on" in line:
                address = line.split("running on ")[1].split()[0]
                break
        draining = threading.Thread(target=process.stderr.read)
        draining.start()
        with httpx2.Client(base_url=address, timeout=60) as client:
            yield client, process
    finally:
        process.kill()
        process.wait()
        draining.join()
        process.stderr.close()


def test_restored_snapshot_answers_as_before_hit_for_hit(
    run: Callable[..., subprocess.CompletedProcess[str]], png: Png, tmp_path: Path
) -> None:
    """Into a new folder, and into the same one under a running service."""
    with serving(tmp_path / "data") as (client, _):
        fill(client, png)
        before = ask(client)
        assert len(before["hits"]) == 5
        downloaded = tmp_path / "snapshot.tar"
        downloaded.write_bytes(client.get(client.post("/snapshots").json()["url"]).content)

        for number in range(20, 40):
            client.put(f"/items/{number}", files={"image": png("red", size=(number, 30))})
        client.delete(f"/items/{before['hits'][0]['id']}")
        assert ask(client)["hits"] != before["hits"]
        refused = run("restore", downloaded)
        assert refused.returncode == 1
        assert "--force" in refused.stderr
        restored = run("restore", downloaded, "--force")
        assert restored.returncode == 0, restored.stderr
        after = ask(client)
        assert after["hits"] == before["hits"]
        # The secret stays with the place, so a page that was begun before goes on after.
        rest = ask(client, cursor=before["cursor"])
        assert rest["hits"] == ask(client, cursor=after["cursor"])["hits"]
        assert client.put("/items/20", json={"sentences": ["red"]}).status_code == 201
        assert run("check").stderr.endswith("0 found, 0 repaired\n")
    restored = run("restore", downloaded, "--data", tmp_path / "new")
    assert restored.returncode == 0, restored.stderr
    with serving(tmp_path / "new") as (client, _):
        after = ask(client)
        assert after["hits"] == before["hits"]
        assert ask(client, cursor=after["cursor"])["hits"] == rest["hits"]
        body = {"text": "a red and blue photo", "limit": 5, "cursor": before["cursor"]}
        assert client.post("/search/image", json=body).status_code == 422  # signed elsewhere


def test_service_that_is_killed_while_it_makes_snapshots_loses_nothing(
    run: Callable[..., subprocess.CompletedProcess[str]], png: Png, tmp_path: Path
) -> None:
    acknowledged: list[int] = []
    with serving(tmp_path / "data") as (client, process):
        fill(client, png)

        def work(method: str, path: Callable[[int], str], done: list[int]) -> None:
            with httpx2.Client(base_url=client.base_url, timeout=60) as own:
                for number in range(10_000):
                    try:
                        body = {"sentences": [f"item {number}"]} if method == "PUT" else None
                        answer = own.request(method, path(number), json=body)
                    except httpx2.HTTPError:
                        return
                    assert answer.status_code == 201
                    done.append(number)

        made: list[int] = []
        jobs = [
            threading.Thread(target=work, args=("PUT", lambda n: f"/items/x{n}", acknowledged)),
            threading.Thread(target=work, args=("POST", lambda _: "/snapshots", made)),
        ]
        for job in jobs:
            job.start()
        while len(made) < 3:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        for job in jobs:
            job.join()
    assert acknowledged
    with serving(tmp_path / "data") as (client, _):
        for number in acknowledged:
            assert client.get(f"/items/x{number}").status_code == 200
        listed = client.get("/snapshots").json()["snapshots"]
        assert len(listed) in (len(made), len(made) + 1)
    for one in listed:
        checked = run("restore", tmp_path / "data" / "snapshots" / one["name"], "--verify")
        assert checked.returncode == 0, checked.stderr
    assert run("check").returncode == 0


def test_commands_say_plainly_what_is_wrong(
    run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    nothing = run("snapshot", "--data", tmp_path / "none")
    assert (nothing.returncode, nothing.stdout) == (1, "")
    assert "there is no data folder" in nothing.stderr
    (tmp_path / "broken.tar").write_bytes(b"no tar")
    refused = run("restore", tmp_path / "broken.tar", "--data", tmp_path / "new")
    assert refused.returncode == 1
    assert "damaged, cut off, or no snapshot" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "new").exists()


def test_check_tells_what_is_wrong_and_repairs_what_it_can(
    run: Callable[..., subprocess.CompletedProcess[str]], png: Png, tmp_path: Path
) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for colour in COLOURS:
        (photos / f"{colour}.png").write_bytes(png(colour))
    assert run("index", photos).returncode == 0
    assert run("check").returncode == 0
    pictures = sorted((tmp_path / "data" / "pictures").glob("*/*.jpg"))
    orphan = pictures[0].with_name("0" * 64 + ".jpg")
    shutil.copy(pictures[0], orphan)
    pictures[0].write_bytes(b"damaged")
    found = run("check")
    assert found.returncode == 1
    assert "missing or damaged" in found.stdout
    assert "2 found, 0 repaired" in found.stderr
    repaired = run("check", "--repair")
    assert repaired.returncode == 1
    assert "2 found, 1 repaired" in repaired.stderr
    assert not orphan.exists()
    assert "1 found, 0 repaired" in run("check").stderr
