"""Weights in installed packages: their folders, and a check of their contents."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path


def folder(package: str) -> Path:
    """An installed package's folder, without an import; LookupError if it is absent."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise LookupError(f"install {package.replace('_', '-')}: it carries weights")
    return Path(spec.origin).parent


def check(weights: Path, sha256: str) -> Path:
    """Return the path; ValueError unless its contents have the expected SHA-256."""
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != sha256:
        raise ValueError(f"{weights} has SHA-256 {digest}, not {sha256}; reinstall its package")
    return weights
