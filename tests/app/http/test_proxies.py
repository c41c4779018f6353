"""Trusted proxies name the client, as with uvicorn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.engine.engine import Engine
from app.main import create_app
from app.settings import Settings
from app.settings_users import LOCAL


@pytest.mark.parametrize(
    ("trusted", "peer", "address"),
    [
        (LOCAL, "127.0.0.1", "203.0.113.9"),
        (LOCAL, "::1", "203.0.113.9"),
        (LOCAL, "10.0.0.5", "10.0.0.5"),
        ("", "127.0.0.1", "127.0.0.1"),
        ("10.0.0.0/8", "10.0.0.5", "203.0.113.9"),
        ("10.0.0.0/8", "127.0.0.1", "127.0.0.1"),
        ("*", "198.51.100.1", "203.0.113.9"),
    ],
)
def test_a_trusted_proxy_names_the_client(
    settings: Settings, engine: Engine, tmp_path: Path, trusted: str, peer: str, address: str
) -> None:
    about = {"trusted_proxies": trusted, "audit": tmp_path / "audit.jsonl"}
    app = create_app(settings.model_copy(update=about), engine)
    client = TestClient(app, client=(peer, 1))
    for named in ("203.0.113.9", "unknown"):
        client.put("/items/a", json={"sentences": []}, headers={"x-forwarded-for": named})
    lines = (tmp_path / "audit.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["address"] for line in lines] == [address, peer]
