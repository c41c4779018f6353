"""The probe of a container's health check, which runs it as a module of the wheel."""

from __future__ import annotations

import ssl
import sys
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Thread

from app.settings import Settings

ALL_ADDRESSES = ("", "0.0.0.0", "::")  # noqa: S104 - only compared
PATIENCE = 4  # seconds, of the whole check


def is_ready(settings: Settings) -> bool:
    """Return whether the service answers as ready within `PATIENCE`."""
    answers: list[bool] = []
    # In a thread, as the timeout of a connection bounds each byte and not the whole answer.
    check = Thread(target=lambda: answers.append(_ask(settings)), daemon=True)
    check.start()
    check.join(PATIENCE)
    return answers == [True]


def _ask(settings: Settings) -> bool:
    try:
        with closing(_open_connection(settings)) as connection:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
    except (OSError, HTTPException, ValueError):  # ValueError for a host that is no name
        return False


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
