"""An issuer of tokens on this machine, as OpenID Connect describes it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from tests.outside.serving import QuietHandler, serve

AUDIENCE = "tessera"


def make_key(kind: str) -> Any:
    """Make a private key for an algorithm."""
    if kind.startswith("ES"):
        return ec.generate_private_key(ec.SECP256R1())
    if kind == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(65537, 2048)


def publish(key: Any) -> dict[str, Any]:
    """The public half of a key as JSON."""
    kinds = {rsa.RSAPrivateKey: RSAAlgorithm, ec.EllipticCurvePrivateKey: ECAlgorithm}
    algorithm = next((kinds[kind] for kind in kinds if isinstance(key, kind)), OKPAlgorithm)
    return dict(algorithm.to_jwk(key.public_key(), as_dict=True))


@dataclass(slots=True)
class Issuer:
    """Keys by their ids, and their published halves."""

    address: str = ""
    keys: dict[str, Any] = field(default_factory=dict)
    published: list[dict[str, Any]] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)  # changes of the first document
    asked: list[str] = field(default_factory=list)
    status: int = 200

    def add(self, kid: str, kind: str = "RS256", **fields: Any) -> None:
        """Make a key and publish it."""
        self.keys[kid] = make_key(kind)
        self.published.append(publish(self.keys[kid]) | {"kid": kid} | fields)

    def issue(self, kid: str = "a", kind: str = "RS256", key: Any = None, **claims: Any) -> str:
        """Issue a token, by default valid; None leaves a claim out."""
        now = int(time.time())
        usual = {"iss": self.address, "aud": AUDIENCE, "sub": "anna", "exp": now + 60, "iat": now}
        all_claims = usual | {"groups": ["tessera-read"]} | claims
        chosen = {name: value for name, value in all_claims.items() if value is not None}
        return jwt.encode(chosen, key or self.keys[kid], algorithm=kind, headers={"kid": kid})


@contextmanager
def issue() -> Iterator[Issuer]:
    """An issuer on a free port, with the key `a`."""
    issuer = Issuer()

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            issuer.asked.append(self.path)
            documents: dict[str, Any] = {
                "/.well-known/openid-configuration": {
                    "issuer": issuer.address,
                    "jwks_uri": f"{issuer.address}/keys",
                }
                | issuer.about,
                "/keys": {"keys": issuer.published},
            }
            self.send_response(issuer.status)
            self.end_headers()
            self.wfile.write(json.dumps(documents[self.path]).encode())

    issuer.add("a")
    with serve(Handler) as issuer.address:
        yield issuer
