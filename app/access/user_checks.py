"""Checks of the settings of users, before anything is loaded."""

from __future__ import annotations

import os
from ipaddress import ip_network
from urllib.parse import urlsplit

from app.access.keyring import is_local
from app.settings import Settings

TAKEN = {"authorization", "cookie", "host", "x-api-key"}  # headers with another meaning


def check_users(settings: Settings) -> None:
    """Raise ValueError for contradictory settings of users."""
    _check_issuer(settings)
    if settings.trusted_proxies not in ("*", os.environ.get("FORWARDED_ALLOW_IPS")):
        _check_trusted(settings.trusted_proxies)
    _check_proxy(settings)
    if settings.has_users and settings.open:
        raise ValueError(
            "--open would let everyone in, and TESSERA_OIDC_ISSUER or TESSERA_USER_HEADER says who "
            "may; leave one of them out"
        )
    if "user_roles" in settings.model_fields_set and not settings.has_users:
        raise ValueError(
            "TESSERA_USER_ROLES needs TESSERA_OIDC_ISSUER or TESSERA_USER_HEADER, which say who a "
            "user is"
        )
    if settings.has_users and not settings.user_roles:
        raise ValueError(
            'TESSERA_USER_ROLES has no role, so no user could do anything; {"*": "read"} lets all '
            "who have signed in search"
        )


def _check_issuer(settings: Settings) -> None:
    issuer, audience = settings.oidc_issuer, settings.oidc_audience
    if issuer is None:
        for name in sorted(settings.model_fields_set):
            if name.startswith("oidc_") and getattr(settings, name) is not None:
                raise ValueError(f"TESSERA_{name.upper()} needs TESSERA_OIDC_ISSUER; set both")
        return
    if not audience:
        raise ValueError(
            "TESSERA_OIDC_ISSUER needs TESSERA_OIDC_AUDIENCE, or tokens for every other service of "
            "the issuer would open this one"
        )
    if not is_safe(issuer) or urlsplit(issuer).query or urlsplit(issuer).fragment:
        raise ValueError(
            f"TESSERA_OIDC_ISSUER is an https:// address without ? and #, got {issuer!r:.220}"
        )


def _check_proxy(settings: Settings) -> None:
    header = settings.user_header
    if header is None:
        for name in ("groups_header", "collections_header"):
            if getattr(settings, name) is not None:
                raise ValueError(f"TESSERA_{name.upper()} needs TESSERA_USER_HEADER; set both")
        return
    if header.lower() in TAKEN:
        raise ValueError(f"TESSERA_USER_HEADER cannot be {header}, which has another meaning")
    chosen = "trusted_proxies" in settings.model_fields_set  # the defaults name no users
    if not chosen or not settings.trusted_proxies.strip():
        raise ValueError(
            "TESSERA_USER_HEADER needs TESSERA_TRUSTED_PROXIES: the addresses of the proxies that "
            "set it, such as 10.0.0.5"
        )
    for proxy in settings.trusted_proxies.split(","):
        _check_network(proxy.strip())


def _check_trusted(proxies: str) -> None:
    """Raise ValueError for what uvicorn would compare with no peer."""
    for proxy in filter(None, map(str.strip, proxies.split(","))):
        try:
            ip_network(proxy)
        except ValueError as odd:
            raise ValueError(
                f"TESSERA_TRUSTED_PROXIES is addresses and networks such as 10.0.0.5,10.1.0.0/16, "
                f"or * alone for all, got {proxy!r:.100}: {odd}"
            ) from odd


def _check_network(proxy: str) -> None:
    """Raise ValueError for no address, or the whole internet."""
    try:
        network = ip_network(proxy)
    except ValueError as odd:
        raise ValueError(
            f"TESSERA_TRUSTED_PROXIES names addresses and networks where TESSERA_USER_HEADER is "
            f"set, got {proxy!r:.100}: {odd}"
        ) from odd
    if network.prefixlen == 0:
        raise ValueError(
            f"TESSERA_TRUSTED_PROXIES has {proxy}, so everyone could say who they are; name the "
            "proxy's address"
        )


def is_safe(url: str) -> bool:
    """Return whether an address is https://, or http:// on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    return bool(host) and (
        parts.scheme == "https" or (parts.scheme == "http" and is_local(host or ""))
    )
