"""Trusted proxies name the client, as with uvicorn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.engine.engine import Engine
from app.main import create_app
from app.settings import Settings


@pytest.mark.parametrize(
    ("trusted", "peer", "address"),
    [
        ("", "127.0.0.1", "203.0.113.9"),
        ("", "10.0.0.5", "10.0.0.5"),
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
    client.put("/items/a", json={"sentences": []}, headers={"x-forwarded-for": "203.0.113.9"})
    assert json.loads((tmp_path / "audit.jsonl").read_text("utf-8"))["address"] == address
