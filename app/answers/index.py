"""Index answers as JSON: how a collection is searched, and how exact its answers are."""

from __future__ import annotations

from collections import Counter

from app import progress
from app.engine import Engine
from app.schemas.system import AuditOut, AuditRequest, IndexOut, SideOut
from index.requests import Request
from index.rows import Side
from index.snapshot import Snapshot


def index(engine: Engine, collection: str) -> IndexOut:
    """How a collection is searched."""
    home, snapshot = engine.open(collection), engine.index(collection).snapshot()
    return IndexOut(
        collection=collection,
        segments=len(snapshot.published),
        bytes=sum(segment.size for segment in snapshot.segments),
        revision=snapshot.revision,
        behind=snapshot.behind,
        items=engine.catalog.count(home),
        coming=progress.coming(engine.folder, home.name),
        images=_side(snapshot, "images"),
        sentences=_side(snapshot, "sentences"),
    )


def _side(snapshot: Snapshot, side: Side) -> SideOut:
    found_by: Counter[str] = Counter()
    for segment in snapshot.segments:
        structure = segment.structures.get(side)
        found_by[structure.kind if structure else "scan"] += int(segment.side(side).live.sum())
    in_memory = sum(int(segment.side(side).live.sum()) for segment in snapshot.tail)
    return SideOut(rows=found_by.total(), in_memory=in_memory, found_by=dict(found_by))


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
    )
