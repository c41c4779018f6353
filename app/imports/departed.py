"""Departed items: of files and rows no longer there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from app.engine.engine import Engine
from app.imports.folder import ROW_ENDINGS, is_row
from app.imports.folders.moves import list_sources
from app.imports.folders.objects import ObjectFolder
from app.imports.sources import ImportOutcome, ItemSource, digest_text, readable
from index.catalog import edits
from index.catalog.edits import ItemSelection
from index.catalog.reader import SourceRow
from index.items import Collection

SHARE = 0.1  # of the items of a path that an import deletes by itself
FEW = 5  # items of a folder that it deletes as well, if half of them stay


class NothingDeleted(ValueError):
    """A sync deletes no item: too many, or unknown ones."""


@dataclass(slots=True)
class Departures:
    """The places seen of a path, and its departed items.

    The path is a folder, a table or a .jsonl file.

    What cannot be read counts as there: a file, all below a folder, and of a table all rows.
    """

    path: Path | ObjectFolder
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
                self._seen.add(digest_text(entry.place))
            elif entry.status == "refused":
                self._note_refused(entry)
            yield entry

    def _note_refused(self, outcome: ImportOutcome) -> None:
        if outcome.source is not None:
            self._seen.add(digest_text(outcome.source))
        elif self._folder:
            self._seen.add(digest_text(outcome.place))
            self._unreadable.append(f"{outcome.place}/")
        else:
            self._unknown += 1

    def list_departed(self, engine: Engine, home: Collection) -> tuple[list[SourceRow], int]:
        """List departed items, if certain, and count all items."""
        unseen, total = self._list_unseen(engine, home)
        return ([] if self._unknown else unseen), total

    def explain_unknown(self, engine: Engine, home: Collection) -> str:
        """Explain unknown departures; empty if there are none."""
        unseen = self._list_unseen(engine, home)[0] if self._unknown else []
        if not unseen:
            return ""
        return (
            f"{len(unseen):,} stored items may no longer be in {readable(self.path)}, such as "
            f"{unseen[0].id!r}, but it cannot be told: {self._describe_unknown()}"
        )

    def _describe_unknown(self) -> str:
        return (
            f"{self._unknown:,} rows of {readable(self.path)} have no readable id, and may be of "
            "any item"
        )

    def _list_unseen(self, engine: Engine, home: Collection) -> tuple[list[SourceRow], int]:
        """List unseen items, and count all items."""
        prefix = f"{readable(self.path.resolve())}{'/' if self._folder else '#'}"
        displaced = set(engine.catalog.list_displaced(home, prefix) if self._folder else ())
        unseen, total = list[SourceRow](), 0
        for row in list_sources(engine, home, prefix):
            if self._folder and is_row(row.source):
                continue
            total += 1
            if row.id in displaced or not self._is_there(row.source):
                unseen.append(row)
        return unseen, total

    def _is_there(self, source: str) -> bool:
        return digest_text(source) in self._seen or source.startswith(tuple(self._unreadable))

    def delete(self, engine: Engine, home: Collection, most: float | None) -> list[SourceRow]:
        """Delete departed items, and return them; NothingDeleted for too many.

        Too many are more than a share. Without it a tenth, and of a folder up to five if half of
        its items stay.
        """
        departed, total = self.list_departed(engine, home)
        if self._unknown:
            raise NothingDeleted(f"{self._describe_unknown()}: none was deleted")
        if len(departed) > self._count_allowed(total, most):
            raise NothingDeleted(self._explain(len(departed), total, most))
        revisions = [row.revision for row in departed]
        if revisions:
            edits.delete(engine.catalog, home, ItemSelection(revisions=revisions))
        return departed

    def _count_allowed(self, total: int, most: float | None) -> float:
        if most is not None:
            return most * total
        return max(SHARE * total, min(FEW, total // 2) if self._folder else 0)

    def _explain(self, departed: int, total: int, most: float | None) -> str:
        place = readable(self.path)
        if self._folder and departed == total:
            why = "the folder is empty, or is not mounted"
        else:
            few = f", or {FEW} of a folder" if self._folder and most is None else ""
            why = f"{SHARE if most is None else most:.0%}{few} at most are deleted"
        return (
            f"{departed:,} of {total:,} items are no longer in {place}, and none was deleted: "
            f"{why}. Is it whole? --yes deletes them"
        )


def can_be_synced(path: Path | ObjectFolder) -> bool:
    """Return whether a path is a folder or has rows."""
    return isinstance(path, ObjectFolder) or path.is_dir() or path.suffix.lower() in ROW_ENDINGS
