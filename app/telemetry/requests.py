"""Requests: facts for their log lines, times of their stages."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
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

LONGEST = 200  # characters of a fact that a client chose

Facts = tuple[dict[str, str], Collection[str]]  # those noted, and the names of hidden ones
_facts: ContextVar[Facts | None] = ContextVar("facts", default=None)
_tracer = trace.get_tracer("tessera")


@contextmanager
def collect_facts(hidden: Collection[str] = ()) -> Iterator[dict[str, str]]:
    """Collect the facts of `note`, without `hidden` ones.

    Also in threads that copy the context.
    """
    facts: dict[str, str] = {}
    token = _facts.set((facts, hidden))
    try:
        yield facts
    finally:
        _facts.reset(token)


def note(**facts: str) -> None:
    """Add facts to the log line of the current request, if any."""
    if collected := _facts.get():
        known, hidden = collected
        known.update((name, fact[:LONGEST]) for name, fact in facts.items() if name not in hidden)


@contextmanager
def stage(name: Stage) -> Iterator[None]:
    """Time a block, or a decorated function."""
    # Messages of exceptions may quote what people searched for.
    span = _tracer.start_as_current_span(
        name, record_exception=False, set_status_on_exception=False
    )
    with STAGE_SECONDS.labels(name).time(), span:
        yield
