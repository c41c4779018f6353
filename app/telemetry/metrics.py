"""Metrics for Prometheus, over all workers together."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

SHARED = "PROMETHEUS_MULTIPROC_DIR"  # the one way to tell prometheus_client
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

OWN = CollectorRegistry()  # of this process

REQUESTS = Counter(
    "tessera_http_requests",
    "HTTP requests answered; 499 are those whose clients left.",
    ("method", "route", "status"),
    registry=OWN,
)
REQUEST_SECONDS = Histogram(
    "tessera_http_request_duration_seconds",
    "Seconds from a request's headers to the end of its answer.",
    ("method", "route"),
    buckets=SECONDS,
    registry=OWN,
)
STAGE_SECONDS = Histogram(
    "tessera_stage_duration_seconds",
    "Seconds that a stage of a request took; wait is for a turn in a lane.",
    ("stage",),
    buckets=SECONDS,
    registry=OWN,
)
LANE_PLACES = Gauge(
    "tessera_lane_places",
    "Requests that a lane takes at most.",
    ("lane",),
    registry=OWN,
    multiprocess_mode="livesum",
)
LANE_REQUESTS = Gauge(
    "tessera_lane_requests",
    "Requests of a lane, from when their bodies are there until they have computed.",
    ("lane",),
    registry=OWN,
    multiprocess_mode="livesum",
)
LANE_RUNNING = Gauge(
    "tessera_lane_running",
    "Tasks of a lane that run.",
    ("lane",),
    registry=OWN,
    multiprocess_mode="livesum",
)
LANE_WAITING = Gauge(
    "tessera_lane_waiting",
    "Tasks of a lane that wait for their turn.",
    ("lane",),
    registry=OWN,
    multiprocess_mode="livesum",
)
LANE_REFUSED = Counter(
    "tessera_lane_refused",
    "Requests refused, as their lane was full or their turn did not come in time.",
    ("lane",),
    registry=OWN,
)
IMPORT_LINES = Counter(
    "tessera_import_lines", "Lines of imports, by what became of them.", ("status",), registry=OWN
)


class LaneGauges:
    """The metrics of one lane."""

    def __init__(self, lane: str, places: int) -> None:
        LANE_PLACES.labels(lane).set(places)
        self.requests, self.refused = LANE_REQUESTS.labels(lane), LANE_REFUSED.labels(lane)
        self.running, self.waiting = LANE_RUNNING.labels(lane), LANE_WAITING.labels(lane)


@contextmanager
def share() -> Iterator[None]:
    """Let child processes count into shared files."""
    with TemporaryDirectory(prefix="tessera-metrics-") as folder:
        os.environ[SHARED] = folder
        yield


def is_shared() -> bool:
    """Return whether several workers share their counts."""
    return SHARED in os.environ


def gather() -> CollectorRegistry:
    """Return the registry of this process, or of all workers."""
    if not is_shared():
        return OWN
    _forget_gauges_of_ended_workers(Path(os.environ[SHARED]))
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry


def _forget_gauges_of_ended_workers(folder: Path) -> None:
    """Delete the gauges of ended workers; their counters stay."""
    for file in folder.glob("gauge_live*_*.db"):
        worker = int(file.stem.rpartition("_")[2])
        if not Path(f"/proc/{worker}").exists() and Path("/proc").exists():
            mark_process_dead(worker)  # type: ignore[no-untyped-call]
