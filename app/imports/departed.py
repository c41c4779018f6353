"""Departed items: of files and rows no longer there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from app.engine.engine import Engine
from app.imports.folder import TABLE_ENDINGS
from app.imports.sources import ImportOutcome, ItemSource, readable
from index.catalog import edits
from index.catalog.edits import ItemSelection
from index.items import Collection

PAGE = 10_000  # items that the catalog lists at a time


class NothingDeleted(ValueError):
    """A sync deletes no item: too many, or unknown ones."""


@dataclass(slots=True)
class Departures:
    """The places seen of a path, and its departed items.

    The path is a folder, a table or a .jsonl file.

    What cannot be read counts as there: a file, all below a folder, and of a table all rows.
    """

    path: Path
    _folder: bool = field(init=False)
    _seen: set[bytes] = field(default_factory=set)
    _unreadable: list[str] = field(default_factory=list)
    _unknown: int = 0  # rows of which not even the id could be read

    def __post_init__(self) -> None:
        self._folder = self.path.is_dir()

    def watch(
        self, entries: Iterable[ItemSource | ImportOutcome]
    ) -> Iterator[ItemSource | ImportOutcome]:
        """Pass sources and refusals on, and note their places."""
        for entry in entries:
            if isinstance(entry, ItemSource):
                self._seen.add(_digest(entry.place))
            elif entry.status == "refused":
                self._note_refused(entry)
            yield entry

    def _note_refused(self, outcome: ImportOutcome) -> None:
        if outcome.source is not None:
            self._seen.add(_digest(outcome.source))
        elif self._folder:
            self._seen.add(_digest(outcome.place))
            self._unreadable.append(f"{outcome.place}/")
        else:
            self._unknown += 1

    def list_departed(self, engine: Engine, home: Collection) -> tuple[list[str], int]:
        """List the ids of departed items, and count all items."""
        departed, total = list[str](), 0
        for item, source in self._list_stored(engine, home):
            total += 1
            if _digest(source) not in self._seen and not source.startswith(tuple(self._unreadable)):
                departed.append(item)
        return ([] if self._unknown else departed), total

    def _list_stored(self, engine: Engine, home: Collection) -> Iterator[tuple[str, str]]:
        """Yield the ids and sources of stored items of the path."""
        prefix = f"{readable(self.path.resolve())}{'/' if self._folder else '#'}"
        after = ""
        while page := engine.catalog.list_sources(home, prefix, after=after, limit=PAGE):
            yield from (pair for pair in page if not (self._folder and _is_row(pair[1])))
            after = page[-1][0]

    def delete(self, engine: Engine, home: Collection, most: float) -> int:
        """Delete departed items, and return their number; NothingDeleted above a share."""
        departed, total = self.list_departed(engine, home)
        if self._unknown:
            raise NothingDeleted(
                f"{self._unknown:,} rows of {readable(self.path)} have no readable id, and may be "
                "of any item: none was deleted"
            )
        if len(departed) > most * total:
            raise NothingDeleted(
                f"{len(departed):,} of {total:,} items are no longer in {readable(self.path)}, and "
                f"{most:.0%} at most may be deleted: none was. Is it whole? --most-deleted 1 "
                "allows it"
            )
        return edits.delete(engine.catalog, home, ItemSelection(departed)) if departed else 0


def watched(path: Path) -> bool:
    """Return whether a path is a folder or has rows."""
    return path.is_dir() or path.suffix.lower() in TABLE_ENDINGS


def _is_row(source: str) -> bool:
    """Return whether a source is a row of a file."""
    return any(f"{ending}#" in source.lower() for ending in TABLE_ENDINGS)


def _digest(place: str) -> bytes:
    return blake2b(place.encode(), digest_size=8).digest()
