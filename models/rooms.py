"""The prefix of the rooms' names, in a checkout and a wheel."""

from __future__ import annotations

# Empty in a checkout, "tessera_search." in the wheel, which app/distribution builds.
PREFIX = __name__.removesuffix("models.rooms")
