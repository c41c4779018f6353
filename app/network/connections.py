"""Connections to checked addresses, within a deadline."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from ipaddress import IPv4Address
from threading import BoundedSemaphore, Thread
from time import monotonic
from typing import Any

import httpcore2
from httpcore2 import ConnectionPool, NetworkBackend, NetworkStream, Response, SyncBackend

from app.network.addresses import Address, AddressRefused, is_public, resolve

LOOPBACK = IPv4Address("127.0.0.1")
LOOKUPS = BoundedSemaphore(64)  # names that are being resolved at a time; some take minutes


def open_pool(
    deadline: float,
    permitted: Callable[[Address], bool] = is_public,
    resolve: Callable[[str, int], Sequence[Address]] = resolve,
    trusted: ssl.SSLContext | None = None,
) -> ConnectionPool:
    """Open a pool of connections to permitted addresses, closed by its context."""
    network = PinnedNetwork(resolve, permitted, deadline)
    return ConnectionPool(trusted or httpcore2.default_ssl_context(), network_backend=network)


class PinnedNetwork(NetworkBackend):
    """Connects to permitted addresses only, until a deadline."""

    def __init__(
        self,
        resolve: Callable[[str, int], Sequence[Address]],
        permitted: Callable[[Address], bool],
        deadline: float,
    ) -> None:
        self._resolve, self._permitted, self._deadline = resolve, permitted, deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline counts
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> NetworkStream:
        """Connect to the first address with an answer.

        AddressRefused if one is not permitted.
        """
        addresses = self._look_up(host, port)
        if not addresses or not all(self._permitted(address) for address in addresses):
            raise AddressRefused(f"{host!r:.100} is not an address of the public internet")
        for address in addresses[:-1]:
            try:
                return self._connect(address, port, local_address, socket_options)
            except httpcore2.ConnectError:
                continue
        return self._connect(addresses[-1], port, local_address, socket_options)

    def _look_up(self, host: str, port: int) -> Sequence[Address]:
        """Resolve a name; TimeoutError if it takes longer than the time left."""
        if not LOOKUPS.acquire(timeout=seconds_left(self._deadline)):
            raise TimeoutError
        answer = Future[Sequence[Address]]()

        def look_up() -> None:
            try:
                answer.set_result(self._resolve(host, port))
            except Exception as failed:  # noqa: BLE001 - raised where it is waited for
                answer.set_exception(failed)
            finally:
                LOOKUPS.release()

        # Nothing ends a call of the resolver. A daemon does not keep the process from its end.
        try:
            Thread(target=look_up, name="resolver", daemon=True).start()
        except RuntimeError:  # there are too many threads
            LOOKUPS.release()
            raise
        return answer.result(seconds_left(self._deadline))

    def _connect(self, address: Address, port: int, *options: Any) -> NetworkStream:
        seconds = seconds_left(self._deadline)
        stream = SyncBackend().connect_tcp(str(address), port, seconds, *options)
        if _leads_here(stream) and not self._permitted(LOOPBACK):
            stream.close()
            raise AddressRefused(f"{address} is an address of this machine")
        return TimedStream(stream, self._deadline)


def _leads_here(stream: NetworkStream) -> bool:
    """Whether a connection goes to this machine, by whichever of its addresses."""
    ours, theirs = (stream.get_extra_info(end) for end in ("client_addr", "server_addr"))
    return bool(ours[0] == theirs[0])


class TimedStream(NetworkStream):
    """A connection with a deadline, even if bytes still come."""

    def __init__(self, stream: NetworkStream, deadline: float) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """See NetworkStream."""
        return self._stream.read(max_bytes, seconds_left(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        """See NetworkStream."""
        self._stream.write(buffer, seconds_left(self._deadline))

    def close(self) -> None:
        """See NetworkStream."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> NetworkStream:
        """See NetworkStream: the certificate is checked against the name, not the address."""
        secured = self._stream.start_tls(ssl_context, server_hostname, seconds_left(self._deadline))
        return TimedStream(secured, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """See NetworkStream."""
        return self._stream.get_extra_info(info)


def seconds_left(deadline: float) -> float:
    """Seconds until a deadline; TimeoutError once it has passed."""
    seconds = deadline - monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def read_body(answer: Response, most: int) -> bytes | None:
    """Read a body of at most so many bytes; None for a larger one."""
    parts, size = [], 0
    for part in answer.iter_stream():
        parts.append(part)
        size += len(part)
        if size > most:
            return None
    return b"".join(parts)


def read_header(answer: Response, name: str) -> str:
    """A header's value, empty if it is not there."""
    values = (value for key, value in answer.headers if key.lower() == name.encode())
    value = next(values, b"")
    try:
        return value.decode()  # as servers redirect to names beyond ASCII
    except UnicodeDecodeError:
        return value.decode("latin-1")
