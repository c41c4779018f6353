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
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import torch
from starlette.testclient import TestClient
from typer.testing import CliRunner

from app.cli import app
from app.engine.engine import Engine
from app.main import create_app
from app.settings import Settings
from index.backup import archive as archives
from index.catalog.catalog import Catalog
from index.disk import hold_lock

Png = Callable[..., bytes]
Command = Callable[..., tuple[int, str]]
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
    assert client.get("/snapshots").json() == {"snapshots": [made], "making": None, "foreign": []}
    whole = client.get(made["url"])
    assert whole.headers["content-type"] == "application/x-tar"
    assert len(whole.content) == made["bytes"]
    headers = {"Range": "bytes=1000-", "If-Range": whole.headers["etag"]}
    rest = client.get(made["url"], headers=headers)
    assert rest.status_code == 206
    assert rest.content == whole.content[1000:]
    behind = client.get(made["url"], headers={"Range": "bytes=999999999-"})
    assert (behind.status_code, behind.json()["status"]) == (416, 416)
    assert behind.headers["content-type"] == "application/problem+json"
    assert behind.headers["content-range"] == f"bytes */{made['bytes']}"
    for ignored in ("garbage", "bytes=5-1", "lines=1-2", "bytes=a-b"):  # RFC 9110, 14.2
        answer = client.get(made["url"], headers={"Range": ignored})
        assert (answer.status_code, answer.content) == (200, whole.content)
    assert client.delete(made["url"]).status_code == 204
    assert client.get("/snapshots").json() == {"snapshots": [], "making": None, "foreign": []}


def test_snapshot_is_made_while_nobody_waits_for_it(
    client: TestClient, png: Png, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.put("/items/a", files={"image": png("red")})
    entered, leave, write = threading.Event(), threading.Event(), archives.write

    def slow(*arguments: Any) -> Any:
        entered.set()
        assert leave.wait(60)
        return write(*arguments)

    monkeypatch.setattr(archives, "write", slow)
    answer = client.post("/snapshots", params={"wait": False})
    begun = answer.json()
    assert (answer.status_code, answer.headers["location"]) == (202, begun["url"])
    assert entered.wait(60)
    assert client.get("/snapshots").json() == {"snapshots": [], "making": begun, "foreign": []}
    assert client.get(begun["url"]).status_code == 404
    assert client.post("/snapshots").status_code == 409
    leave.set()
    while (listed := client.get("/snapshots").json())["making"]:
        time.sleep(0.01)
    assert [one["name"] for one in listed["snapshots"]] == [begun["name"]]
    assert client.get(begun["url"]).status_code == 200


def test_snapshot_that_fails_is_told_in_the_log(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(archives, "write", refuse)
    name = client.post("/snapshots", params={"wait": False}).json()["name"]
    while client.get("/snapshots").json()["making"] or not caplog.records:
        time.sleep(0.01)
    assert f"the snapshot {name} was not made" in caplog.text
    assert client.get("/snapshots").json() == {"snapshots": [], "making": None, "foreign": []}


def test_what_is_foreign_in_the_folder_is_listed_next_to_the_snapshots(
    client: TestClient, settings: Settings
) -> None:
    made = client.post("/snapshots").json()
    made.pop("lost")
    folder = settings.snapshot_folder
    (folder / "my photos.tar").write_bytes(b"mine")
    (folder / "holiday.tar").write_bytes(b"mine")
    (folder / "folder.tar").mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.tar")).touch()
    answer = client.get("/snapshots")
    assert answer.status_code == 200
    assert answer.json()["snapshots"] == [made]
    foreign = {one["name"]: one for one in answer.json()["foreign"]}
    assert foreign.keys() == {"my photos.tar", "holiday.tar", "folder.tar", "caf\\xe9.tar"}
    assert (foreign["holiday.tar"]["bytes"], foreign["folder.tar"]["problem"]) == (
        4,
        "it is a folder",
    )
    for method in ("GET", "DELETE"):
        refused = client.request(method, "/snapshots/holiday.tar")
        assert (refused.status_code, (folder / "holiday.tar").exists()) == (404, True)
        assert "is no snapshot" in refused.json()["detail"]
    assert client.post("/snapshots").status_code == 201


def test_a_folder_of_snapshots_that_cannot_be_read_is_told(
    client: TestClient, settings: Settings
) -> None:
    settings.snapshot_folder.write_bytes(b"a file")
    answer = client.get("/snapshots")
    assert (answer.status_code, answer.json()["title"]) == (503, "Not available right now")
    assert answer.json()["detail"].endswith("Not a directory")


@pytest.mark.parametrize(
    "name", ["none.tar", "lock", "..%2Fcatalog.sqlite", "%2Fetc%2Fpasswd", "x" * 300 + ".tar"]
)
def test_name_of_no_snapshot_is_a_problem(client: TestClient, name: str) -> None:
    for method in ("GET", "DELETE"):
        answer = client.request(method, f"/snapshots/{name}")
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/problem+json"


def test_second_snapshot_at_a_time_is_a_conflict(
    client: TestClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.snapshot_folder.mkdir()
    with hold_lock(settings.snapshot_folder / "lock"):
        answer = client.post("/snapshots")
    assert answer.status_code == 409
    assert answer.json()["type"] == "urn:tessera:problem:in-progress"


@pytest.fixture
def command(
    small_matcher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str]]:
    """Runs a command in this process; its exit code and output."""
    monkeypatch.setenv("TESSERA_MATCHER", str(small_matcher))
    monkeypatch.setenv("TESSERA_CAPTIONER", str(tmp_path / "none"))
    monkeypatch.setenv("TESSERA_REGION_CAPTIONER", str(tmp_path / "none"))
    monkeypatch.setenv("TESSERA_GROUNDER", str(tmp_path / "none"))
    monkeypatch.setenv("TESSERA_DATA", str(tmp_path / "data"))

    def run(*arguments: object) -> tuple[int, str]:
        result = CliRunner().invoke(app, [str(one) for one in arguments])
        return result.exit_code, result.output

    return run


@contextmanager
def serving(data: Path) -> Iterator[tuple[httpx2.Client, subprocess.Popen[str]]]:
    """A service in another process, with equal sums to this one's.

    With another number of threads they are made in another order, which changes last digits.
    """
    command = [sys.executable, "-m", "tessera", "serve", "--port", "0", "--no-sample"]
    process = subprocess.Popen(  # noqa: S603
        [*command, "--data", str(data)],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TESSERA_THREADS": str(torch.get_num_threads())},
    )
    assert process.stderr is not None
    draining = threading.Thread(target=process.stderr.read)
    try:
        address = ""
        for line in process.stderr:
            if "running on" in line:
                address = line.split("running on ")[1].split()[0]
                break
        draining.start()
        with httpx2.Client(base_url=address, timeout=60) as client:
            yield client, process
    finally:
        process.kill()
        process.wait()
        if draining.is_alive():
            draining.join()
        process.stderr.close()


@pytest.mark.system
def test_restored_snapshot_answers_as_before_hit_for_hit(
    command: Command, png: Png, tmp_path: Path
) -> None:
    """Into the same folder under a service, and a new one."""
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
        code, said = command("restore", downloaded)
        assert code == 1
        assert "--force" in said
        assert command("restore", downloaded, "--force")[0] == 0
        after = ask(client)
        assert after["hits"] == before["hits"]
        # The secret stays with the place, so a page that was begun before goes on after.
        rest = ask(client, cursor=before["cursor"])["hits"]
        assert rest == ask(client, cursor=after["cursor"])["hits"]
        assert client.put("/items/20", json={"sentences": ["red"]}).status_code == 201
        assert command("check") == (0, "0 found, 0 repaired\n")
    new = tmp_path / "new"
    assert command("restore", downloaded, "--data", new)[0] == 0
    with closing(Engine.load(Settings(data=new))) as engine:
        app = create_app(Settings(data=new), engine)
        client = TestClient(app, base_url="http://127.0.0.1")
        after = ask(client)
        assert after["hits"] == before["hits"]
        assert ask(client, cursor=after["cursor"])["hits"] == rest
        body = {"text": "a red and blue photo", "limit": 5, "cursor": before["cursor"]}
        assert client.post("/search/image", json=body).status_code == 422  # signed elsewhere


def keep_sending(base: str, method: str, path: str, body: object, done: list[str]) -> None:
    """Send requests until the service ends; note the acknowledged ones."""
    with httpx2.Client(base_url=base, timeout=60) as client:
        for number in range(10_000):
            address = path.format(number)
            try:
                answer = client.request(method, address, json=body)
            except httpx2.HTTPError:
                return
            assert answer.status_code == 201
            done.append(address)


@pytest.mark.slow  # tests.kills does it with other writers as well
def test_service_that_is_killed_while_it_makes_snapshots_loses_nothing(
    command: Command, png: Png, tmp_path: Path
) -> None:
    stored, made = list[str](), list[str]()
    with serving(tmp_path / "data") as (client, process):
        fill(client, png)
        base, sentence = str(client.base_url), {"sentences": ["a dog"]}
        jobs = [
            threading.Thread(
                target=keep_sending, args=(base, "PUT", "/items/x{}", sentence, stored)
            ),
            threading.Thread(target=keep_sending, args=(base, "POST", "/snapshots", None, made)),
        ]
        for job in jobs:
            job.start()
        while len(made) < 3:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        for job in jobs:
            job.join()
    with closing(Catalog.in_folder(tmp_path / "data")) as catalog:
        ids = {item.id for item in catalog.list_items(catalog.names.find("default"), limit=10_000)}
    assert stored
    assert ids.issuperset(address.removeprefix("/items/") for address in stored)
    snapshots = sorted((tmp_path / "data" / "snapshots").glob("*.tar"))
    assert len(snapshots) in (len(made), len(made) + 1)
    for file in snapshots:
        assert command("restore", file, "--verify")[0] == 0
    assert command("check", "--repair")[0] == 0


def test_commands_say_plainly_what_is_wrong(command: Command, tmp_path: Path) -> None:
    code, said = command("snapshot", "--data", tmp_path / "none")
    assert code == 1
    assert said.startswith("error: there is no data folder")
    (tmp_path / "broken.tar").write_bytes(b"no tar")
    code, said = command("restore", tmp_path / "broken.tar", "--data", tmp_path / "new")
    assert code == 1
    assert "damaged, cut off, or no snapshot" in said
    assert not (tmp_path / "new").exists()


def test_snapshot_is_written_to_a_named_file_or_among_the_others(
    command: Command, png: Png, tmp_path: Path
) -> None:
    index_photos(command, png, tmp_path)
    code, said = command("snapshot", "--out", tmp_path / "mine.tar")
    assert code == 0
    assert f"{tmp_path / 'mine.tar'}: " in said.replace("\n", "")
    assert command("snapshot", "--out", tmp_path / "mine.tar")[0] == 1
    assert command("snapshot")[0] == 0
    assert len(list((tmp_path / "data" / "snapshots").glob("*.tar"))) == 1


def test_check_tells_what_is_wrong_and_repairs_what_it_can(
    command: Command, png: Png, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TESSERA_SWEEP_AFTER", "0")  # garbage goes at once
    index_photos(command, png, tmp_path)
    assert command("check") == (0, "0 found, 0 repaired\n")
    pictures = sorted((tmp_path / "data" / "pictures").glob("*/*.jpg"))
    orphan = pictures[0].with_name(f"{pictures[0].stem[:3]}{61 * '0'}.jpg")
    shutil.copy(pictures[0], orphan)
    pictures[0].write_bytes(b"damaged")
    code, said = command("check")
    assert code == 1
    assert "pictures" in said
    assert said.endswith("2 found, 0 repaired\n")
    code, said = command("check", "--repair")
    assert code == 1
    assert said.endswith("2 found, 1 repaired\n")
    assert not orphan.exists()
    code, said = command("snapshot", "--out", tmp_path / "damaged.tar")
    assert code == 0
    assert said.endswith("1 pictures are lost: `tessera check` says which items had them\n")


def index_photos(command: Command, png: Png, tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for colour in COLOURS:
        (photos / f"{colour}.png").write_bytes(png(colour))
    assert command("index", photos)[0] == 0
