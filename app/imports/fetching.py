"""Photos by their addresses, fetched from the public internet only.

An address is normalised first: names beyond ASCII, and numbers in any notation. Its name is
resolved once, all its addresses must be public, and the connection is made to one of them. The same
holds for each redirect. A fetch is bounded in bytes and in seconds, the resolver's included.
"""

from __future__ import annotations

import logging
import ssl
from base64 import b64decode
from collections.abc import Callable, Sequence
from time import monotonic
from urllib.parse import urljoin

import httpcore2
from httpcore2 import Response

from app.imports.sources import is_address
from app.network.addresses import Address, AddressRefused, is_public, normalise, resolve
from app.network.connections import open_pool, read_body, read_header
from app.settings import Settings
from models.vision.photo_decoding import MOST_BYTES

Fetch = Callable[[str], bytes]  # Fetcher.fetch, or what refuses

SECONDS = 20.0  # of a whole fetch, redirects and the resolver too
TOGETHER = 60.0  # seconds after which no further photo of an item is fetched
REDIRECTS = 3
KINDS = ("image/", "application/octet-stream", "binary/octet-stream")
HEADERS = [("User-Agent", "Tessera"), ("Accept", "image/*"), ("Accept-Encoding", "identity")]

log = logging.getLogger(__name__)


class NotFetched(ValueError):
    """An address gave no photo, or is not allowed."""


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
                    open_pool(deadline, self._permitted, self._resolve, self._trusted) as pool,
                    pool.stream("GET", url, headers=HEADERS) as answer,
                ):
                    if answer.status not in (301, 302, 303, 307, 308):
                        return self._read_body(answer)
                    url = urljoin(url, read_header(answer, "location"))
        except (httpcore2.TimeoutException, TimeoutError) as late:
            raise NotFetched(f"no photo came within {self._seconds:.0f} seconds") from late
        except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError, UnicodeError) as failed:
            raise NotFetched(f"nothing came: {failed}") from failed
        except AddressRefused as refused:
            raise NotFetched(str(refused)) from refused
        except NotFetched:
            raise
        except Exception as odd:  # one address must not end the import of all others
            log.exception("a photo could not be fetched: %.200r", url)
            raise NotFetched(f"nothing came: {type(odd).__name__}: {odd}") from odd
        raise NotFetched(f"more than {REDIRECTS} redirects")

    def _read_body(self, answer: Response) -> bytes:
        if answer.status != 200:
            raise NotFetched(f"the server there answered with status {answer.status}")
        kind = read_header(answer, "content-type").partition(";")[0].strip().lower()
        if not kind.startswith(KINDS):
            raise NotFetched(f"what is there is of type {kind or 'unknown'!r:.100}, not an image")
        body = read_body(answer, self._most)
        if body is None:
            raise NotFetched(f"what is there has more than the {self._most:,} bytes allowed")
        return body


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
    if is_address(photo):
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
