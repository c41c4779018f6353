"""Addresses of databases in messages: without secrets, with what is wrong."""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy import URL

from index.disk import try_writing

SPECIAL = "@/?#%"  # written in percent-encoding inside of a password
ENCODED = "a password's @ is written %40, its / %2F, ? %3F, # %23 and % %25"


def check_password(address: str) -> None:
    """Raise ValueError for a password with an @ as it is."""
    scheme, _, rest = address.partition("://")
    if scheme.startswith("sqlite"):
        return
    authority, _, _ = rest.partition("?")
    before = (authority if "@" in authority else rest).rpartition("@")[0]
    user, _, password = before.partition(":")
    if "@" in password and "@" not in user:
        raise ValueError(f"the address of the database cannot be read: {ENCODED}")


def hide_secrets(url: URL) -> str:
    """Return an address to show, without its passwords."""
    secret = dict.fromkeys({"password", "sslpassword"} & url.query.keys(), "hidden")
    return url.update_query_dict(secret).render_as_string()


def describe_surroundings(url: URL) -> str:
    """Describe what an address or a folder adds to a failure, or nothing."""
    if url.get_backend_name() != "sqlite":
        return f"; {ENCODED}" if set(SPECIAL) & set(url.password or "") else ""
    folder = Path(url.database or "").parent
    if not folder.is_dir():
        return ""
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        return f"; the folder {folder} is read-only"
    if not os.access(folder, os.W_OK):
        user, owner = os.geteuid(), folder.stat().st_uid
        return f"; the folder {folder} is of user {owner}, and user {user} may not write to it"
    try:
        try_writing(folder)
    except OSError as refused:
        return f"; the folder {folder} takes no writes: {refused.strerror}"
    return ""
