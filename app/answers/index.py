"""Index answers as JSON: how a collection is searched, and how exact its answers are."""

from __future__ import annotations

from app import progress
from app.engine import Engine
from app.schemas.system import AuditOut, AuditRequest, IndexOut, SideOut
from index.requests import Request

NO_QUERY = "no search so far left rows out, so there is nothing to compare; send queries"
NO_WORD = "no query has a word that the model knows; send others"


def index(engine: Engine, collection: str) -> IndexOut:
    """How a collection is searched."""
    home, found = engine.open(collection), engine.index(collection).overview()
    return IndexOut(
        collection=collection,
        segments=found.segments,
        bytes=found.bytes,
        revision=found.revision,
        behind=found.behind,
        coverage=found.coverage,
        items=engine.catalog.count(home),
        coming=progress.coming(engine.folder, home.name),
        images=SideOut.model_validate(found.images, from_attributes=True),
        sentences=SideOut.model_validate(found.sentences, from_attributes=True),
    )


def audit(engine: Engine, asked: AuditRequest) -> AuditOut:
    """How much of exact answers the usual ones hold."""
    requests = None
    if asked.queries is not None:
        queries = [engine.models.query(text) for text in asked.queries]
        requests = [Request("images", query, limit=asked.limit) for query in queries if query.parts]
    found = engine.audit(asked.collection, requests)
    return AuditOut(
        collection=asked.collection,
        queries=len(found.recalls),
        recall=found.recall,
        worst=found.worst,
        note=None if found.recalls else NO_QUERY if asked.queries is None else NO_WORD,
    )
