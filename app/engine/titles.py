"""Titles in the place of sentences: they follow changes of metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.engine.drafts import Draft, title_of
from app.engine.engine import Engine
from index.catalog.edits import merge
from index.catalog.write_rows import NewSentence
from index.items import Collection


def embed_new_title(
    engine: Engine, collection: str, item: str, patch: Mapping[str, Any]
) -> NewSentence | None:
    """Embed a new title of an item with the old one alone.

    None if it stays as it is. LookupError for an unknown id.
    """

    def find(home: Collection) -> NewSentence | None:
        stored = engine.catalog.get(home, item)
        former, title = title_of(stored.metadata), title_of(merge(stored.metadata, patch))
        if stored.photos or stored.sentences != (former,) or title in (None, former):
            return None
        assert former is not None
        assert title is not None
        (entry,) = engine.embed([Draft(item, sentences=(title,))])
        return NewSentence(former, title, entry.bags[0])

    return engine.read(collection, find)
