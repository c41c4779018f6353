"""HTTPS is served with the certificate of the settings."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
from pathlib import Path

import httpx2
import pytest
import uvicorn

from app.engine.engine import Engine
from app.main import create_app
from app.settings import Settings

OPENSSL = shutil.which("openssl")
MAKE = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"


@pytest.mark.skipif(OPENSSL is None, reason="a certificate is made with openssl")
def test_a_certificate_serves_https(settings: Settings, engine: Engine, tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = [str(OPENSSL), *MAKE.split(), "-addext", "subjectAltName=DNS:localhost"]
    files = ["-out", str(certificate), "-keyout", str(key)]
    subprocess.run([*made, *files], check=True, capture_output=True)  # noqa: S603 - our own
    config = uvicorn.Config(
        create_app(settings, engine),
        port=0,
        log_level="error",
        loop="asyncio",
        http="h11",
        ws="none",
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.01)
        assert thread.is_alive(), "the server did not start"
    port = server.servers[0].sockets[0].getsockname()[1]
    trusted = ssl.create_default_context(cafile=str(certificate))
    try:
        assert httpx2.get(f"https://localhost:{port}/readyz", verify=trusted).status_code == 200
    finally:
        server.should_exit = True
        thread.join()
