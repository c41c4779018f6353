"""Checks of segments: undamaged, of this catalog, and with its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from index.backup.checks.finding import CheckFinding, name_subject
from index.catalog.catalog import Catalog
from index.catalog.views import CatalogView
from index.distinct import find_distinct
from index.items import Collection
from index.segments import manifest
from index.segments.follower_process import SEGMENTS, catch_up
from index.segments.manifest import choose_valid, open_chain
from index.segments.segment import Segment, mark_broken


def check_segments(
    catalog: Catalog, collection: Collection, folder: Path
) -> Iterator[CheckFinding]:
    """Check all bytes of a collection's published segments."""
    directory, subject = folder / SEGMENTS / collection.token, name_subject(collection)

    def rebuild() -> None:
        catch_up(catalog, folder)  # a service that follows the folder rebuilds them itself

    try:
        listing = manifest.read(directory, collection.token)
    except manifest.AnotherVersion:
        return  # the next service builds them again, as after every such upgrade
    except ValueError as broken:
        yield CheckFinding("segments", subject, str(broken), rebuild)
        return
    listed = listing.segments if listing else ()
    opened = open_chain(listed, directory, {})  # a broken one is marked
    with catalog.reading(collection) as view:
        valid = choose_valid(opened, view)
        wrong = [segment for segment in valid if not _agrees(segment, view)]
    if len(opened) < len(listed):
        name = listed[len(opened)].folder
        yield CheckFinding("segments", subject, f"segment {name} is damaged or missing", rebuild)
    if len(valid) < len(opened):
        name = listed[len(valid)].folder
        yield CheckFinding("segments", subject, f"segment {name} is of another history", rebuild)
    for segment in wrong:
        assert segment.folder is not None
        problem = f"segment {segment.folder.name} has other rows than the catalog"
        yield CheckFinding("segments", subject, problem, _make_repair(segment.folder, rebuild))


def _agrees(segment: Segment, view: CatalogView) -> bool:
    """Return whether a segment's live rows are its span's items."""
    current, span = view.revisions(), segment.span
    sides = segment.sides.values()
    rows = np.concatenate([side.revisions[side.live] for side in sides])
    covered = current[(current > span.after) & (current <= span.until)]
    return np.array_equal(find_distinct(rows), covered)


def _make_repair(folder: Path, rebuild: Callable[[], None]) -> Callable[[], None]:
    def repair() -> None:
        mark_broken(folder)
        rebuild()

    return repair
