"""Defaults of settings and commands, without imports, for a quick start."""

from __future__ import annotations

DEFAULT_COLLECTION = "default"
