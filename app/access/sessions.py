"""Sessions of the page: signed cookies instead of a key.

A session ends by signing out, by another sign-in of the same browser, after a week, and with its
key. The first two are stored in the catalog, so that they hold in every process and host.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from itsdangerous import BadData, URLSafeTimedSerializer

from app.access.keys import ApiKey
from index.catalog.catalog import Catalog
from index.database.ended_sessions import EndedSessions

LONGEST = 7 * 24 * 3600  # seconds until a key is asked for again


@dataclass(frozen=True, slots=True)
class Session:
    """A session: its key's name and mark, a random id, its start."""

    name: str
    mark: str
    id: str
    began: int  # seconds since 1970


class Sessions:
    """Begins, reads and ends sessions, signed with HMAC-SHA256 by a catalog's secret."""

    def __init__(self, secret: bytes, ended: EndedSessions) -> None:
        """`secret` has at least 32 bytes."""
        signing = {"digest_method": hashlib.sha256, "key_derivation": "hmac"}
        self._serializer = URLSafeTimedSerializer(
            secret, salt="tessera.session", signer_kwargs=signing
        )
        self._ended = ended

    @classmethod
    def of(cls, catalog: Catalog) -> Sessions:
        """Make the sessions of all services of a catalog."""
        return cls(catalog.secret, EndedSessions(catalog.reader, catalog.writer, LONGEST))

    def begin(self, key: ApiKey) -> str:
        """A new session of a key."""
        session = self._serializer.dumps([key.name, key.mark, secrets.token_urlsafe(16)])
        return session if isinstance(session, str) else session.decode()

    def read(self, text: str) -> Session | None:
        """Read a session from the database; None if ended or not ours."""
        session = self._verify(text)
        if session is None or self._ended.has(session.mark, session.id, session.began):
            return None
        return session

    def end(self, text: str) -> None:
        """End a session, unless it has ended or is not ours."""
        session = self._verify(text)
        if session is not None:
            self._ended.end(session.mark, session.id, session.began)

    def _verify(self, text: str) -> Session | None:
        try:
            (name, mark, identity), signed = self._serializer.loads(
                text, max_age=LONGEST, return_timestamp=True
            )
        except (BadData, ValueError):  # the latter for one of an older version, without an id
            return None
        return Session(name, mark, identity, int(signed.timestamp()))
