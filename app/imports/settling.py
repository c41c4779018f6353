"""Sources next to stored items: skipped, patched, left out or read."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from app.engine.engine import Engine
from app.engine.refusals import write_each
from app.imports.file_metadata.memory import state_of
from app.imports.folders.moves import Moves, split_stamp
from app.imports.sources import ImportOutcome, ItemSource, is_gone, same_but_for_metadata
from app.telemetry.requests import stage
from index.catalog.restating import Restatement, restate
from index.items import Collection, Item, is_unread

DELETED = "photos with the content of deleted ones, which `tessera index deleted` lists"
PORTION = 2**24  # bytes of texts that are on their way together
LOOKED_UP = 500  # sources that the catalog is asked about at a time


def settle_known(
    engine: Engine,
    collection: str,
    home: Collection,
    incoming: Iterable[ItemSource | ImportOutcome],
    most_bytes: int,
) -> Iterator[ItemSource | ImportOutcome]:
    """Replace sources without new photos by their outcomes.

    Skips what is unchanged, and patches that of which only the place or the metadata changed.
    Files with new content come last: only then is it known which items moved elsewhere. Files of
    deleted photos come before these: one takes over an item of its content without a file.
    """
    settling = _Settling(engine, collection, home, Moves(engine, home, most_bytes))
    for part in split_stream(incoming, LOOKED_UP):
        yield from settling.settle(part)
    yield from settling.settle_deleted()
    yield from settling.list_changed()


@dataclass(slots=True)
class _Settling:
    """Sources next to stored items."""

    engine: Engine
    collection: str
    home: Collection
    moves: Moves
    _changed: list[ItemSource] = field(default_factory=list)  # files with new content
    _deleted: list[ItemSource] = field(default_factory=list)  # files of deleted photos

    def settle(
        self, part: Sequence[ItemSource | ImportOutcome]
    ) -> Iterator[ItemSource | ImportOutcome]:
        """Yield outcomes, and sources to be read."""
        sources = [entry for entry in part if isinstance(entry, ItemSource)]
        stamps = self.engine.catalog.stamps(self.home, [source.place for source in sources])
        known = {place: state_of(stamp) for place, stamp in stamps.items()}
        changed = [source for source in sources if known.get(source.place) != source.stamp]
        deleted = [source for source in changed if self._is_deleted_here(source, known)]
        self._deleted += deleted
        aside = {source.place for source in deleted}
        settled = self._settle_changed([each for each in changed if each.place not in aside])
        for entry in part:
            if isinstance(entry, ImportOutcome):
                yield entry
            elif known.get(entry.place) == entry.stamp:
                yield ImportOutcome(entry.place, "skipped")
            elif (outcome := settled.get(entry.place)) is not None:
                yield outcome
            elif entry.movable and entry.place in known:
                self._changed.append(entry)
            elif entry.place not in aside:
                yield entry

    def settle_deleted(self) -> Iterator[ItemSource | ImportOutcome]:
        """Leave deleted photos out, or give them items of lost files."""
        for start in range(0, len(self._deleted), LOOKED_UP):
            part = self._deleted[start : start + LOOKED_UP]
            settled = self._settle_changed(part)
            yield from (settled.get(source.place, source) for source in part)

    def list_changed(self) -> Iterator[ItemSource]:
        """Yield the files with new content, with the ids of their items."""
        for start in range(0, len(self._changed), LOOKED_UP):
            part = self._changed[start : start + LOOKED_UP]
            ids = self.engine.catalog.ids_at(self.home, [source.place for source in part])
            for source in part:
                item = ids.get(source.place)
                yield replace(source, id=item) if item and self.moves.is_free(item) else source

    def _is_deleted_here(self, source: ItemSource, known: Container[str]) -> bool:
        """Return whether the photo of this very file is deleted."""
        new = source.movable and source.place not in known
        return new and bool(self.moves.list_deleted_here(source))

    def _settle_changed(
        self, changed: Sequence[ItemSource]
    ) -> dict[str, ItemSource | ImportOutcome]:
        """Settle sources without reading; return outcomes by place."""
        if not changed:
            return {}
        stored = self.engine.catalog.get_many(self.home, [source.id for source in changed])
        files = [source.place for source in changed if source.movable]
        ids = self.engine.catalog.ids_at(self.home, files) if files else {}
        patches, settled = dict[str, Restatement](), dict[str, ItemSource | ImportOutcome]()
        for source in changed:
            if not source.movable:
                item = stored.get(source.id)
                if item and (patch := _restate(source, item)):
                    patches.setdefault(item.id, patch)  # an item is patched once
            elif item := self.moves.find(source, ids.get(source.place)):
                if patch := _move(source, item):
                    patches[item.id] = patch
                else:
                    settled[source.place] = replace(source, id=item.id)
            elif source.place not in ids and self.moves.is_deleted(source):
                settled[source.place] = ImportOutcome(source.place, "unread", DELETED)
        done = patch_items(self.engine, self.collection, self.home, list(patches.values()))
        return settled | dict(done)


def _move(source: ItemSource, item: Item) -> Restatement | None:
    """Return the change of an item by a move.

    None if others of its files changed, or all have to be read again.
    """
    state, space, noted = (item.stamp or "").partition(" ")
    if is_unread(state) or split_stamp(state)[1] != split_stamp(source.stamp)[1]:
        return None
    metadata = {**item.metadata, **source.metadata}
    return Restatement(item, source.place, f"{source.stamp}{space}{noted}", metadata)


def _restate(source: ItemSource, stored: Item) -> Restatement | None:
    """Return the change of an item, if its stamp tells enough.

    It tells if photos and sentences are the same.
    """
    moved = source.place != stored.source
    if stored.stamp is None or (moved and not is_gone(stored.source)):
        return None
    if source.stamp == state_of(stored.stamp):  # only its place is another one
        return Restatement(stored, source.place, stored.stamp, stored.metadata)
    if same_but_for_metadata(source, stored.metadata, stored.stamp):
        return Restatement(stored, source.place, source.stamp, source.metadata)
    return None


def patch_items(
    engine: Engine, collection: str, home: Collection, patches: Sequence[Restatement]
) -> Iterator[tuple[str, ImportOutcome]]:
    """Yield the outcomes of patches of unchanged items by place."""
    with stage("store"):
        outcomes = write_each(lambda part: restate(engine.catalog, home, part, collection), patches)
    for patch, outcome in zip(patches, outcomes, strict=True):
        if isinstance(outcome, str):
            yield patch.source, ImportOutcome(patch.source, "refused", outcome)
        elif outcome:
            yield patch.source, _describe(patch)


def _describe(patch: Restatement) -> ImportOutcome:
    """Return the outcome of a patched item."""
    former = patch.item.source or ""
    if former == patch.source:
        return ImportOutcome(patch.source, "patched", change="restated")
    return ImportOutcome(patch.source, "patched", change="renamed", former=former)


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
