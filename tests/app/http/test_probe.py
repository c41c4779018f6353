"""The health check of a container asks the address of the settings."""

from __future__ import annotations

import socket
from threading import Event, Thread
from urllib.parse import urlsplit

import pytest

from app.engine.engine import Engine
from app.http import probe
from app.http.probe import is_ready
from app.main import create_app
from app.settings import Settings
from tests.processes.listening import listen


def test_a_service_at_another_port_is_ready(settings: Settings, engine: Engine) -> None:
    with listen(create_app(settings, engine)) as address:
        port = urlsplit(address).port
        for host in ("127.0.0.1", "0.0.0.0"):  # noqa: S104 - as in the image
            assert is_ready(settings.model_copy(update={"port": port, "host": host}))


def test_a_service_that_loads_is_not_ready(settings: Settings, engine: Engine) -> None:
    app = create_app(settings, engine)
    app.state.engine = None
    with listen(app) as address:
        assert not is_ready(settings.model_copy(update={"port": urlsplit(address).port}))


def test_nothing_that_listens_is_not_ready(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert not is_ready(settings.model_copy(update={"port": port}))


def test_a_host_that_is_no_name_is_not_ready(settings: Settings) -> None:
    assert not is_ready(settings.model_copy(update={"host": 64 * "a" + ".example"}))


def test_an_answer_that_drips_is_not_awaited(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "PATIENCE", 0.5)
    enough = Event()

    def drip(server: socket.socket) -> None:
        client, _ = server.accept()
        with client:
            while not enough.wait(0.05):
                client.send(b"H")

    with socket.create_server(("127.0.0.1", 0)) as server:
        dripping = Thread(target=drip, args=(server,))
        dripping.start()
        assert not is_ready(settings.model_copy(update={"port": server.getsockname()[1]}))
        enough.set()
        dripping.join()
