"""A service at an address of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import uvicorn

from app.main import create_app
from app.settings import Settings


@pytest.fixture
def address(engine, settings: Settings) -> Iterator[str]:
    app = create_app(settings, engine)
    config = uvicorn.Config(app, port=0, log_level="warning", loop="asyncio", http="h11", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        thread.join(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()
