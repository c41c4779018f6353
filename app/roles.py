"""Roles of keys: read, write, admin."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """The role of a key; each role includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def includes(self, other: Role) -> bool:
        """Return whether this role has all rights of another."""
        roles = list(Role)
        return roles.index(self) >= roles.index(other)
