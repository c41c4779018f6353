"""The audit has a line for each change and key alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from app.access.key_file import add_key
from app.access.keys import make_key
from app.cli import app as commands
from app.engine.engine import Engine
from app.main import create_app
from app.roles import Role
from app.settings import Settings
from app.telemetry.audit import AuditLog


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log" / "audit.jsonl"


@pytest.fixture
def keys(settings: Settings) -> dict[str, str]:
    made = {role.value: make_key(f"the {role}", role) for role in Role}
    for _, key in made.values():
        add_key(settings.keys_file, key)
    return {name: secret for name, (secret, _) in made.items()}


@pytest.fixture
def audited(
    settings: Settings, engine: Engine, keys: dict[str, str], file: Path
) -> Iterator[TestClient]:
    changed = settings.model_copy(update={"audit": file, "agents_write": True})
    with TestClient(create_app(changed, engine)) as client:
        yield client


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_changes_are_written_with_who_made_them(
    audited: TestClient, keys: dict[str, str], file: Path
) -> None:
    def send(method: str, path: str, key: str, **options: Any) -> int:
        headers = {
            "X-API-Key": keys.get(key, ""),
            "X-Request-ID": f"{method} {key}".replace(" ", "-"),
        }
        return audited.request(method, path, headers=headers, **options).status_code

    item = {"json": {"sentences": ["a red card"]}}
    assert send("PUT", "/items/a%2Fb?", "write", **item) == 201
    assert send("POST", "/search/text", "read", json={"text": ""}) == 422
    assert send("GET", "/items/a%2Fb", "write") == 200
    assert send("PUT", "/items/c", "read", **item) == 403
    assert send("PUT", "/items/c", "nothing", **item) == 401
    assert send("DELETE", "/items/a%2Fb?collection=default", "admin") == 204
    lines = read(file)
    assert [(line["who"], line["what"], line["status"]) for line in lines] == [
        ("the write", "PUT /items/a%2Fb", 201),
        ("the read", "PUT /items/c", 403),
        ("anyone", "PUT /items/c", 401),
        ("the admin", "DELETE /items/a%2Fb?collection=default", 204),
    ]
    assert lines[0]["request_id"] == "PUT-write"
    assert lines[0]["collection"] == "default"
    assert lines[0]["role"] == "write"


def test_changes_by_agents_name_the_tool_and_the_item(
    audited: TestClient, keys: dict[str, str], file: Path
) -> None:
    for tool in ("get_item", "delete_item"):
        params = {"name": tool, "arguments": {"id": "gone"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"X-API-Key": keys["write"], "Accept": "application/json"}
        assert audited.post("/mcp", json=message, headers=headers).status_code == 200
    (line,) = read(file)
    assert (line["who"], line["tool"], line["item"]) == ("the write", "delete_item", "gone")


def test_keys_are_written_without_their_secrets(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TESSERA_AUDIT", str(file))
    run = CliRunner().invoke
    arguments = ["keys", "add", "anna", "--role", "read", "--data", str(tmp_path)]
    secret = run(commands, [*arguments, "--collection", "shop"]).stdout.strip()
    assert run(commands, ["keys", "remove", "anna", "--data", str(tmp_path)]).exit_code == 0
    assert run(commands, ["keys", "remove", "anna", "--data", str(tmp_path)]).exit_code == 1
    lines = read(file)
    assert [line["what"] for line in lines] == ["keys add anna", "keys remove anna"]
    assert (lines[0]["role"], lines[0]["collections"]) == ("read", "shop")
    assert secret.startswith("tessera_")
    assert secret not in file.read_text("utf-8")


def test_a_change_stays_though_its_line_cannot_be_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "log").write_text("a file in the way")
    AuditLog(tmp_path / "log" / "audit.jsonl").add("anna", "DELETE /items/a")
    assert "the audit has no line of DELETE /items/a by anna" in caplog.text
