"""The commands of search, from serve to check.

Modules here import little: a command imports what it needs when it runs, so that help and
usage errors come at once.
"""

from __future__ import annotations

import typer

from app.cli import backup as migrating
from app.cli import backup as upkeep
from app.cli import cluster, keys
from app.cli import collections as stored
from app.cli import explain as explaining
from app.cli import index as indexing
from app.cli import models as listing
from app.cli import search as ranking
from app.cli import search as searching
from app.cli import serve as serving

app = typer.Typer(no_args_is_help=True, help="Search photos by sentences, and see why.")
app.command()(serving.serve)
app.command()(migrating.migrate)
app.command()(searching.search)
app.command()(ranking.rank)
app.command()(explaining.describe)
app.command()(explaining.align)
app.command()(explaining.ground)
app.command()(listing.models)
app.command()(upkeep.snapshot)
app.command()(upkeep.restore)
app.command()(upkeep.check)
app.command()(upkeep.sweep)
app.command()(stored.delete)
app.add_typer(indexing.app, name="index")
app.add_typer(cluster.app, name="cluster")
app.add_typer(keys.app, name="keys")
app.add_typer(stored.collections, name="collections")
