"""HTTPS is served with the certificate of the settings."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from app.cli.listening import check_certificate
from app.engine.engine import Engine
from app.http.probe import is_ready
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
        port = urlsplit(address).port
        answer = httpx2.get(f"https://localhost:{port}/readyz", verify=trusted)
        probed = settings.model_copy(update={"port": port, "ssl_certfile": certificate})
        assert is_ready(probed)
    assert answer.status_code == 200


@pytest.mark.skipif(OPENSSL is None, reason="a certificate is made with openssl")
def test_a_certificate_without_its_key_is_refused(settings: Settings, tmp_path: Path) -> None:
    for name in ("a", "b"):
        files = ["-out", str(tmp_path / f"{name}.pem"), "-keyout", str(tmp_path / f"{name}.key")]
        command = [str(OPENSSL), *MAKE.split(), *files]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own
    alone = settings.model_copy(update={"ssl_certfile": tmp_path / "a.pem"})
    check_certificate(alone.model_copy(update={"ssl_keyfile": tmp_path / "a.key"}))
    with pytest.raises(ValueError, match=r"b.key does not belong to --ssl-certfile .*a.pem"):
        check_certificate(alone.model_copy(update={"ssl_keyfile": tmp_path / "b.key"}))
    with pytest.raises(ValueError, match=r"a.pem lacks a certificate, or its key"):
        check_certificate(alone)
