"""Health, readiness, metrics, and what the service holds."""

from __future__ import annotations

from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from app.access.door import PUBLIC, may
from app.answers import system as index_answers
from app.http.errors import Unavailable
from app.routes.gauges import exposition
from app.http.openapi import JSON, OF_BODY, OF_COLLECTION, Responses, lines_of, problems
from app.http.readiness import Readiness
from app.routes.dependencies import (
    DEFAULT,
    CallerDep,
    CollectionDep,
    EngineDep,
    LanesDep,
    SettingsDep,
)
from app.schemas.system import (
    AuditOut,
    AuditRequest,
    IndexOut,
    Limits,
    MatcherOut,
    ModelOut,
    ModelsOut,
)
from app.routes.bodies import reads_json
from models.checkpoint import Checkpoint

router = APIRouter(tags=["system"])
TEXT: Responses = {200: {"content": {CONTENT_TYPE_LATEST: {"schema": {"type": "string"}}}}}
NOT_READY = problems(Unavailable)


@router.get("/healthz", name="healthz", dependencies=[PUBLIC], summary="As /livez.")
@router.get("/livez", dependencies=[PUBLIC])
async def livez() -> dict[str, str]:
    """The process answers."""
    return {"status": "alive"}


@router.get("/readyz", dependencies=[PUBLIC], responses=NOT_READY)
async def readyz(request: Request, engine: EngineDep) -> dict[str, object]:
    """The default collection can be searched, and the disk can be written; 503 otherwise.

    All who ask share a check of a few seconds ago: `checked` is its age in seconds. `collections`
    counts those that are searched here, and those that another model made. Of a cluster, `shards`
    says how many answer. Every one must have, before a service is ready.
    """
    readiness: Readiness = request.app.state.readiness
    return {"status": "ready", **await readiness.report(engine.check)}


# For all collections together, so not for a key of some; TESSERA_OPEN_METRICS lets all in.
@router.get(
    "/metrics", dependencies=[may("read", unbound=True)], response_class=Response, responses=TEXT
)
async def metrics(request: Request) -> Response:
    """Counters, timings and gauges as Prometheus text."""
    state = request.app.state
    text = await to_thread.run_sync(exposition, state.engine, limiter=state.scrapes)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})


@router.get("/model", dependencies=[may("read")], responses=NOT_READY)
async def model(engine: EngineDep, settings: SettingsDep) -> ModelsOut:
    """What is loaded, and how much may be uploaded."""
    matcher = engine.models.matcher
    return ModelsOut(
        matcher=MatcherOut(
            name=engine.models.name,
            fingerprint=engine.models.fingerprint,
            dimension=matcher.dimension,
            score=matcher.score,
        ),
        captioner=_model(engine.models.checkpoints["captioner"]),
        region_captioner=_model(engine.models.checkpoints["region_captioner"]),
        grounder=_model(engine.models.checkpoints["grounder"]),
        limits=Limits.model_validate(settings, from_attributes=True),
    )


@router.get("/index", dependencies=[may("read")], responses=problems(*OF_COLLECTION))
def index(engine: EngineDep, collection: CollectionDep = DEFAULT) -> IndexOut:
    """How a collection is searched: its segments, what finds rows, and what is not in yet."""
    return index_answers.index(engine, collection)


@router.post(
    "/index/audit",
    dependencies=[may("admin")],
    responses=problems(*OF_COLLECTION, *OF_BODY),
    openapi_extra=lines_of(AuditRequest, JSON),
)
async def audit(
    request: Annotated[AuditRequest, Depends(reads_json(AuditRequest))],
    engine: EngineDep,
    lanes: LanesDep,
    caller: CallerDep,
) -> AuditOut:
    """Answer queries twice, as usual and exactly, and say how much the usual answers hold."""
    with lanes.batches.place(caller):
        return await lanes.batches.run(index_answers.audit, engine, request)


def _model(loaded: Checkpoint | None) -> ModelOut | None:
    """A loaded model's name and fingerprint."""
    return ModelOut(name=loaded.name, fingerprint=loaded.fingerprint) if loaded else None
