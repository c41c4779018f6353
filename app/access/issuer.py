"""Keys of an issuer of tokens, found by OpenID Connect Discovery."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Any

import httpcore2
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from app.access.user_checks import is_safe
from app.http.errors import Unavailable
from app.network.connections import open_pool, read_body

DISCOVERY = "/.well-known/openid-configuration"
SECONDS = 10.0  # of a document
LARGEST = 2**20  # bytes of a document
PAUSE = 30.0  # seconds between two reads of the keys
FRESH = 600.0  # seconds after which the keys are read again
LONGEST = 86_400.0  # seconds for which keys hold while the issuer cannot be reached
RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
ELLIPTIC = ("ES256", "ES384", "ES512")
ALGORITHMS: Mapping[str, tuple[str, ...]] = {"RSA": RSA, "EC": ELLIPTIC, "OKP": ("EdDSA",)}

log = logging.getLogger("tessera")


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A public key of an issuer, and its algorithms."""

    key: Any
    algorithms: tuple[str, ...]


class IssuerKeys:
    """The keys of an issuer by their ids. For many threads."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self._keys: Mapping[str | None, SigningKey] = {}
        self._read_at = self._tried_at = -LONGEST
        self._turn = Lock()

    def find(self, kid: str | None) -> SigningKey | None:
        """Find a key, without an id the only one.

        Unavailable without any, and for an unknown id while the issuer cannot be reached.
        """
        if monotonic() - self._read_at > LONGEST or not self._keys:
            raise Unavailable(f"the keys of {self.issuer} cannot be read now; try again later")
        if kid is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        if kid not in self._keys and self._tried_at > self._read_at:  # it has failed since
            raise Unavailable(
                f"the keys of {self.issuer} cannot be read now, and may have {kid!r:.100} by now; "
                "try again later"
            )
        return self._keys.get(kid)

    def is_due(self, kid: str | None) -> bool:
        """Return whether to read the keys: they are old, or lack one."""
        now = monotonic()
        old = now - self._read_at > FRESH
        return (old or self.lacks(kid)) and now - self._tried_at > PAUSE

    def must_wait(self, kid: str | None) -> bool:
        """Return whether another thread reads the keys, which may bring a lacking one."""
        return self.lacks(kid) and self._turn.locked()

    def lacks(self, kid: str | None) -> bool:
        """Return whether no key has an id; without an id any only one will do."""
        return kid not in self._keys and not (kid is None and len(self._keys) == 1)

    def refresh(self, kid: str | None) -> None:
        """Read the keys if due, or wait for who does; after a failure those before hold."""
        with self._turn:
            if not self.is_due(kid):  # another thread has just done it
                return
            self._tried_at = monotonic()
            try:
                self._keys = read_keys(self.issuer)
                self._read_at = monotonic()
            except (ValueError, LookupError, TypeError, OSError, RecursionError) as failed:
                log.error("the keys of %s cannot be read: %s", self.issuer, failed)


def read_keys(issuer: str) -> dict[str | None, SigningKey]:
    """Read the keys of an issuer by their ids.

    Raises ValueError, LookupError or TypeError for other documents, OSError without an answer.
    """
    about = fetch_document(issuer.rstrip("/") + DISCOVERY)
    if about["issuer"] != issuer:
        raise ValueError(f"its document is of the issuer {about['issuer']!r:.220}")
    place = about["jwks_uri"]
    if not isinstance(place, str) or not is_safe(place):
        raise ValueError(f"its keys are not at an https:// address: {place!r:.220}")
    keys = {}
    for fields in fetch_document(place)["keys"]:
        if isinstance(fields, dict) and (key := parse_key(fields)) is not None:
            keys[fields.get("kid")] = key
    if not keys:
        raise ValueError("it has no public key for signatures")
    return keys


def parse_key(fields: Mapping[str, Any]) -> SigningKey | None:
    """Parse a public key for signatures; None for other keys."""
    algorithms = ALGORITHMS.get(fields.get("kty", ""), ())
    if fields.get("use", "sig") != "sig" or not algorithms:
        return None
    try:
        parsed = PyJWK(dict(fields))
    except (PyJWTError, ValueError):
        return None  # of a kind that is not known here
    named = fields.get("alg")
    if named is None:  # an elliptic curve has one algorithm
        named = parsed.algorithm_name if fields["kty"] == "EC" else None
    chosen = algorithms if named is None else tuple(one for one in algorithms if one == named)
    return SigningKey(parsed.key, chosen) if chosen else None


def fetch_document(url: str) -> dict[str, Any]:
    """Fetch a document of JSON; OSError without one, ValueError for another kind.

    The operator chose the issuer, so its address need not be public.
    """
    deadline = monotonic() + SECONDS
    try:
        with (
            open_pool(deadline, lambda _: True) as pool,
            pool.stream("GET", url, headers={"Accept": "application/json"}) as answer,
        ):
            if answer.status != 200:
                raise OSError(f"{url} answered {answer.status}")
            body = read_body(answer, LARGEST)
            if body is None:
                raise ValueError(f"{url} has more than {LARGEST:,} bytes")
    except (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError) as failed:
        raise OSError(f"{url} does not answer: {failed!r}") from failed
    document = json.loads(body)
    if not isinstance(document, dict):
        raise ValueError(f"{url} is no object of JSON")
    return document
