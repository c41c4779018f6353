"""Listening: the socket, the certificate and the open files of a service."""

from __future__ import annotations

import logging
import os
import resource
import socket
import ssl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from uvicorn import Config

    from app.settings import Settings

FILES = 1000  # besides connections: segments, uploads and the database

logger = logging.getLogger("tessera")


def check_certificate(settings: Settings) -> None:
    """Raise ValueError unless certificate and key serve HTTPS together."""
    if settings.ssl_keyfile and not settings.ssl_certfile:
        raise ValueError("ssl_keyfile: the certificate is missing; set ssl_certfile as well")
    for file in (settings.ssl_certfile, settings.ssl_keyfile):
        if file and not file.is_file():
            raise ValueError(f"there is no file {file} to serve HTTPS with")
    if settings.ssl_certfile:
        _load_certificate(settings.ssl_certfile, settings.ssl_keyfile)


def _load_certificate(certificate: Path, key: Path | None) -> None:
    """Load a certificate's chain and its key as the server does."""
    files = f"--ssl-certfile {certificate}" + (f" and --ssl-keyfile {key}" if key else "")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except ssl.SSLError as refused:
        if refused.reason == "KEY_VALUES_MISMATCH":
            what = f"--ssl-keyfile {key}" if key else "the key in it"
            raise ValueError(f"{what} does not belong to --ssl-certfile {certificate}") from refused
        if key is None:
            files += " lacks a certificate, or its key, which --ssl-keyfile may name"
        else:
            files += " are no certificate and its key, as PEM"
        raise ValueError(f"{files} ({refused.reason or refused})") from refused
    except OSError as refused:
        raise ValueError(f"{files} cannot be read: {refused.strerror}") from refused


def fit_connections(settings: Settings) -> Settings:
    """Fit the number of connections to the limit of open files.

    The limit is raised first, also for child processes. A process without a free file accepts no
    one, and searches fail.
    """
    allowed = allow_files(settings.connections + FILES)
    room = max(allowed - FILES, allowed // 4, 1)
    if settings.connections <= room:
        return settings
    logger.warning(
        "%s files may be open at once: at most %s connections instead of %s, unless the limit is "
        "raised (ulimit -n; LimitNOFILE of systemd)",
        allowed,
        room,
        settings.connections,
    )
    return settings.model_copy(update={"connections": room})


def allow_files(count: int) -> int:
    """Raise the limit of open files, if possible, and return it."""
    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if least == resource.RLIM_INFINITY or least >= count:
        return count
    allowed = max(least, count if most == resource.RLIM_INFINITY else min(count, most))
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    return allowed


def bind_socket(host: str, port: int) -> socket.socket:
    """Bind a socket before models load.

    It does not listen yet: clients are refused until they get answers. OSError if the address is
    not available.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # asyncio sends answers at once (TCP_NODELAY) only where the protocol is stated.
        listener = socket.socket(family, kind, protocol)
        if os.name == "posix":  # the port of a service that just ended is free
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.set_inheritable(True)  # by workers
    except OSError as refused:
        raise _explain(host, port, refused) from refused
    return listener


def listen(listener: socket.socket, config: Config) -> None:
    """Listen; OSError if another began to after the binding."""
    try:
        listener.listen(config.backlog)
    except OSError as refused:
        raise _explain(config.host, config.port, refused) from refused


def _explain(host: str, port: int, refused: OSError) -> OSError:
    return OSError(
        f"cannot listen at {host} port {port}: {refused.strerror}; choose another with --port"
    )
