"""Progress of long work: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from rich.console import Console
from rich.progress import track

Part = TypeVar("Part")


class Progress(Protocol):
    """Passes parts on, count of them, and shows under `what` how many went by."""

    def __call__(self, parts: Iterable[Part], count: int, what: str) -> Iterable[Part]:
        """Wrap the parts."""
        ...


def silent(parts: Iterable[Part], count: int, what: str) -> Iterable[Part]:  # noqa: ARG001
    """Show nothing."""
    return parts


def on(console: Console) -> Progress:
    """Bars on a console, if it is a terminal and there is work."""

    def progress(parts: Iterable[Part], count: int, what: str) -> Iterable[Part]:
        if not console.is_terminal or not count:
            return parts
        return track(parts, what, total=count, console=console, transient=True)

    return progress
