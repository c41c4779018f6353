"""HTTPS is served with the certificate of the settings."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from app.engine.engine import Engine
from app.http.server import OPTIONS
from app.main import create_app
from app.settings import Settings
from tests.processes.listening import listen

OPENSSL = shutil.which("openssl")
MAKE = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"


@pytest.mark.skipif(OPENSSL is None, reason="a certificate is made with openssl")
def test_a_certificate_serves_https(settings: Settings, engine: Engine, tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = [str(OPENSSL), *MAKE.split(), "-addext", "subjectAltName=DNS:localhost"]
    files = ["-out", str(certificate), "-keyout", str(key)]
    subprocess.run([*made, *files], check=True, capture_output=True)  # noqa: S603 - our own
    trusted = ssl.create_default_context(cafile=str(certificate))
    app = create_app(settings, engine)
    with listen(app, ssl_certfile=certificate, ssl_keyfile=key, **OPTIONS) as address:
        answer = httpx2.get(f"https://localhost:{urlsplit(address).port}/readyz", verify=trusted)
    assert answer.status_code == 200
