"""Gauges: what the service holds at the moment that it is asked for its metrics."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator

from prometheus_client import (
    CollectorRegistry,
    Metric,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily
from prometheus_client.registry import Collector

from app import __version__
from app.telemetry import metrics
from app.engine.engine import Engine
from index.database.errors import Busy


def exposition(engine: Engine | None) -> bytes:
    """All metrics as Prometheus reads them; without an engine, those that need none."""
    disable_created_metrics()  # type: ignore[no-untyped-call]  # of when each series began
    now = CollectorRegistry()
    now.register(Gauges(engine))
    if not metrics.shared():  # processor time and memory of one worker would mislead
        ProcessCollector(registry=now)
    return generate_latest(metrics.counted()) + generate_latest(now)


class Gauges(Collector):
    """What any process of the service can tell, of the database and of the disk."""

    def __init__(self, engine: Engine | None) -> None:
        self.engine = engine

    def collect(self) -> Iterator[Metric]:
        """The metrics; those of the database are left out while it is busy."""
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
    for collection in engine.catalog.collections():
        items.add_metric([collection.name], engine.catalog.count(collection))
        if collection.fingerprint == engine.models.fingerprint:
            index = engine.indexes.of(collection)
            behind.add_metric([collection.name], index.unpublished)
    yield items
    yield behind
