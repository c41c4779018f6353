"""Indexes as JSON: statistics of a collection's search, and its recall."""

from __future__ import annotations

from app.engine.engine import Engine
from app.imports import progress
from app.schemas.system import AuditOut, AuditRequest, IndexOut, SideOut
from index.search.requests import Request

NO_QUERY = "no search so far left rows out, so there is nothing to compare; send queries"
NO_WORD = "no query has a word that the model knows; send others"


def index(engine: Engine, collection: str) -> IndexOut:
    """Describe how a collection is searched."""
    home, overview = engine.open(collection, reading=True), engine.index(collection).overview()
    return IndexOut(
        collection=collection,
        segments=overview.segments,
        bytes=overview.bytes,
        revision=overview.revision,
        behind=overview.behind,
        coverage=overview.coverage,
        items=engine.catalog.count(home),
        coming=progress.count_coming(engine.folder, home.token),
        importing=progress.is_importing(engine.folder, home.token),
        images=SideOut.model_validate(overview.images, from_attributes=True),
        sentences=SideOut.model_validate(overview.sentences, from_attributes=True),
    )


def audit(engine: Engine, request: AuditRequest) -> AuditOut:
    """Measure the recall of the usual answers."""
    requests = None
    if request.queries is not None:
        photos = request.side == "images"
        queries = [
            engine.models.query(text, of_photos=photos, whole=not photos)
            for text in request.queries
        ]
        requests = [
            Request(request.side, query, limit=request.limit) for query in queries if query.parts
        ]
    measurement = engine.audit(request.collection, requests)
    return AuditOut(
        collection=request.collection,
        queries=len(measurement.recalls),
        recall=measurement.recall,
        worst=measurement.worst,
        note=None if measurement.recalls else NO_QUERY if request.queries is None else NO_WORD,
    )
