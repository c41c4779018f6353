"""The health check of a container asks the address of the settings."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from app.engine.engine import Engine
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
