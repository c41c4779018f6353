"""Health, readiness, metrics, and the models and index of the service."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator
from functools import partial

from anyio import to_thread
from fastapi import APIRouter, Request, Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Metric,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily
from prometheus_client.registry import Collector

from app import __version__
from app.access.door import PUBLIC, EngineDep, require_role
from app.answers import system as index_answers
from app.engine import health
from app.engine.engine import Engine
from app.engine.inference import Loadable
from app.http.errors import Unavailable
from app.http.openapi import OF_BODY, OF_COLLECTION, BodyRoute, Responses, problems
from app.http.readiness import Readiness
from app.routes.dependencies import DEFAULT, CallerDep, CollectionDep, LanesDep, SettingsDep
from app.routes.uploads import JsonBody
from app.schemas.system import (
    AuditOut,
    AuditRequest,
    IndexOut,
    Limits,
    MatcherOut,
    ModelOut,
    ModelsOut,
)
from app.telemetry.metrics import gather, is_shared
from index.database.errors import Busy


def exposition(engine: Engine | None) -> bytes:
    """Write all metrics as Prometheus text; without an engine, fewer."""
    disable_created_metrics()  # type: ignore[no-untyped-call]  # of when each series began
    now = CollectorRegistry()
    now.register(Gauges(engine))
    if not is_shared():  # processor time and memory of one worker would mislead
        ProcessCollector(registry=now)
    return generate_latest(gather()) + generate_latest(now)


class Gauges(Collector):
    """Metrics of the database and the disk, the same in all processes."""

    def __init__(self, engine: Engine | None) -> None:
        self.engine = engine

    def collect(self) -> Iterator[Metric]:
        """Yield metrics, without those of the database while it is busy."""
        model = {} if self.engine is None else {"matcher": self.engine.models.fingerprint}
        build = {"version": __version__, "python": platform.python_version(), **model}
        yield InfoMetricFamily("tessera_build", "What runs.", build)
        if self.engine is None:
            return
        free = shutil.disk_usage(self.engine.folder).free
        yield GaugeMetricFamily("tessera_disk_free_bytes", "Free bytes for the data folder.", free)
        try:
            yield from _of_collections(self.engine)
        except Busy:
            return


def _of_collections(engine: Engine) -> Iterator[Metric]:
    items = GaugeMetricFamily("tessera_items", "Stored items.", labels=["collection"])
    behind = GaugeMetricFamily(
        "tessera_index_behind_changes",
        "Changes that no segment on disk has yet, and searches look at one by one.",
        labels=["collection"],
    )
    for collection in engine.catalog.names.all():
        items.add_metric([collection.name], engine.catalog.count(collection))
        if collection.fingerprint == engine.models.fingerprint:
            index = engine.indexes.of(collection)
            behind.add_metric([collection.name], index.unpublished)
    yield items
    yield behind


router = APIRouter(route_class=BodyRoute, tags=["system"])
TEXT: Responses = {200: {"content": {CONTENT_TYPE_LATEST: {"schema": {"type": "string"}}}}}
NOT_READY = problems(Unavailable)


@router.get("/healthz", name="healthz", dependencies=[PUBLIC], summary="As /livez.")
@router.get("/livez", dependencies=[PUBLIC])
async def livez() -> dict[str, str]:
    """The process answers."""
    return {"status": "alive"}


@router.get("/readyz", dependencies=[PUBLIC], responses=NOT_READY)
async def readyz(request: Request, engine: EngineDep) -> dict[str, object]:
    """Check that the default collection is searchable and the disk writable; else 503.

    All who ask share a check of a few seconds ago: `checked` is its age in seconds. `collections`
    counts those that are searched here, and those that another model made. Of a cluster, `shards`
    says how many answer. Every one must have, before a service is ready.
    """
    readiness: Readiness = request.app.state.readiness
    return {"status": "ready", **await readiness.report(partial(health.check, engine))}


# For all collections together, so not for a key of some; TESSERA_OPEN_METRICS lets all in.
@router.get(
    "/metrics",
    dependencies=[require_role("read", unbound=True)],
    response_class=Response,
    responses=TEXT,
)
async def metrics(request: Request) -> Response:
    """Counters, timings and gauges as Prometheus text."""
    state = request.app.state
    text = await to_thread.run_sync(exposition, state.engine, limiter=state.scrapes)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})


@router.get("/model", dependencies=[require_role("read")], responses=NOT_READY)
async def model(engine: EngineDep, settings: SettingsDep) -> ModelsOut:
    """The loaded models, and the limits of uploads."""
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


@router.get("/index", dependencies=[require_role("read")], responses=problems(*OF_COLLECTION))
def index(engine: EngineDep, collection: CollectionDep = DEFAULT) -> IndexOut:
    """Statistics of a collection's index: segments, rows and changes not yet included."""
    return index_answers.index(engine, collection)


@router.post(
    "/index/audit",
    dependencies=[require_role("admin")],
    responses=problems(*OF_COLLECTION, *OF_BODY),
)
async def audit(
    request: JsonBody[AuditRequest],
    engine: EngineDep,
    lanes: LanesDep,
    caller: CallerDep,
) -> AuditOut:
    """Answer queries as usual and exactly, and measure the recall."""
    with lanes.batches.place(caller):
        return await lanes.batches.run(index_answers.audit, engine, request)


def _model(loaded: Loadable | None) -> ModelOut | None:
    """A loaded model's name and fingerprint."""
    return ModelOut(name=loaded.name, fingerprint=loaded.fingerprint) if loaded else None
