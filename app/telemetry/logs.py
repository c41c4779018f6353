"""Logs: records of service and libraries as JSON or plain text."""

from __future__ import annotations

import logging
import sys
from typing import Any, Literal

import structlog
from asgi_correlation_id import correlation_id
from opentelemetry import trace
from structlog.typing import EventDict, Processor, WrappedLogger

from models.rooms import PREFIX

Style = Literal["json", "plain"]

# Whose records of level INFO are kept.
ROOMS = (*(f"{PREFIX}{room}" for room in ("app", "index", "models")), "tessera", "uvicorn")
POOL = f"{PREFIX}index.database.errors.Pool"  # of connections: it logs each time it is made again


def configuration(style: Style) -> dict[str, Any]:
    """Return the configuration for logging.config.dictConfig: all records to stderr."""
    info = {"level": "INFO"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"records": {"()": formatter, "style": style}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "records"}},
        "root": {"level": "WARNING", "handlers": ["stderr"]},
        "loggers": {**dict.fromkeys(ROOMS, info), POOL: {"level": "WARNING"}},
    }


def formatter(style: Style) -> logging.Formatter:
    """Return a formatter of records, with tracebacks inside the record."""
    shape: list[Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if style == "json":
        shape += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:  # without the values of variables, which may be what people searched for
        plain, colours = structlog.dev.plain_traceback, sys.stderr.isatty()
        console = structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=plain)
        shape += [_printable, console]
    return structlog.stdlib.ProcessorFormatter(
        processors=shape,
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.stdlib.ExtraAdder(),
            _add_request,
        ],
    )


def _add_request(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Add the ids of request and trace; drop uvicorn's message for terminals."""
    event.pop("color_message", None)
    if request_id := correlation_id.get():
        event["request_id"] = request_id
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        event["trace_id"] = trace.format_trace_id(context.trace_id)
    return event


def _printable(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Escape values with unprintable characters."""
    for name, value in event.items():
        if name != "event" and isinstance(value, str) and not value.isprintable():
            event[name] = repr(value)
    return event
