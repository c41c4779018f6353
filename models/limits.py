"""Limits of the photos that are decoded; imports nothing, so that settings load quickly."""

from __future__ import annotations

MOST_BYTES = 32 * 2**20
MOST_PIXELS = 64 * 10**6
