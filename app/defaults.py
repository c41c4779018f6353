"""Defaults of settings and commands, without imports, so that commands start quickly."""

from __future__ import annotations

DEFAULT_COLLECTION = "default"
