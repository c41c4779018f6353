"""Stages of requests: a metric and a span for each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from opentelemetry import trace

from app.telemetry.metrics import STAGE_SECONDS

Stage = Literal[
    "decode",
    "embed_photo",
    "embed_text",
    "search",
    "store",
    "draw",
    "caption",
    "support",
    "caption_regions",
    "ground",
]

_tracer = trace.get_tracer("tessera")


@contextmanager
def stage(name: Stage) -> Iterator[None]:
    """Time a block, or a decorated function."""
    # Messages of exceptions may quote what people searched for.
    span = _tracer.start_as_current_span(
        name, record_exception=False, set_status_on_exception=False
    )
    with STAGE_SECONDS.labels(name).time(), span:
        yield
