"""Storing of sources: only new photos are embedded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.imports import source_reading
from app.imports.fetching import Fetch, refuse
from app.imports.file_metadata.memory import merge_draft
from app.imports.photo_files import DirectDecoder, FileDecoder
from app.imports.settling import patch_items, settle_known
from app.imports.sources import (
    Change,
    ImportOutcome,
    ItemSource,
    digest_text,
    is_gone,
)
from index.catalog.restating import Restatement
from index.items import Collection, Item, Replaced, is_unread

DECODERS = 2  # threads that decode ahead of the model
DIRECT = DirectDecoder()


def import_sources(
    engine: Engine,
    collection: str,
    incoming: Iterable[ItemSource | ImportOutcome],
    *,
    batch: int,
    most_bytes: int,
    decode: FileDecoder = DIRECT,
    fetch: Fetch = refuse,
    overwrite: bool = False,
) -> Iterator[ImportOutcome]:
    """Store sources in small batches and yield their outcomes; safe to interrupt.

    Takes sources as a stream, in one pass, and holds some hundreds at a time. Outcomes come in the
    order of the stream, except that those of the batches that are being read come later. Outcomes
    in the stream are passed on. Rows and lines with ids of other items are refused, or `overwrite`
    those of other imports. Replaced ends it once the name stands for another collection, or none,
    after the outcomes of the batch that was to be stored.
    """
    home = engine.open(collection, create=True)
    pool = ThreadPoolExecutor(DECODERS)
    try:
        if overwrite:
            incoming = refuse_repeated(incoming)
        unread = settle_known(engine, collection, home, incoming, most_bytes)

        def read_source(source: ItemSource) -> Draft | ImportOutcome:
            return source_reading.read(source, most_bytes, decode, fetch)

        for ready in _read_ahead(pool, read_source, unread, batch):
            yield from store(engine, collection, home, ready, overwrite=overwrite)
            if any(isinstance(entry, Draft) for entry in ready):
                engine.catalog.names.check(collection, home)
    finally:
        pool.shutdown(cancel_futures=True)


def store(
    engine: Engine,
    collection: str,
    home: Collection,
    ready: Sequence[Draft | ImportOutcome],
    *,
    overwrite: bool = False,
) -> Iterator[ImportOutcome]:
    """Embed and store drafts, and yield their outcomes; pass outcomes on."""
    try:
        drafts, stored, outcomes = _claim(engine, home, ready, overwrite=overwrite)
    except Replaced as gone:
        yield from (_refuse(entry, str(gone)) for entry in ready)
        return
    yield from outcomes
    drafts = [merge_draft(draft, stored.get(draft.id)) for draft in drafts]
    patches = {
        draft.id: Restatement(item, draft.source, draft.stamp, draft.metadata, draft.pictures)
        for draft in drafts
        if draft.source
        and (item := stored.get(draft.id))
        and _is_alike(draft, item)
        and not is_unread(item.stamp)
    }
    patched = dict(patch_items(engine, collection, home, list(patches.values())))
    yield from patched.values()
    new = [
        _note_lost_photos(draft, stored.get(draft.id))
        for draft in drafts
        if draft.source not in patched
    ]
    for draft, reason in zip(new, engine.put_each(collection, home, new), strict=True):
        place = draft.source or draft.id
        change: Change = "changed" if draft.id in stored else "new"
        outcome = ImportOutcome(place, "stored", "; ".join(draft.notes), change=change)
        yield ImportOutcome(place, "refused", reason) if reason else outcome


def refuse_repeated(
    incoming: Iterable[ItemSource | ImportOutcome],
) -> Iterator[ItemSource | ImportOutcome]:
    """Refuse rows and lines with an id of another one.

    Holds 16 bytes of digests for each.
    """
    places = dict[bytes, bytes]()  # by id
    for entry in incoming:
        if isinstance(entry, ItemSource) and not entry.movable:
            place = digest_text(entry.place)
            if places.setdefault(digest_text(entry.id), place) != place:
                reason = f"its id {entry.id!r} is that of another row or line of this import too"
                yield ImportOutcome(entry.place, "refused", reason)
                continue
        yield entry


def _note_lost_photos(draft: Draft, stored: Item | None) -> Draft:
    """Note lost photos of a draft without any."""
    if draft.pictures or stored is None or not stored.photos:
        return draft
    return replace(draft, notes=(*draft.notes, "its photos are gone"))


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
    engine: Engine,
    home: Collection,
    ready: Sequence[Draft | ImportOutcome],
    *,
    overwrite: bool,
) -> tuple[list[Draft], Mapping[str, Item], list[ImportOutcome]]:
    """Keep drafts with free ids or their own.

    Refuses the ids of other items, unless rows and lines overwrite these. Also returns the stored
    items of these ids.
    """
    drafts = [draft for draft in ready if isinstance(draft, Draft)]
    outcomes = [outcome for outcome in ready if isinstance(outcome, ImportOutcome)]
    if not drafts:
        return [], {}, outcomes
    ids = [name for draft in drafts for name in (draft.id, draft.spare_id) if name is not None]
    stored = engine.catalog.get_many(home, ids)
    owners: dict[str, str | None] = {item.id: item.source for item in stored.values()}
    claimed = list[Draft]()
    for draft in drafts:
        named = _choose_id(draft, owners, stored)
        is_own = owners.setdefault(named.id, named.source) == named.source
        is_claimed = any(other.id == named.id for other in claimed)
        overwrites = overwrite and named.spare_id is None and not is_claimed
        if is_own or overwrites or _is_replaceable(named, owners, stored):
            owners[named.id] = named.source
            claimed.append(named)
        else:
            owner = owners[named.id] or "an item that was put over the API"
            outcomes.append(refuse_taken(named.id, named.source or named.id, owner))
    return claimed, stored, outcomes


def _choose_id(draft: Draft, owners: Mapping[str, str | None], stored: Mapping[str, Item]) -> Draft:
    """Return a draft with its spare id if its own is taken."""
    if draft.spare_id is None or owners.get(draft.id, draft.source) == draft.source:
        return draft
    if _is_replaceable(draft, owners, stored) and _is_alike(draft, stored[draft.id]):
        return draft  # its file was there before
    return replace(draft, id=draft.spare_id)


def _is_replaceable(
    draft: Draft, owners: Mapping[str, str | None], stored: Mapping[str, Item]
) -> bool:
    """Return whether an id is of an item without its source."""
    item = stored.get(draft.id)
    return item is not None and item.source == owners[draft.id] and is_gone(item.source)


def refuse_taken(name: str, place: str, owner: str) -> ImportOutcome:
    """Refuse a source with the id of another one."""
    reason = f"its id {name!r} is taken by {owner}; rename one, or --overwrite replaces that item"
    return ImportOutcome(place, "refused", reason)
