"""Options that commands of training share, and one-sentence messages for mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

FEATURES = Path(".tessera/features")

Data = Annotated[Path, typer.Option(help="Folder, .json or .jsonl of photos and sentences.")]
Images = Annotated[Path | None, typer.Option(help="Where the photos are, if not beside.")]
Runs = Annotated[Path, typer.Option(help="Runs are kept in here.")]
Cache = Annotated[Path, typer.Option(help="Frozen features are kept in here.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …")]
Parser = Annotated[
    str | None,
    typer.Option(
        envvar="TESSERA_PARSER",
        help="The spaCy pipeline of trees: a folder, or an installed package. [default: ours]",
    ),
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with a broken-off run, by the same options.")
]
TrueBoxes = Annotated[
    Path | None, typer.Option(help="True boxes; entities.json.gz beside the data is found.")
]


@contextmanager
def plain_errors(console: Console, parser: str | None = None) -> Iterator[None]:
    """Parse as the caller wants, and tell mistakes in a sentence, without a traceback."""
    try:
        if parser:
            from models.text import parsing

            parsing.choose(parser)
        yield
    except (ValueError, LookupError, ArithmeticError, ChildProcessError) as mistake:
        console.print(f"error: {mistake}", style="red", markup=False)
        raise typer.Exit(1) from mistake


def find_boxes(data: Path, boxes: Path | None) -> Path | None:
    """The file of a corpus's true boxes: the one that is given, or the one beside the data."""
    from training.data import entities

    return boxes or entities.find(data if data.is_dir() else data.parent)
