"""Services with a locked, absent or shared database."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx2 as httpx
import pytest
from sqlalchemy import event
from starlette.testclient import TestClient
from typer.testing import CliRunner

from app.cli import app as command
from app.engine.engine import Engine
from app.main import create_app
from index.backup import snapshots
from index.catalog.catalog import Catalog
from index.database.storage import Storage
from tests.processes.hosts import Host


@pytest.fixture
def impatient(engine, tmp_path):
    """An engine with a moment's patience for the database."""
    catalog = Catalog(Storage(tmp_path, wait=0.5))
    made = Engine(engine.models, catalog, tmp_path)
    yield made
    catalog.close()


@pytest.fixture
def locked(tmp_path, impatient):
    """Holds the write lock of the catalog of `impatient`."""
    other = sqlite3.connect(tmp_path / "catalog.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.close()


def put(client, name, **more):
    return client.put(f"/items/{name}", json={"sentences": ["a red square"]}, **more)


def test_locked_catalog_is_answered_with_when_to_try_again(impatient, settings, request):
    with TestClient(create_app(settings, impatient), raise_server_exceptions=False) as client:
        assert put(client, "a").status_code == 201
        request.getfixturevalue("locked")
        started = time.monotonic()
        for answer in (put(client, "b"), client.delete("/items/a")):
            assert answer.status_code == 503
            assert answer.json()["type"] == "urn:tessera:problem:database-busy"
            assert int(answer.headers["retry-after"]) >= 1
        assert time.monotonic() - started < 10
        line = json.dumps({"id": "c", "sentences": ["red"]})
        headers = {"content-type": "application/x-ndjson"}
        status = client.post("/items", content=line, headers=headers).json()
        assert (status["status"], "try again" in status["reason"]) == ("refused", True)
        assert client.get("/items/a").status_code == 200


def test_searches_are_answered_while_changes_wait_for_the_database(impatient, settings, request):
    settings = settings.model_copy(update={"running": 1, "waiting": 4})
    with TestClient(create_app(settings, impatient), raise_server_exceptions=False) as client:
        assert put(client, "a").status_code == 201
        found = client.post("/search/text", json={"text": "red"})
        assert found.status_code == 200
        request.getfixturevalue("locked")
        impatient.catalog.put_many = lambda *_: waiting.wait(30)  # as if the lock took that long
        waiting = threading.Event()
        with ThreadPoolExecutor(12) as pool:
            puts = [pool.submit(put, client, f"{number}") for number in range(12)]
            time.sleep(0.2)
            answers = [client.post("/search/text", json={"text": "red"}) for _ in range(3)]
            waiting.set()
            assert {one.result().status_code for one in puts} <= {503, 404}
        assert [one.status_code for one in answers] == [200] * 3


def test_postgresql_that_is_away_is_a_503_until_it_is_back(engine, settings, postgresql, tmp_path):
    with postgresql.database() as url:
        catalog = Catalog(Storage(tmp_path / "other", database=url, wait=1, shared=True))
        served = Engine(engine.models, catalog, tmp_path / "other")
        with TestClient(create_app(settings, served), raise_server_exceptions=False) as client:
            assert put(client, "a").status_code == 201
            postgresql.stop()
            for answer in (put(client, "b"), client.get("/readyz"), client.get("/items/a")):
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            postgresql.start()
            assert client.get("/readyz").status_code == 200
            assert put(client, "b").status_code == 201
            assert {one["id"] for one in client.get("/items").json()["items"]} == {"a", "b"}
        catalog.close()


@pytest.mark.parametrize("address", ["/search/image", "/search/text", "/search/products"])
def test_a_search_asks_a_shared_database_a_few_times(engine, settings, database, tmp_path, address):
    catalog = Catalog(Storage(tmp_path / "other", database=database, shared=True))
    served = Engine(engine.models, catalog, tmp_path / "other")
    served.serve()
    asked: list[str] = []

    def note(*_: object) -> None:
        asked.append(threading.current_thread().name)

    with TestClient(create_app(settings, served), raise_server_exceptions=False) as client:
        for name in "ab":
            assert put(client, name).status_code == 201
            assert client.post(address, json={"text": "red"}).status_code == 200
        event.listen(catalog.reader, "checkout", note)
        assert client.post(address, json={"text": "red"}).status_code == 200
        event.remove(catalog.reader, "checkout", note)
    served.close()
    # For the collection, its newest change, its curation, bags and items.
    assert 1 <= sum(name.startswith("lane-") for name in asked) <= 5


def test_text_that_postgresql_cannot_hold_is_refused(engine, settings, postgresql, tmp_path):
    with postgresql.database() as url:
        catalog = Catalog(Storage(tmp_path / "other", database=url))
        served = Engine(engine.models, catalog, tmp_path / "other")
        with TestClient(create_app(settings, served), raise_server_exceptions=False) as client:
            for sent in ({"sentences": ["a\0b"]}, {"sentences": ["a"], "metadata": {"a\0": "b"}}):
                answer = client.put("/items/a", json=sent)
                assert (answer.status_code, "NUL" in answer.json()["detail"]) == (422, True)
            assert client.get("/items", params={"filter": '{"a\\u0000": "b"}'}).status_code == 422
            assert client.get("/items/a%00").status_code == 422
        catalog.close()


def test_unusable_database_is_told_before_a_model_loads(tmp_path, monkeypatch):
    monkeypatch.setattr("app.engine.inference.Models.of", None)  # cannot be called
    wrong = tmp_path / "data" / "catalog.sqlite"
    wrong.parent.mkdir()
    wrong.write_bytes(b"no database" * 1000)
    told = CliRunner().invoke(command, ["serve", "--data", str(wrong.parent)])
    assert told.exit_code == 1
    assert "catalog.sqlite cannot be opened" in told.output
    assert "not a database" in told.output
    monkeypatch.setenv("TESSERA_DATABASE", "postgresql://me:secret@127.0.0.1:9/x")
    told = CliRunner().invoke(command, ["serve", "--data", str(tmp_path)])
    assert told.exit_code == 1
    assert "127.0.0.1:9/x cannot be opened" in told.output
    assert "secret" not in told.output


LOST = {
    "a column": "ALTER TABLE items DROP COLUMN stamp",
    "the secret": "DELETE FROM settings WHERE name = 'secret'",
}


@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("arguments", ["serve", "index add {}", "check", "collections list"])
def test_database_that_lacks_something_is_told_in_a_sentence(
    database, tmp_path, monkeypatch, lost, arguments
):
    monkeypatch.setattr("app.engine.inference.Models.of", None)  # cannot be called
    with (
        closing(Catalog(Storage(tmp_path, database=database))) as catalog,
        catalog.exclusive.begin() as connection,
    ):
        connection.exec_driver_sql(LOST[lost])
    monkeypatch.setenv("TESSERA_DATABASE", database)
    asked = [*arguments.format(tmp_path).split(), "--data", str(tmp_path)]
    told = CliRunner().invoke(command, asked)
    assert (told.exit_code, type(told.exception)) == (1, SystemExit), told.output
    assert "tessera restore FILE --data NEW" in " ".join(told.output.split())
    assert "Traceback" not in told.output


def test_a_snapshot_is_restored_into_a_file_named_by_the_setting(tmp_path, monkeypatch):
    with closing(Catalog(Storage(tmp_path / "old"))) as catalog:
        snapshots.snapshot(catalog, tmp_path / "a.tar", lambda *_: None)
    new = tmp_path / "new"
    monkeypatch.setenv("TESSERA_DATABASE", f"sqlite:///{new}/catalog.sqlite")
    told = CliRunner().invoke(command, ["restore", str(tmp_path / "a.tar"), "--data", str(new)])
    assert told.exit_code == 0, told.output
    assert (new / "catalog.sqlite").is_file()


def test_migrate_says_which_version_there_is(database, tmp_path, monkeypatch):
    monkeypatch.setenv("TESSERA_DATABASE", database)
    outputs = []
    for _ in range(2):
        told = CliRunner().invoke(command, ["migrate", "--data", str(tmp_path)])
        assert told.exit_code == 0
        outputs.append(told.output)
    assert outputs[1].endswith("already\n")
    assert outputs[0].startswith("version None is now")


@pytest.fixture
def hosts(postgresql, tmp_path, small_matcher):
    with postgresql.database() as url:
        started = []

        def start(name, **more):
            (tmp_path / name).mkdir(exist_ok=True)
            started.append(Host(tmp_path / name, url, small_matcher, tmp_path / "shared", **more))
            return started[-1]

        yield start
        for one in started:
            if one.process.poll() is None:
                one.kill()


def found(host):
    answer = host.client.post("/search/text", json={"text": "a red dog", "limit": 100})
    assert answer.status_code == 200
    return {hit["id"] for hit in answer.json()["hits"]}


def write(host, name, photo, acknowledged):
    """Put items until the host dies, or 20 of those of "b"."""
    for number in range(20 if name == "b" else 10**6):
        data = {"sentences": json.dumps(["a red dog"])}
        try:
            answer = host.client.put(f"/items/{name}{number}", data=data, files={"image": photo})
        except httpx.HTTPError:
            return
        assert answer.status_code in (201, 503)
        if answer.status_code == 201:
            acknowledged.add(f"{name}{number}")


@pytest.mark.slow
def test_two_hosts_share_a_database_and_one_that_is_killed_loses_nothing(hosts, png):
    first, second = hosts("one"), hosts("two")
    for one in (first, second):
        one.wait()
    acknowledged = set()

    with ThreadPoolExecutor(2) as pool:
        writing = [
            pool.submit(write, one, name, png("red"), acknowledged)
            for one, name in ((first, "a"), (second, "b"))
        ]
        while sum(name.startswith("a") for name in acknowledged) < 10:
            time.sleep(0.02)
        first.kill()
        for one in writing:
            one.result()
    assert acknowledged <= found(second)
    again = hosts("one").wait()
    assert acknowledged <= found(again)
    for name in acknowledged:
        assert again.client.get(f"/items/{name}/image").status_code == 200


@pytest.mark.slow
def test_workers_share_items_and_metrics_add_up(hosts, png):
    host = hosts("one", workers=2).wait()
    asked = 30
    for number in range(asked):
        with httpx.Client(base_url=host.client.base_url, timeout=30) as client:
            while True:  # a worker that still loads its models says so
                answer = put(client, f"{number}")
                if answer.status_code != 503:
                    break
            assert answer.status_code == 201
        with httpx.Client(base_url=host.client.base_url, timeout=30) as client:
            text = {"text": "a red square", "limit": 100}
            while (answer := client.post("/search/text", json=text)).status_code == 503:
                time.sleep(0.1)
            assert f"{number}" in {hit["id"] for hit in answer.json()["hits"]}
    counted = host.client.get("/metrics").text.splitlines()
    line = 'tessera_http_requests_total{method="PUT",route="/items/{id}",status="201"}'
    assert [one for one in counted if one.startswith(line)] == [f"{line} {asked}.0"]
