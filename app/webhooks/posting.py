"""Posts of deliveries, signed as Standard Webhooks 1.0.0 says.

The answer's body is not read, and nothing of it is stored: a webhook cannot be used to look at
other services. Redirects are not followed.
"""

from __future__ import annotations

import ssl
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address
from secrets import token_bytes
from time import monotonic
from urllib.parse import urlsplit

import httpcore2
from standardwebhooks import Webhook as Signer

from app.network.addresses import Address, AddressRefused, is_public, normalise, resolve
from app.network.connections import open_pool, read_header
from app.settings import Settings, WebhookReach
from index.database.webhook_rows import Delivery, Webhook

SECONDS = 15.0  # of a post, the resolver too
SECRET = "whsec_"  # noqa: S105 - before a secret
SECRET_BYTES = range(24, 65)


@dataclass(frozen=True, slots=True)
class PostResult:
    """The answer of a receiver; without a status there was none."""

    status: int | None
    detail: str
    wait: float = 0.0  # seconds that it asks for

    @property
    def delivered(self) -> bool:
        """Return whether the receiver has taken the delivery."""
        return self.status is not None and 200 <= self.status < 300


class Poster:
    """Posts deliveries to permitted addresses. For many threads."""

    def __init__(
        self,
        reach: WebhookReach = "public",
        seconds: float = SECONDS,
        *,
        resolve: Callable[[str, int], Sequence[Address]] = resolve,
    ) -> None:
        self._reach, self._seconds, self._resolve = reach, seconds, resolve
        self._trusted: ssl.SSLContext | None = None

    @classmethod
    def of(cls, settings: Settings) -> Poster:
        """Make the poster of the settings."""
        return cls(settings.webhooks)

    def post(self, webhook: Webhook, delivery: Delivery, now: datetime) -> PostResult:
        """Post a delivery, signed for this moment."""
        deadline = monotonic() + self._seconds
        try:
            url = check_url(webhook.url, self._reach)
            with (
                open_pool(deadline, self._permits, self._resolve, self._trust()) as pool,
                pool.stream(
                    "POST",
                    url,
                    headers=sign(webhook, delivery, now),
                    content=delivery.body.encode(),
                ) as answer,
            ):
                wait = read_header(answer, "retry-after")
                seconds = float(wait) if wait.isascii() and wait.isdigit() else 0.0
                return PostResult(answer.status, f"answered {answer.status}", seconds)
        except AddressRefused as refused:
            return PostResult(None, str(refused))
        except (httpcore2.TimeoutException, TimeoutError):
            return PostResult(None, f"no answer within {self._seconds:g} seconds")
        except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError, UnicodeError) as failed:
            return PostResult(None, f"not reached: {failed}")

    def _permits(self, address: Address) -> bool:
        return self._reach == "any" or is_public(address)

    def _trust(self) -> ssl.SSLContext:
        self._trusted = self._trusted or httpcore2.default_ssl_context()
        return self._trusted


def sign(webhook: Webhook, delivery: Delivery, now: datetime) -> list[tuple[str, str]]:
    """Return the headers of a delivery at a moment in UTC."""
    signature = Signer(webhook.secret).sign(delivery.id, now, delivery.body)
    return [
        ("Content-Type", "application/json"),
        ("User-Agent", "Tessera"),
        ("webhook-id", delivery.id),
        ("webhook-timestamp", str(int(now.timestamp()))),
        ("webhook-signature", signature),
    ]


def check_url(url: str, reach: WebhookReach) -> str:
    """Normalise the address of a webhook; AddressRefused if not allowed."""
    if reach == "none":
        raise AddressRefused("webhooks are switched off here; TESSERA_WEBHOOKS=public allows them")
    normal = normalise(url, "a webhook")
    parts = urlsplit(normal)
    if reach == "any":
        return normal
    if parts.scheme != "https":
        raise AddressRefused(
            f"an address of a webhook is https://, got {url!r:.100}; TESSERA_WEBHOOKS=any allows "
            "http:// and addresses that are not public"
        )
    if not _may_be_public(parts.hostname or ""):
        raise AddressRefused(
            f"{parts.hostname!r:.100} is not an address of the public internet; "
            "TESSERA_WEBHOOKS=any allows it"
        )
    return normal


def _may_be_public(host: str) -> bool:
    """Return whether a host may have a public address."""
    try:
        return is_public(ip_address(host))
    except ValueError:
        return host != "localhost" and not host.endswith(".localhost")


def make_secret() -> str:
    """Make the secret of a webhook: 256 random bits."""
    return SECRET + b64encode(token_bytes(32)).decode()


def check_secret(secret: str) -> None:
    """Raise ValueError for a secret of another form or size."""
    form = f"secret: it is {SECRET} and {SECRET_BYTES.start} to {SECRET_BYTES[-1]} bytes in base64"
    if not secret.startswith(SECRET):
        raise ValueError(form)
    try:
        size = len(b64decode(secret.removeprefix(SECRET), validate=True))
    except ValueError as broken:
        raise ValueError(f"{form}: {broken}") from broken
    if size not in SECRET_BYTES:
        raise ValueError(f"{form}, got {size} bytes")
