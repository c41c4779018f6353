"""Series of near-duplicates among imported photos."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.engine.engine import Engine
from app.engine.refusals import each
from app.telemetry.requests import stage
from index.catalog.restating import Restatement, restate
from index.catalog.revisions import hold
from index.database import series_rows
from index.database.series_rows import KEY, SeriesRow, make_name, note
from index.items import Collection, Item
from index.photos.series import Alike, Photos, parse_time, regroup
from index.segments.neighbours import RowVectors
from index.segments.reader import SegmentChain
from index.segments.rows import Numbers

BATCH = 200  # items that are written together, or more where a series has more
ALIKE = Alike()

logger = logging.getLogger("tessera")


@dataclass(frozen=True, slots=True)
class Grouped:
    """The numbers of compared photos, and of changed ones."""

    compared: int = 0
    changed: int = 0


def group_photos(engine: Engine, collection: str, alike: Alike | None = ALIKE) -> Grouped:
    """Put near-duplicates among imported photos into series.

    Compares what is new since the last time with all photos, without `alike` by digests. Errors are
    those of a change.
    """
    home = engine.open(collection)
    with engine.catalog.reader.begin() as connection:
        compared = series_rows.read_compared(connection, home)
    if engine.catalog.revision(home) <= compared:
        return Grouped()
    chain = engine.indexes.of(home).snapshot()
    with engine.catalog.reading(home) as view:
        rows = series_rows.list_photos(view.connection, home)
    photos = _gather(rows, chain, compared, by_looks=alike is not None)
    changed = regroup(photos, make_name, alike)
    written = set[str]()
    with stage("store"):
        for part in _split(rows, changed):
            written |= _write(engine, collection, home, part)
    _note_compared(engine, home, chain.revision, written)
    return Grouped(len(photos.new), len(written))


def _gather(
    rows: Sequence[SeriesRow], chain: SegmentChain, compared: int, *, by_looks: bool
) -> Photos:
    """The photos of rows; by looks with vectors of single photos."""
    revisions = np.array([row.revision for row in rows], np.int64)
    single = np.array([by_looks and len(row.digests) == 1 for row in rows], np.bool_)
    vectors = _find_vectors(chain, revisions[single])
    places = np.full(len(rows), -1, np.int64)
    places[np.searchsorted(revisions, vectors.revisions)] = np.arange(len(vectors))
    new = (revisions > compared) & (revisions <= chain.revision)
    return Photos(
        digests=[row.digests for row in rows],
        times=np.array([parse_time(row.taken) for row in rows]),
        series=[row.series for row in rows],
        new=np.flatnonzero(new),
        places=places,
        vectors=vectors,
    )


def _find_vectors(chain: SegmentChain, revisions: Numbers) -> RowVectors:
    """The vectors of items with sorted revisions."""
    parts = []
    for segment in chain.segments:
        rows = segment.sides["images"]
        here = np.isin(rows.revisions, revisions) & rows.live
        if here.any():
            parts.append((rows, np.flatnonzero(here)))
    return RowVectors(parts)


def _split(
    rows: Sequence[SeriesRow], changed: Mapping[int, str | None]
) -> Iterator[dict[int, str | None]]:
    """Split changes into parts: series by revision.

    All photos of a series are in one part.
    """
    by_name = defaultdict[str | None, list[int]](list)
    for number, name in changed.items():
        by_name[name].append(rows[number].revision)
    part = dict[int, str | None]()
    for name, revisions in by_name.items():
        size = len(revisions) if name else BATCH
        for start in range(0, len(revisions), size):
            part |= dict.fromkeys(revisions[start : start + size], name)
            if len(part) >= BATCH:
                yield part
                part = {}
    if part:
        yield part


def _write(
    engine: Engine, collection: str, home: Collection, part: Mapping[int, str | None]
) -> set[str]:
    """Write series of unchanged items; return their ids."""
    with engine.catalog.reader.begin() as connection:
        ids = series_rows.list_ids(connection, home, list(part))
    items = engine.catalog.get_many(home, ids, set())
    changes = [
        _change(item, part[item.revision]) for item in items.values() if item.revision in part
    ]
    outcomes = each(lambda some: restate(engine.catalog, home, some, collection), changes)
    written = set[str]()
    for change, outcome in zip(changes, outcomes, strict=True):
        if outcome is True:
            written.add(change.item.id)
        elif isinstance(outcome, str):
            logger.warning("the series of %r was not written: %s", change.item.id, outcome)
    return written


def _change(item: Item, series: str | None) -> Restatement:
    """The change of an item to another series, or to none."""
    assert item.source is not None, "only imported photos are grouped"
    assert item.stamp is not None, "their stamps say so"
    metadata = {key: value for key, value in item.metadata.items() if key != KEY}
    if series is not None:
        metadata[KEY] = series
    return Restatement(item, item.source, note(item.stamp, series), metadata)


def _note_compared(engine: Engine, home: Collection, revision: int, written: set[str]) -> None:
    """Note the compared revisions: up to the first change by others."""
    newest = engine.catalog.revision(home)
    with engine.catalog.writer.begin() as connection:
        hold(connection, home)  # two imports at the same time follow each other
        for item, newer in series_rows.list_newer(connection, home, revision):
            if item not in written:
                newest = newer - 1
                break
        series_rows.write_compared(connection, home, max(revision, newest))
