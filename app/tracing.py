"""Tracing: spans of requests, sent by OpenTelemetry where its standard variables ask for it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import propagate, trace
from opentelemetry.trace import Span, SpanKind

from app import __version__

log = logging.getLogger(__name__)

_tracer = trace.get_tracer("tessera")


@contextmanager
def server_span(method: str, headers: Mapping[str, str]) -> Iterator[Span]:
    """A span of a request, below that of its caller; without a provider it costs nothing."""
    with _tracer.start_as_current_span(
        method,
        propagate.extract(headers),
        SpanKind.SERVER,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        yield span


def start() -> Callable[[], None]:
    """Send spans from here on; what is given sends the rest and stops."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning("OTEL_ variables ask for traces; to send them: pip install 'tessera[tracing]'")
        return lambda: None
    service = Resource({"service.name": "tessera", "service.version": __version__})
    provider = TracerProvider(resource=service.merge(OTELResourceDetector().detect()))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return provider.shutdown
