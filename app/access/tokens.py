"""Tokens of an issuer (OpenID Connect), taken like keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jwt
from jwt.exceptions import (
    ExpiredSignatureError,
    ImmatureSignatureError,
    InvalidAlgorithmError,
    InvalidAudienceError,
    InvalidKeyError,
    InvalidSignatureError,
    MissingRequiredClaimError,
    PyJWTError,
)

from app.access.issuer import IssuerKeys
from app.access.users import User, make_user
from app.http.errors import Unauthorized
from app.settings import Settings

LEEWAY = 30  # seconds that clocks may differ
SCOPES = ("scope", "scp")  # claims whose text has several values


class TokenVerifier:
    """Checks tokens of the issuer of the settings. For many threads."""

    def __init__(self, settings: Settings, keys: IssuerKeys) -> None:
        self._settings, self.keys = settings, keys

    @classmethod
    def of(cls, settings: Settings, issuer: str) -> TokenVerifier:
        """Make the verifier of the tokens of an issuer."""
        return cls(settings, IssuerKeys(issuer))

    def read_key_id(self, token: str) -> str | None:
        """Read the id of a token's key; Unauthorized for another issuer's."""
        try:
            unchecked = jwt.decode_complete(token, options={"verify_signature": False})
        except (PyJWTError, ValueError) as broken:
            raise Unauthorized(f"this key is not known here, nor is it a token: {broken}") from None
        issuer = unchecked["payload"].get("iss")
        if issuer != self.keys.issuer:
            raise Unauthorized(f"this token is of another issuer: {issuer!r:.220}")
        kid = unchecked["header"].get("kid")
        return kid if isinstance(kid, str) else None

    def identify(self, token: str, kid: str | None) -> User:
        """Return the user of a token after all checks.

        Raises Unauthorized or Forbidden, and Unavailable without keys of the issuer.
        """
        claims = self._check(token, kid)
        settings = self._settings
        name = read_claim(claims, settings.oidc_user_claim)
        if not isinstance(name, str):
            raise Unauthorized(
                f"this token has no {settings.oidc_user_claim}, which names its user"
            )
        groups = list_values(claims, settings.oidc_groups_claim)
        claim = settings.oidc_collections_claim
        collections = None if claim is None else list_values(claims, claim)
        return make_user(settings, "token", name, groups, collections)

    def _check(self, token: str, kid: str | None) -> Mapping[str, Any]:
        issuer = self.keys.issuer
        key = self.keys.find(kid)
        if key is None:
            raise Unauthorized(
                f"this token is signed by no key that {issuer} has now: {kid!r:.100}"
            )
        try:
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=list(key.algorithms),
                audience=self._settings.oidc_audience,
                issuer=issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (PyJWTError, ValueError, TypeError) as wrong:
            raise Unauthorized(describe_mistake(wrong, issuer)) from None
        return claims


def describe_mistake(wrong: Exception, issuer: str) -> str:
    """Describe the reason for the refusal of a token."""
    if isinstance(wrong, ExpiredSignatureError):
        return f"this token has expired; get another one of {issuer}"
    if isinstance(wrong, ImmatureSignatureError):
        return "this token is not valid yet; compare the clocks"
    if isinstance(wrong, InvalidAudienceError):
        return "this token is for another service: its audience is not TESSERA_OIDC_AUDIENCE"
    if isinstance(wrong, MissingRequiredClaimError):
        return f"this token has no claim {wrong.claim}"
    if isinstance(wrong, InvalidSignatureError | InvalidAlgorithmError | InvalidKeyError):
        return f"this token is not signed by a key of {issuer}: {wrong}"
    return f"this token cannot be used: {wrong}"


def read_claim(claims: Mapping[str, Any], name: str) -> Any:
    """Read a claim by its name or path; None without it.

    A path is `realm_access.roles`, for instance.
    """
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def list_values(claims: Mapping[str, Any], name: str) -> list[str]:
    """List the texts of a claim; none without it."""
    value = read_claim(claims, name)
    if isinstance(value, str):
        return value.split() if name in SCOPES else [value]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
