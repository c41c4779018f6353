"""Announcements can be posted, with any reason."""

from __future__ import annotations

import json

from app.webhooks.announcing import ImportAnnouncement


def test_a_reason_may_name_a_file_that_is_no_unicode() -> None:
    name = b"caf\xe9.jpg".decode(errors="surrogateescape")
    body = ImportAnnouncement("command", reason=f"{name} cannot be read").write("shop", 1.0)
    assert body.isascii()
    assert json.loads(body)["data"]["reason"] == r"caf\udce9.jpg cannot be read"
