"""Photos by their addresses, fetched from the public internet only.

An address is normalised first: names beyond ASCII, and numbers in any notation. Its name is
resolved once, all its addresses must be public, and the connection is made to one of them. The same
holds for each redirect. A fetch is bounded in bytes and in seconds, the resolver's included.
"""

from __future__ import annotations

import logging
import socket
import ssl
from base64 import b64decode
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from threading import BoundedSemaphore, Thread
from time import monotonic
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpcore2
from httpcore2 import NetworkBackend, NetworkStream, Response, SyncBackend
from pydantic import ValidationError
from pydantic_core import Url

from app.schemas.fields import LONGEST_URL
from app.settings import Settings
from models.vision.photo_decoding import MOST_BYTES

Address = IPv4Address | IPv6Address
Fetch = Callable[[str], bytes]  # Fetcher.fetch, or what refuses

SECONDS = 20.0  # of a whole fetch, redirects and the resolver too
TOGETHER = 60.0  # seconds after which no further photo of an item is fetched
REDIRECTS = 3
KINDS = ("image/", "application/octet-stream", "binary/octet-stream")
HEADERS = [("User-Agent", "Tessera"), ("Accept", "image/*"), ("Accept-Encoding", "identity")]
TRANSLATED = IPv6Network("64:ff9b::/96")  # NAT64: an IPv4 address in its last four bytes
LOOKUPS = BoundedSemaphore(64)  # names that are being resolved at a time; some take minutes

log = logging.getLogger(__name__)


class NotFetched(ValueError):
    """An address gave no photo, or is not allowed."""


def is_public(address: Address) -> bool:
    """Return whether an address is on the public internet.

    An address that maps to another one must lead there as well.

    >>> [is_public(ip_address(x)) for x in ("8.8.8.8", "10.0.0.1", "::ffff:8.8.8.8", "fe80::1")]
    [True, False, False, False]
    """
    if isinstance(address, IPv6Address):
        if address in TRANSLATED:
            return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
        if address.ipv4_mapped or address.sixtofour or address.teredo or address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def resolve(host: str, port: int) -> list[Address]:
    """All addresses of a name; OSError if it has none."""
    records = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ip_address(str(address[0]).partition("%")[0]) for *_, address in records]


def normalise(url: str) -> str:
    """Normalise an address as browsers do (WHATWG); NotFetched if it is not valid.

    >>> normalise("http://bücher.example/ä b%20c.png")
    'http://xn--bcher-kva.example/%C3%A4%20b%20c.png'
    >>> normalise("http://①②⑦.⓪.⓪.①/")
    'http://127.0.0.1/'
    """
    _check(url)
    try:
        return str(Url(url))
    except ValidationError as odd:
        reason = odd.errors(include_url=False)[0]["msg"]
        raise NotFetched(f"{url!r:.100} is no address: {reason}") from odd


class Fetcher:
    """Fetches photos. For many threads."""

    def __init__(
        self,
        most: int = MOST_BYTES,
        seconds: float = SECONDS,
        *,
        resolve: Callable[[str, int], Sequence[Address]] = resolve,
        permitted: Callable[[Address], bool] = is_public,
        trusted: ssl.SSLContext | None = None,
    ) -> None:
        self._most, self._seconds = most, seconds
        self._resolve, self._permitted = resolve, permitted
        self._trusted = trusted or httpcore2.default_ssl_context()

    def fetch(self, url: str) -> bytes:
        """Fetch the photo at an address; NotFetched gives the reason."""
        deadline = monotonic() + self._seconds
        try:
            for _ in range(REDIRECTS + 1):
                url = normalise(url)
                with (
                    self._open_pool(deadline) as pool,
                    pool.stream("GET", url, headers=HEADERS) as answer,
                ):
                    if answer.status not in (301, 302, 303, 307, 308):
                        return self._read_body(answer)
                    url = urljoin(url, _read_header(answer, "location"))
        except (httpcore2.TimeoutException, TimeoutError) as late:
            raise NotFetched(f"no photo came within {self._seconds:.0f} seconds") from late
        except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError, UnicodeError) as failed:
            raise NotFetched(f"nothing came: {failed}") from failed
        except NotFetched:
            raise
        except Exception as odd:  # one address must not end the import of all others
            log.exception("a photo could not be fetched: %.200r", url)
            raise NotFetched(f"nothing came: {type(odd).__name__}: {odd}") from odd
        raise NotFetched(f"more than {REDIRECTS} redirects")

    def _open_pool(self, deadline: float) -> httpcore2.ConnectionPool:
        network = PinnedNetwork(self._resolve, self._permitted, deadline)
        return httpcore2.ConnectionPool(self._trusted, network_backend=network)

    def _read_body(self, answer: Response) -> bytes:
        if answer.status != 200:
            raise NotFetched(f"the server there answered with status {answer.status}")
        kind = _read_header(answer, "content-type").partition(";")[0].strip().lower()
        if not kind.startswith(KINDS):
            raise NotFetched(f"what is there is of type {kind or 'unknown'!r:.100}, not an image")
        parts, size = [], 0
        for part in answer.iter_stream():
            parts.append(part)
            size += len(part)
            if size > self._most:
                raise NotFetched(f"what is there has more than the {self._most:,} bytes allowed")
        return b"".join(parts)


def get_photo(image: bytes | None, url: str | None, fetch: Fetch) -> bytes | None:
    """Return the photo, sent or named by its address.

    None without both.
    """
    if url is None:
        return image
    if image is not None:
        raise ValueError("send an image or an image_url, not both")
    return fetch(url)


def get_photos(
    first: bytes | None, url: str | None, others: Sequence[str], fetch: Fetch
) -> list[bytes]:
    """Return all photos, sent or named by address, in order.

    The `others` are base64 texts or addresses.
    """
    deadline = monotonic() + TOGETHER
    photo = get_photo(first, url, fetch)
    read = (_read(text, fetch, deadline) for text in others)
    return [*([] if photo is None else [photo]), *read]


def _read(photo: str, fetch: Fetch, deadline: float) -> bytes:
    if photo.startswith(("http://", "https://")):
        if monotonic() > deadline:
            raise NotFetched(
                f"the photos before {photo!r:.100} took more than {TOGETHER:.0f} seconds; store "
                "the item without those that follow, then add them by PATCH"
            )
        return fetch(photo)
    return decode_base64("images", photo, " nor an http address")


def decode_base64(field: str, text: str, other: str = "") -> bytes:
    """Decode a photo from base64.

    A ValueError names the field and the `other` form.
    """
    try:
        return b64decode(text, validate=True)
    except ValueError as broken:
        neither = "neither" if other else "not"
        raise ValueError(f"{field}: {neither} base64{other}: {broken}") from broken


def refuse(_: str) -> bytes:
    """Refuse to fetch.

    It replaces `Fetcher.fetch` if fetching is switched off.
    """
    raise NotFetched("image_url is switched off here; TESSERA_FETCH=true switches it on")


def choose_fetch(settings: Settings) -> Fetch:
    """Return the function for fetching photos, or for refusing."""
    return Fetcher(settings.upload_bytes).fetch if settings.fetch else refuse


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

        NotFetched if one is not permitted.
        """
        addresses = self._look_up(host, port)
        if not addresses or not all(self._permitted(address) for address in addresses):
            raise NotFetched(f"{host!r:.100} is not an address of the public internet")
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
        return TimedStream(
            SyncBackend().connect_tcp(str(address), port, seconds, *options), self._deadline
        )


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


def _check(url: str) -> None:
    try:
        parts = urlsplit(url)
    except ValueError as odd:
        raise NotFetched(f"{url!r:.100} is no address: {odd}") from odd
    if len(url) > LONGEST_URL or parts.scheme not in ("http", "https") or not parts.hostname:
        raise NotFetched(
            f"an address of a photo is http:// or https:// and up to {LONGEST_URL:,} characters "
            f"long, got {url!r:.100}"
        )
    if "@" in parts.netloc or "\\" in parts.netloc:  # browsers read what follows as a path
        raise NotFetched("an address of a photo has no user, no password and no backslash")


def _read_header(answer: Response, name: str) -> str:
    """A header's value, empty if it is not there."""
    values = (value for key, value in answer.headers if key.lower() == name.encode())
    value = next(values, b"")
    try:
        return value.decode()  # as servers redirect to names beyond ASCII
    except UnicodeDecodeError:
        return value.decode("latin-1")
