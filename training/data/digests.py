"""Digests of texts and files, to identify caches and runs."""

from __future__ import annotations

import hashlib
from pathlib import Path


def digest(*parts: str) -> str:
    """Twenty-four hexadecimal digits of texts; their boundaries count."""
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(f"{len(part)}:{part}".encode())
    return hashed.hexdigest()[:24]


def file_digest(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
