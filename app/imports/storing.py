"""Storing of sources: only new photos are embedded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.engine.refusals import write_each
from app.imports import source_reading
from app.imports.fetching import Fetch, refuse
from app.imports.file_metadata.memory import merge_draft, state_of
from app.imports.photo_files import DirectDecoder, FileDecoder
from app.imports.sources import (
    ImportOutcome,
    ItemSource,
    is_gone,
    same_but_for_metadata,
)
from app.telemetry.requests import stage
from index.catalog.restating import Restatement, restate
from index.items import Collection, Item, Replaced

DECODERS = 2  # threads that decode ahead of the model
PORTION = 2**24  # bytes of texts that are on their way together
DIRECT = DirectDecoder()
LOOKED_UP = 500  # sources that the catalog is asked about at a time


def import_sources(
    engine: Engine,
    collection: str,
    incoming: Iterable[ItemSource | ImportOutcome],
    *,
    batch: int,
    most_bytes: int,
    decode: FileDecoder = DIRECT,
    fetch: Fetch = refuse,
) -> Iterator[ImportOutcome]:
    """Store sources in small batches and yield their outcomes; safe to interrupt.

    Takes sources as a stream, in one pass, and holds some hundreds at a time. Outcomes come in the
    order of the stream, except that those of the batches that are being read come later. Outcomes
    in the stream are passed on. Replaced ends it once the name stands for another collection, or
    none, after the outcomes of the batch that was to be stored.
    """
    home = engine.open(collection, create=True)
    pool = ThreadPoolExecutor(DECODERS)
    try:
        unread = settle_known(engine, collection, home, incoming)

        def read_source(source: ItemSource) -> Draft | ImportOutcome:
            return source_reading.read(source, most_bytes, decode, fetch)

        for ready in _read_ahead(pool, read_source, unread, batch):
            yield from store(engine, collection, home, ready)
            if any(isinstance(entry, Draft) for entry in ready):
                engine.catalog.names.check(collection, home)
    finally:
        pool.shutdown(cancel_futures=True)


def settle_known(
    engine: Engine,
    collection: str,
    home: Collection,
    incoming: Iterable[ItemSource | ImportOutcome],
) -> Iterator[ItemSource | ImportOutcome]:
    """Replace sources without new photos by their outcomes.

    Skips what is unchanged, and patches that of which only the place or the metadata changed.
    """
    for part in split_stream(incoming, LOOKED_UP):
        sources = [entry for entry in part if isinstance(entry, ItemSource)]
        stamps = engine.catalog.stamps(home, [source.place for source in sources])
        known = {place: state_of(stamp) for place, stamp in stamps.items()}
        changed = [source for source in sources if known.get(source.place) != source.stamp]
        stored = engine.catalog.get_many(home, [source.id for source in changed]) if changed else {}
        patches = {  # by id, as an item is patched once
            source.id: patch
            for source in changed
            if source.id in stored and (patch := _restate(source, stored[source.id]))
        }
        patched = dict(_patch(engine, collection, home, list(patches.values())))
        for entry in part:
            if isinstance(entry, ImportOutcome):
                yield entry
            elif known.get(entry.place) == entry.stamp:
                yield ImportOutcome(entry.place, "skipped")
            else:
                yield patched.get(entry.place, entry)


def _restate(source: ItemSource, stored: Item) -> Restatement | None:
    """Return the change of an item, if its stamp tells enough.

    It tells if photos and sentences are the same.
    """
    here = source.place == stored.source
    if stored.stamp is None or not (here or is_gone(stored.source)):
        return None
    if source.stamp == state_of(stored.stamp):  # only its place is another one
        return Restatement(stored, source.place, stored.stamp, stored.metadata)
    if same_but_for_metadata(source, stored.metadata, stored.stamp):
        return Restatement(stored, source.place, source.stamp, source.metadata)
    return None


def _patch(
    engine: Engine, collection: str, home: Collection, patches: Sequence[Restatement]
) -> Iterator[tuple[str, ImportOutcome]]:
    """Yield the outcomes of patches of unchanged items by place."""
    with stage("store"):
        outcomes = write_each(lambda part: restate(engine.catalog, home, part, collection), patches)
    for patch, outcome in zip(patches, outcomes, strict=True):
        if isinstance(outcome, str):
            yield patch.source, ImportOutcome(patch.source, "refused", outcome)
        elif outcome:
            yield patch.source, ImportOutcome(patch.source, "patched")


def split_stream(
    incoming: Iterable[ItemSource | ImportOutcome], count: int
) -> Iterator[list[ItemSource | ImportOutcome]]:
    """Split a stream into parts of bounded count and size."""
    part, size = list[ItemSource | ImportOutcome](), 0
    for entry in incoming:
        part.append(entry)
        size += entry.size if isinstance(entry, ItemSource) else 0
        if len(part) == count or size > PORTION:
            yield part
            part, size = [], 0
    if part:
        yield part


def store(
    engine: Engine, collection: str, home: Collection, ready: Sequence[Draft | ImportOutcome]
) -> Iterator[ImportOutcome]:
    """Embed and store drafts, and yield their outcomes; pass outcomes on."""
    try:
        drafts, stored, outcomes = _claim(engine, home, ready)
    except Replaced as gone:
        yield from (_refuse(entry, str(gone)) for entry in ready)
        return
    yield from outcomes
    drafts = [merge_draft(draft, stored.get(draft.id)) for draft in drafts]
    patches = {
        draft.id: Restatement(item, draft.source, draft.stamp, draft.metadata, draft.pictures)
        for draft in drafts
        if draft.source and (item := stored.get(draft.id)) and _is_alike(draft, item)
    }
    patched = dict(_patch(engine, collection, home, list(patches.values())))
    yield from patched.values()
    new = [draft for draft in drafts if draft.source not in patched]
    for draft, reason in zip(new, engine.put_each(collection, home, new), strict=True):
        place = draft.source or draft.id
        yield ImportOutcome(place, "refused", reason) if reason else ImportOutcome(place, "stored")


def _is_alike(draft: Draft, stored: Item) -> bool:
    """Return whether an item has a draft's sentences and photos."""
    digests = [photo.digest for photo in stored.photos]
    return draft.sentences == stored.sentences and digests == [
        picture.digest for picture in draft.pictures
    ]


def _refuse(entry: Draft | ImportOutcome, reason: str) -> ImportOutcome:
    """The refusal of a draft; outcomes are passed on."""
    if isinstance(entry, ImportOutcome):
        return entry
    return ImportOutcome(entry.source or entry.id, "refused", reason)


def _read_ahead(
    pool: ThreadPoolExecutor,
    read: Callable[[ItemSource], Draft | ImportOutcome],
    unread: Iterable[ItemSource | ImportOutcome],
    batch: int,
) -> Iterator[list[Draft | ImportOutcome]]:
    """Yield batches of drafts while the next batch is being read."""
    part, reading = (
        list[Future[Draft | ImportOutcome]](),
        deque[list[Future[Draft | ImportOutcome]]](),
    )
    for entry in unread:
        if isinstance(entry, ImportOutcome):
            yield [entry]
            continue
        part.append(pool.submit(read, entry))
        if len(part) == batch:
            reading.append(part)
            part = []
        if len(reading) > 1:
            yield [future.result() for future in reading.popleft()]
    for last in (*reading, part):
        yield [future.result() for future in last]


def _claim(
    engine: Engine, home: Collection, ready: Sequence[Draft | ImportOutcome]
) -> tuple[list[Draft], Mapping[str, Item], list[ImportOutcome]]:
    """Keep drafts with free ids or their own.

    It refuses the ids of other items. Also returns the stored items of these ids.
    """
    drafts = [draft for draft in ready if isinstance(draft, Draft)]
    outcomes = [outcome for outcome in ready if isinstance(outcome, ImportOutcome)]
    if not drafts:
        return [], {}, outcomes
    stored_items = engine.catalog.get_many(home, [draft.id for draft in drafts])
    owners: dict[str, str | None] = {
        item.id: item.source for item in stored_items.values() if not is_gone(item.source)
    }
    claimed = []
    for draft in drafts:
        owner = owners.setdefault(draft.id, draft.source)
        if owner == draft.source:
            claimed.append(draft)
        else:
            outcomes.append(_refuse_taken(draft, owner or "an item that was put over the API"))
    return claimed, stored_items, outcomes


def _refuse_taken(draft: Draft, owner: str) -> ImportOutcome:
    reason = f"its id {draft.id!r} is taken by {owner}; rename one"
    return ImportOutcome(draft.source or draft.id, "refused", reason)
