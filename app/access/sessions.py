"""Sessions of the page: signed cookies instead of a key.

A session ends by signing out, by another sign-in of the same browser, after a week, and with its
key. The first two are stored in the catalog, so that they hold in every process and host.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from itsdangerous import BadData, URLSafeTimedSerializer

from app.access.keyring import Keyring
from app.access.keys import ApiKey
from index.catalog.catalog import Catalog
from index.database.ended_sessions import EndedSessions

LONGEST = 7 * 24 * 3600  # seconds until a key is asked for again


@dataclass(frozen=True, slots=True)
class Session:
    """A session: its key, a random id, its start."""

    key: ApiKey
    id: str
    began: int  # seconds since 1970


class Sessions:
    """Begins, reads and ends sessions, signed with HMAC-SHA256.

    A session begins with the mark of its key, and is signed by the catalog's secret and the key's
    hash together. So neither a copy of the database nor one of the file of keys suffices to make
    one.
    """

    def __init__(self, secret: bytes, keyring: Keyring, ended: EndedSessions) -> None:
        """`secret` has at least 32 bytes."""
        self._secret, self._keyring, self._ended = secret, keyring, ended

    @classmethod
    def of(cls, catalog: Catalog, keyring: Keyring) -> Sessions:
        """Make the sessions of all services of a catalog."""
        return cls(catalog.secret, keyring, EndedSessions(catalog.reader, catalog.writer, LONGEST))

    def begin(self, key: ApiKey) -> str:
        """A new session of a key."""
        signed = self._serializer(key).dumps([key.name, secrets.token_urlsafe(16)])
        return f"{key.mark}.{signed if isinstance(signed, str) else signed.decode()}"

    def read(self, text: str) -> ApiKey | None:
        """Read a session's key; None if the session has ended or is not ours."""
        session = self._verify(text)
        if session is None or self._ended.has(session.key.mark, session.id, session.began):
            return None
        return session.key

    def end(self, text: str) -> None:
        """End a session, unless it has ended or is not ours."""
        session = self._verify(text)
        if session is not None:
            self._ended.end(session.key.mark, session.id, session.began)

    def _verify(self, text: str) -> Session | None:
        mark, _, signed = text.partition(".")
        key = self._keyring.find_mark(mark)
        if key is None:
            return None
        try:
            (name, identity), when = self._serializer(key).loads(
                signed, max_age=LONGEST, return_timestamp=True
            )
        except BadData:
            return None
        return Session(key, identity, int(when.timestamp())) if name == key.name else None

    def _serializer(self, key: ApiKey) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(
            self._secret + bytes.fromhex(key.sha256),
            salt="tessera.session",
            signer_kwargs={"digest_method": hashlib.sha256, "key_derivation": "hmac"},
        )
