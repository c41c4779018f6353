"""Addresses: normalised as browsers do, resolved, and public or not."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from pydantic import ValidationError
from pydantic_core import Url

from app.schemas.fields import LONGEST_URL

Address = IPv4Address | IPv6Address
TRANSLATED = IPv6Network("64:ff9b::/96")  # NAT64: an IPv4 address in its last four bytes
# Not public, but for older Pythons: protocols (Oracle's metadata), documentation; Azure's host.
PRIVATE = tuple(map(ip_network, ("192.0.0.0/24", "3fff::/20", "168.63.129.16/32")))


class AddressRefused(ValueError):
    """An address is not valid, or not allowed."""


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
    if any(address in network for network in PRIVATE):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def resolve(host: str, port: int) -> list[Address]:
    """All addresses of a name; OSError if it has none."""
    records = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ip_address(str(address[0]).partition("%")[0]) for *_, address in records]


def normalise(url: str, thing: str = "a photo") -> str:
    """Normalise an address as browsers do (WHATWG); AddressRefused if not valid.

    >>> normalise("http://bücher.example/ä b%20c.png")
    'http://xn--bcher-kva.example/%C3%A4%20b%20c.png'
    >>> normalise("http://①②⑦.⓪.⓪.①/")
    'http://127.0.0.1/'
    """
    _check(url, thing)
    try:
        return str(Url(url))
    except ValidationError as odd:
        reason = odd.errors(include_url=False)[0]["msg"]
        raise AddressRefused(f"{url!r:.100} is no address: {reason}") from odd


def _check(url: str, thing: str) -> None:
    try:
        parts = urlsplit(url)
    except ValueError as odd:
        raise AddressRefused(f"{url!r:.100} is no address: {odd}") from odd
    if len(url) > LONGEST_URL or parts.scheme not in ("http", "https") or not parts.hostname:
        raise AddressRefused(
            f"an address of {thing} is http:// or https:// and up to {LONGEST_URL:,} characters "
            f"long, got {url!r:.100}"
        )
    if "@" in parts.netloc or "\\" in parts.netloc:  # browsers read what follows as a path
        raise AddressRefused(f"an address of {thing} has no user, no password and no backslash")
