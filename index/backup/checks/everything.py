"""The check of a whole data folder, part by part, during operation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import func, select

from index.backup.checks.database import check_file, check_revisions, check_settings
from index.backup.checks.finding import CheckFinding
from index.backup.checks.items import check_items
from index.backup.checks.segments import check_segments
from index.backup.snapshots import STAGING
from index.backup.transfer import in_use
from index.catalog.catalog import Catalog
from index.catalog.garbage import TOKEN
from index.database.tables import collections
from index.items import ModelMismatch
from index.progress import Progress
from index.segments.follower_process import SEGMENTS


def check(catalog: Catalog, folder: Path, progress: Progress) -> Iterator[CheckFinding]:
    """Check everything; after damage to the database, nothing else."""
    progress("database", 0, 1)
    unsound = list(check_file(catalog.reader))
    progress("database", 1, 1)
    yield from unsound
    if unsound:
        return
    if catalog.ownership.refusal is not None:
        yield CheckFinding("owner", "pictures and data folder", catalog.ownership.refusal)
    yield from check_settings(catalog)
    for collection in catalog.names.list_followed():
        try:
            yield from check_revisions(catalog, collection)
            yield from check_items(catalog, collection, progress)
            if catalog.ownership.refusal is None:
                yield from check_segments(catalog, collection, folder)
        except ModelMismatch:  # it was replaced during the check
            continue
    if catalog.ownership.refusal is None:  # else it is another catalog's
        yield from check_garbage(catalog, folder)


def check_garbage(catalog: Catalog, folder: Path) -> Iterator[CheckFinding]:
    """Find garbage; a service deletes it within hours, `repair` at once.

    Lists only pictures that a sweep may delete: unnamed for long enough.
    """

    def sweep() -> None:
        catalog.sweep(folder / SEGMENTS)

    garbage, directories = catalog.preview_sweep(), (folder / SEGMENTS).glob("*")
    tokens = {directory.name for directory in directories if TOKEN.fullmatch(directory.name)}
    with catalog.reader.begin() as connection:
        tokens.difference_update(connection.execute(select(collections.c.token)).scalars())
        replaced = connection.execute(select(func.count()).where(~in_use)).scalar_one()
    if garbage.due:
        problem = f"{len(garbage.due):,} that no item has"
        if garbage.withheld:
            yield CheckFinding("pictures", "garbage", f"{problem}; see `tessera sweep --dry-run`")
        else:
            yield CheckFinding("pictures", "garbage", problem, sweep)
    if tokens:
        yield CheckFinding(
            "segments", "garbage", f"{len(tokens):,} folders of no collection", sweep
        )
    if replaced:
        yield CheckFinding("database", "garbage", f"{replaced:,} replaced collections", sweep)
    if (folder / STAGING).exists():
        problem = "a restore is running, or was interrupted: run it again"
        yield CheckFinding("database", STAGING, problem)
