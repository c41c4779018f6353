"""Items for tests, stored as an import stores them."""

from __future__ import annotations

from collections.abc import Sequence

from app.engine.drafts import Draft
from app.engine.engine import Engine


def put(engine: Engine, collection: str, drafts: Sequence[Draft]) -> None:
    """Embed and store drafts together, all or none; makes the collection."""
    entries = engine.embed(drafts)
    engine.write(collection, lambda home: engine.catalog.put_many(home, entries), create=True)
