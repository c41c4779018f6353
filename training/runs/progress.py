"""Progress of training's long work, on a console or nowhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from rich.console import Console

from index.progress import follow

Part = TypeVar("Part")


class Progress(Protocol):
    """Passes parts on, and shows their number.

    Under `what`, out of `count`.
    """

    def __call__(self, parts: Iterable[Part], count: int, what: str) -> Iterable[Part]:
        """Wrap the parts."""
        ...


def silent(parts: Iterable[Part], count: int, what: str) -> Iterable[Part]:  # noqa: ARG001
    """Show nothing."""
    return parts


def on(console: Console) -> Progress:
    """Progress on a console, if there is work."""

    def progress(parts: Iterable[Part], count: int, what: str) -> Iterable[Part]:
        return follow(parts, count, what, console) if count else parts

    return progress
