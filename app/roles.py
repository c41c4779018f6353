"""Roles of keys: read, write, admin."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a key is for; each role includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def includes(self, other: Role) -> bool:
        """Return whether whoever has this role may do what the other one may."""
        roles = list(Role)
        return roles.index(self) >= roles.index(other)
