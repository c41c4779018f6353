"""API keys: names, roles, collections, limits and hashes."""

from __future__ import annotations

import hashlib
import secrets
import unicodedata
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError

from app.roles import Role
from app.settings import RateLimit

PREFIX = "tessera_"  # by which scanners for leaked secrets recognise a key


class Caller(BaseModel):
    """The sender of a request and its rights.

    None stands for all collections, or for no limit.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f]+$")]
    role: Role
    collections: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    rate_limit: RateLimit | None = None
    concurrency_limit: PositiveInt | None = None

    @property
    def title(self) -> str:
        """The caller as messages name it."""
        return f"the key {self.name!r}"


class ApiKey(Caller):
    """A caller with the SHA-256 of a key, in hexadecimal."""

    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]

    @property
    def mark(self) -> str:
        """Tell this key from an earlier one of the same name."""
        return self.sha256[:16]


def make_key(name: str, role: Role, **chosen: Any) -> tuple[str, ApiKey]:
    """Make a new key: its secret, and its record for a file.

    Raises ValueError for a name or a limit that is not valid.
    """
    check_name(name)
    secret = make_secret()
    try:
        return secret, ApiKey(name=name, role=role, sha256=hash_key(secret), **chosen)
    except ValidationError as wrong:
        raise ValueError(describe_mistake(wrong)) from None


def check_name(name: str) -> None:
    """Raise ValueError for a name hard to see, type or tell apart."""
    odd = next((sign for sign in name if not sign.isprintable()), None)
    if odd is not None:
        raise ValueError(
            f"name: it holds U+{ord(odd):04X}, which is not printable; letters, digits, "
            "punctuation and single spaces are"
        )
    if name != name.strip():
        raise ValueError("name: it begins or ends with a space; leave that out")


def fold(name: str) -> str:
    """Fold a name: ignore case and variants of the same character."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def make_secret() -> str:
    """A key of 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


def hash_key(key: str) -> str:
    """Return the SHA-256 in hexadecimal.

    A slow hash would protect short keys; random keys need none.
    """
    return hashlib.sha256(key.encode()).hexdigest()


def describe_mistake(wrong: ValidationError) -> str:
    """Describe the first mistake, without the checked values."""
    first = wrong.errors()[0]
    place = ".".join(map(str, first["loc"])) or "the line"
    return f"{place}: {first['msg'].removeprefix('Value error, ')}"
