"""The command `mcp`: tools for an agent on this machine."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from app.cli.options import Data, check_data_folder, load_engine, plain_errors, settings_for

Write = Annotated[
    bool, typer.Option("--write", help="With the tools that add, change and delete items.")
]


def mcp(write: Write = False, data: Data = None) -> None:
    """Serve an agent: the Model Context Protocol over stdin and stdout.

    An agent starts it by itself: docs/use/integration.md shows how. A service has the same tools
    at /mcp.

    Example: `tessera mcp --data .tessera`
    """
    settings = settings_for(data=data, agents_write=write or None)
    with plain_errors():
        if not settings.agents_write:
            check_data_folder(settings.storage)
        with closing(load_engine(settings)) as engine:
            import anyio

            from app.agents import stdio

            engine.serve()
            anyio.run(stdio.serve, engine, settings)
