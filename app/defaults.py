"""Defaults that settings and commands share; imports nothing, so that commands start quickly."""

from __future__ import annotations

DEFAULT_COLLECTION = "default"
