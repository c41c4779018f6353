"""Services with pictures in an object store, perhaps absent."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from app.cli import app as command
from app.engine.engine import Engine
from app.main import create_app
from index.catalog.catalog import Catalog
from index.catalog.object_store import ObjectPictures
from index.catalog.pictures import name_of
from index.database.storage import Storage
from tests.processes.hosts import Host
from tests.processes.waiting import eventually

AWAY = "urn:tessera:problem:picture-store-away"
NO_ONE = "http://127.0.0.1:9"


@pytest.fixture
def serving(engine, settings, tmp_path, bucket):
    """Makes clients of services on one catalog and its store."""
    opened = []

    def start():
        catalog = Catalog(Storage(tmp_path / "data", pictures=bucket))
        opened.append(catalog)
        served = Engine(engine.models, catalog, tmp_path / "data")
        return TestClient(create_app(settings, served), raise_server_exceptions=False)

    yield start
    for catalog in opened:
        catalog.close()


def put(client, name, photo, **more):
    data = {"sentences": json.dumps(["a red dog"])}
    return client.put(f"/items/{name}", data=data, files={"image": photo}, **more)


def test_photos_are_stored_shown_replaced_and_deleted(serving, png, object_store, bucket):
    name = bucket.split("/")[2]
    with serving() as client:
        assert client.get("/readyz").status_code == 200
        assert put(client, "a", png("red")).status_code == 201
        before = client.get("/items/a/image").content
        assert put(client, "a", png("blue")).status_code == 200
        assert client.get("/items/a/image").content != before
        headers = {"accept": "image/png"}
        drawn = client.post("/align", json={"id": "a", "text": "blue"}, headers=headers)
        assert drawn.status_code == 200
        assert client.delete("/items/a").status_code == 204
        assert client.get("/items/a/image").status_code == 404
    assert len(list((object_store.folder / name).rglob("*.jpg"))) == 2, "collected later"


def test_store_that_is_away_refuses_photos_alone(serving, png, monkeypatch):
    with serving() as client:
        assert put(client, "a", png("red")).status_code == 201
    monkeypatch.setenv("AWS_ENDPOINT", NO_ONE)
    with serving() as client:
        for answer in (put(client, "b", png("blue")), client.get("/items/a/image")):
            assert (answer.status_code, answer.json()["type"]) == (503, AWAY)
            assert answer.headers["retry-after"] == "1"
        assert client.get("/items/b").status_code == 404
        ready = client.get("/readyz")
        assert ready.status_code == 503
        assert "the picture store cannot be reached" in ready.json()["detail"]
        for body in ({"text": "red"}, {"id": "a"}):
            assert client.post("/search/image", json=body).json()["hits"][0]["id"] == "a"
        assert client.put("/items/c", json={"sentences": ["red"]}).status_code == 201
        assert client.patch("/items/a", json={"metadata": {"n": 1}}).status_code == 200


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        (f"AWS_ENDPOINT={NO_ONE}", "cannot be reached"),
        ("AWS_SECRET_ACCESS_KEY=another", "refuses the credentials"),
        ("TESSERA_PICTURES=s3://missing/pictures", "has no bucket of this name"),
        ("TESSERA_PICTURES=ftp://host/pictures", "name a folder, or s3://BUCKET/PATH"),
    ],
)
def test_unusable_store_is_told_before_a_model_loads(bucket, tmp_path, monkeypatch, setting, why):
    monkeypatch.setattr("app.engine.inference.Models.of", None)  # cannot be called
    monkeypatch.setenv("TESSERA_PICTURES", bucket)
    monkeypatch.setenv(*setting.split("=", 1))
    told = CliRunner().invoke(command, ["serve", "--port", "0", "--data", str(tmp_path)])
    assert told.exit_code == 1
    assert "pictures cannot be kept at " in told.output
    assert why in told.output
    assert "Debug source" not in told.output


@pytest.fixture
def hosts(postgresql, object_store, bucket, tmp_path, small_matcher):
    """Two services on one PostgreSQL and one bucket."""
    with postgresql.database() as url:
        started = [
            Host(tmp_path / name, url, small_matcher, bucket, environment=object_store.environment)
            for name in ("one", "two")
        ]
        try:
            yield [host.wait() for host in started]
        finally:
            for host in started:
                host.kill()
            object_store.start()  # if it is not running


def write(host, name, photos, acknowledged, refused, stopped):
    """Put photos until told to stop."""
    with httpx.Client(base_url=host.client.base_url, timeout=60) as client:
        for number, photo in enumerate(photos):
            answer = put(client, f"{name}{number}", photo)
            if answer.status_code == 201:
                acknowledged.append(f"{name}{number}")
            else:
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
                refused.append(answer.json()["type"])
                time.sleep(0.1)
            if stopped.is_set():
                return


@pytest.mark.slow
def test_store_that_is_killed_loses_nothing_and_services_go_on(hosts, png, object_store, tmp_path):
    acknowledged, refused, stopped = [], [], threading.Event()
    photos = [[png(f"#{i:02x}{n:02x}00") for n in range(256)] for i in range(2)]

    def until(count, of):
        end = time.monotonic() + 60
        while len(of) < count:
            assert time.monotonic() < end
            time.sleep(0.02)

    with ThreadPoolExecutor(2) as pool:
        writing = [
            pool.submit(write, host, name, some, acknowledged, refused, stopped)
            for host, name, some in zip(hosts, "ab", photos, strict=True)
        ]
        try:
            until(10, acknowledged)
            object_store.kill()
            until(4, refused)
            for host in hosts:
                found = host.client.post("/search/image", json={"text": "red"})
                assert len(found.json()["hits"]) > 0
                eventually(lambda host=host: host.client.get("/readyz").status_code == 503, 60)
            object_store.start()
            until(len(acknowledged) + 10, acknowledged)
        finally:
            stopped.set()
        for one in writing:
            one.result()
    assert set(refused) == {AWAY}
    for host in hosts:
        eventually(lambda host=host: host.client.get("/readyz").status_code == 200, 60)
        for item in acknowledged:
            assert host.client.get(f"/items/{item}/image").status_code == 200


@pytest.mark.slow
def test_store_that_hangs_stops_no_search(hosts, png, object_store):
    host, _ = hosts
    assert put(host.client, "a", png("red")).status_code == 201

    def shown(_):
        return httpx.get(f"{host.client.base_url}/items/a/image", timeout=120).status_code

    with ThreadPoolExecutor(20) as pool:
        object_store.pause()
        try:
            hung = [pool.submit(shown, number) for number in range(20)]
            time.sleep(1)
            for _ in range(5):
                found = host.client.post("/search/image", json={"text": "red"})
                assert found.json()["hits"][0]["id"] == "a"
            assert not any(one.done() for one in hung)
        finally:
            object_store.resume()
        assert {one.result() for one in hung} <= {200, 503}
    assert shown(0) == 200


@pytest.mark.slow
def test_snapshot_check_and_restore_use_the_bucket(hosts, png, bucket, tmp_path):
    host, other = hosts
    for number in range(5):
        assert put(host.client, f"{number}", png(f"#{number:02x}0000")).status_code == 201
    name = host.client.post("/snapshots").json()["name"]
    pictures = ObjectPictures.at(bucket)
    first, second = sorted(pictures.names())[:2]
    pictures.delete([first])
    garbage = name_of(b"garbage")
    pictures.put({second: b"damaged", garbage: b"garbage"})
    told = CliRunner().invoke(command, ["check", "--repair"], env=host.settings)
    assert told.exit_code == 1
    assert told.output.count("missing or damaged") == 2
    assert garbage in pictures.names()  # only for a moment, which may be that of an upload
    snapshot = next(tmp_path.rglob(name))
    told = CliRunner().invoke(command, ["restore", str(snapshot), "--force"], env=host.settings)
    assert told.exit_code == 0
    for number in range(5):
        assert other.client.get(f"/items/{number}/image").status_code == 200
    assert CliRunner().invoke(command, ["check"], env=host.settings).exit_code == 0
