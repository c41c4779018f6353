"""Options that commands of search share, and how mistakes are told."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from app.inference import NoCaptioner, NoGrounder
from app.settings import Settings

Data = Annotated[Path | None, typer.Option(help="Data folder. [default: .tessera]")]
Named = Annotated[str, typer.Option(help="A named set of items.")]


def settings_for(**chosen: object) -> Settings:
    """The settings, in which what the command line says comes first."""
    return Settings.model_validate(
        Settings().model_dump() | {name: one for name, one in chosen.items() if one is not None}
    )


@contextmanager
def plain_errors() -> Iterator[None]:
    """Tell the caller's mistakes in a sentence, without a traceback."""
    try:
        yield
    except (ValueError, LookupError, NoCaptioner, NoGrounder, OSError) as mistake:
        logging.getLogger("tessera").debug("refused", exc_info=True)
        typer.echo(f"error: {mistake}", err=True)
        raise typer.Exit(1) from mistake
