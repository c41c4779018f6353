"""Tables and lines of the command line, with whole names."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.table import Column, Table

WIDE = 10_000  # columns of a file or a pipe, where a name is to stay in one line


def make_table(*columns: str, title: str | None = None) -> Table:
    """Make a table; long names fold, none is cut."""
    return Table(*(Column(column, overflow="fold") for column in columns), title=title)


def print_out(*parts: RenderableType, sep: str = " ") -> None:
    """Print to a terminal in its width, elsewhere without folds."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDE)
    console.print(*parts, sep=sep)
