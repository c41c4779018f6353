"""Progress of long work: a bar, or a line each minute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress as Bars
from rich.progress import TaskID

Part = TypeVar("Part")
Progress = Callable[[str, int, int], None]  # the work, how many parts are done, of how many
Report = Callable[[str, int, int | None], None]  # the same; None for an unknown total

INTERVAL = 60.0  # seconds before the first line about a piece of work, and between two lines


@contextmanager
def show(console: Console) -> Iterator[Report]:
    """Show progress on a console: temporary bars on a terminal, lines elsewhere."""
    if not console.is_terminal:
        yield ProgressLines(console)
        return
    tasks: dict[str, TaskID] = {}
    with Bars(console=console, transient=True) as bars:

        def report(what: str, completed: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=completed, total=total)

        yield report


def follow(parts: Iterable[Part], total: int | None, what: str, console: Console) -> Iterator[Part]:
    """Pass parts on, and show their number on a console."""
    with show(console) as report:
        report(what, 0, total)
        for completed, part in enumerate(parts, 1):
            yield part
            report(what, completed, total)


@dataclass(slots=True)
class WorkPace:
    """The start of some work, and the time of its last line."""

    began: float
    first: int
    last: float


class ProgressLines:
    """Lines on a console: the finished share of work, and time left."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.paces: dict[str, WorkPace] = {}

    def __call__(self, what: str, completed: int, total: int | None) -> None:
        """Print a line during work, INTERVAL after the last one."""
        now = monotonic()
        pace = self.paces.setdefault(what, WorkPace(now, completed, now))
        if now - pace.last < INTERVAL or completed == total:
            return
        pace.last = now
        line = f"{what}: {completed:,}"
        if total:
            line = f"{what}: {100 * completed / total:.0f} %"
            if done := completed - pace.first:  # the others were there before
                left = (now - pace.began) / done * (total - completed)
                line += f", {duration(left)} left"
        self.console.out(line)


def duration(seconds: float) -> str:
    """Write seconds as seconds, minutes or hours."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
