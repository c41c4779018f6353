"""Sessions of the page: signed texts in a cookie that stand for a key, without the key itself."""

from __future__ import annotations

import hashlib

from itsdangerous import BadData, URLSafeTimedSerializer

from app.keys import Key

COOKIE = "tessera_session"
LONGEST = 7 * 24 * 3600  # seconds until a key is asked for again


class Sessions:
    """Writes and reads sessions, signed with HMAC-SHA256 by a secret of at least 32 bytes."""

    def __init__(self, secret: bytes) -> None:
        signing = {"digest_method": hashlib.sha256, "key_derivation": "hmac"}
        self._serializer = URLSafeTimedSerializer(
            secret, salt="tessera.session", signer_kwargs=signing
        )

    def write(self, key: Key) -> str:
        """A session of a key."""
        session = self._serializer.dumps([key.name, key.mark])
        return session if isinstance(session, str) else session.decode()

    def read(self, session: str) -> tuple[str, str] | None:
        """The name and the mark of a session's key; None for one that is over, or not ours."""
        try:
            name, mark = self._serializer.loads(session, max_age=LONGEST)
        except (BadData, ValueError):
            return None
        return name, mark
