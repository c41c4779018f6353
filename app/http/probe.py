"""The probe of a container's health check: `python -m app.http.probe`."""

from __future__ import annotations

import ssl
import sys
from http.client import HTTPConnection, HTTPException, HTTPSConnection

from app.settings import Settings

ALL_ADDRESSES = ("", "0.0.0.0", "::")  # noqa: S104 - only compared
PATIENCE = 4  # seconds


def is_ready(settings: Settings) -> bool:
    """Return whether the service of the settings answers as ready."""
    connection = _open_connection(settings)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _open_connection(settings: Settings) -> HTTPConnection:
    host = "localhost" if settings.host in ALL_ADDRESSES else settings.host
    if not settings.ssl_certfile:
        return HTTPConnection(host, settings.port, timeout=PATIENCE)
    context = ssl.create_default_context()
    context.check_hostname = False  # the certificate names the host that clients call
    context.verify_mode = ssl.CERT_NONE
    return HTTPSConnection(host, settings.port, timeout=PATIENCE, context=context)


if __name__ == "__main__":
    sys.exit(not is_ready(Settings()))
