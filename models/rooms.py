"""Names of the rooms' modules: at the top in a checkout, in one package of the wheel."""

from __future__ import annotations

# Empty in a checkout, "tessera_search." in the wheel, which app/distribution builds.
PREFIX = __name__.removesuffix("models.rooms")
