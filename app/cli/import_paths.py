"""Imports of paths: tables of products, folders, photos and .jsonl files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Any

import typer
from pathspec import GitIgnoreSpec

from app.cli.imports import Tally, import_with_progress, print_change, print_fault
from app.engine.engine import Engine
from app.imports import folder
from app.imports.departed import Departures, NothingDeleted, can_be_synced
from app.imports.folders.object_walk import find_objects
from app.imports.folders.objects import ObjectFolder
from app.imports.folders.reports import list_paths
from app.imports.folders.series import ALIKE, group_photos
from app.imports.folders.watching import FolderWatch
from app.imports.photo_files import FileReading
from app.imports.sources import ImportOutcome, ItemSource, readable
from app.imports.tables import table as tables
from app.settings import Settings
from app.unprintable import escape_unprintable
from app.webhooks.announcing import ImportAnnouncement, announce
from index.database import deleted_photos
from index.items import Replaced

Place = Path | ObjectFolder
RESTING = 4  # times as long as an import took, before the next one


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of an import of paths.

    A `sync` deletes what is gone, up to the share `most_deleted`: by default of folders alone, and
    up to the share of `Departures.delete`.
    """

    mapping: Mapping[str, Any] = field(default_factory=dict)
    refused: Path | None = None
    exclude: tuple[str, ...] = ()
    sync: bool | None = None
    most_deleted: float | None = None
    listed: bool = False  # whether each change is printed
    overwrite: bool = False  # whether rows and lines replace other items of their ids


@dataclass(frozen=True, slots=True)
class PathImport:
    """An import of paths into a collection, with a tally."""

    engine: Engine
    collection: str
    settings: Settings
    options: ImportOptions
    tally: Tally = field(default_factory=Tally)
    following: bool = False  # whether an import without a change is nothing to announce
    _heard: set[ImportOutcome] = field(default_factory=set)  # faults that are printed

    def follow(self, paths: Sequence[Place], seconds: float, parent: int | None = None) -> None:
        """Import paths again after every change.

        Also after so many seconds without one, and when deleted photos are restored.

        Pauses four times as long as an import took, so that steady changes keep no core busy. Ends
        with its `parent`, if that is given.
        """
        folders = [path.resolve() for path in paths if isinstance(path, Path) and path.is_dir()]
        restoration: str | None = None  # before the import

        def is_due() -> bool:
            with suppress(OSError, LookupError):  # while the database is away, nothing is
                now = self._read_restoration()
                return now is not None and now != restoration
            return False

        with closing(FolderWatch(folders, self.settings.data, parent, is_due)) as watched:
            while not watched.orphaned:
                watched.start()
                began = monotonic()
                with log_failure():
                    restoration = self._read_restoration()
                    again = replace(self, tally=Tally(), following=True)
                    tally = again.run([*map(look_again, paths)])
                    if tally.changed:
                        tally.print()
                watched.wait(seconds, rest=RESTING * (monotonic() - began))

    def _read_restoration(self) -> str | None:
        """Read the id of the last restoration of deleted photos."""
        if not self.engine.knows(self.collection):
            return None
        home = self.engine.find(self.collection)
        return deleted_photos.read_restoration(self.engine.catalog.reader, home)

    def run(self, paths: Sequence[Place]) -> Tally:
        """Import paths, and announce the end to the collection's webhooks."""
        announcement = ImportAnnouncement("command", self.tally.counts)
        try:
            self._run(paths)
        except BaseException as failed:
            interrupted = isinstance(failed, KeyboardInterrupt | SystemExit)
            announcement.reason = "it was interrupted" if interrupted else str(failed)
            with suppress(OSError):  # the first failure says more
                self._announce(announcement)
            raise
        if self.tally.failed or self.tally.in_vain:
            announcement.reason = self.tally.reason or "nothing could be read"
        if not self.following or self.tally.changed or self.tally.failed:
            self._announce(announcement)
        return self.tally

    def _announce(self, announcement: ImportAnnouncement) -> None:
        if self.engine.knows(self.collection):
            announce(self.engine.catalog, self.engine.find(self.collection), announcement)

    def _run(self, paths: Sequence[Place]) -> None:
        """Import tables one by one, then other paths; build their index."""
        mapped = bool(self.options.mapping)
        products = [
            path
            for path in paths
            if isinstance(path, Path) and tables.is_table(path, mapped=mapped)
        ]
        if self.options.refused:
            self.options.refused.unlink(missing_ok=True)  # of an earlier import
        for table in products:
            try:
                self._import_table(table)
            except Replaced:
                raise
            except (ValueError, OSError) as wrong:  # others may be right
                self.tally.fail(wrong)
        if others := [path for path in paths if path not in products]:
            self._import_files(others)
        if not self.settings.cluster:  # whose shards build what they need
            self.engine.indexes.build()
            self._group_photos()

    def _group_photos(self) -> None:
        """Put near-duplicates into series, and print the number of changes."""
        if self.settings.series != "none" and self.engine.knows(self.collection):
            alike = ALIKE if self.settings.series == "alike" else None
            grouped = group_photos(self.engine, self.collection, alike)
            if grouped.changed:
                _print_note(f"{grouped.changed:,} photos changed their series of near-duplicates")

    def _import_files(self, paths: Sequence[Place]) -> None:
        """Import folders, photos and .jsonl files together."""
        exclude = GitIgnoreSpec.from_lines(self.options.exclude)
        departures = {path: Departures(path) for path in paths if can_be_synced(path)}
        reading = FileReading.of(self.settings)
        sources_of = ((path, find(path, exclude, reading)) for path in paths)
        watching = (
            departures[path].watch(sources) if path in departures else sources
            for path, sources in sources_of
        )
        import_with_progress(
            self.engine,
            self.collection,
            chain.from_iterable(watching),
            self.settings,
            self.tally,
            self._hear,
            lambda: sum(1 for path in paths for _ in find(path, exclude, reading)),
            overwrite=self.options.overwrite,
        )
        for each in departures.values():
            self._settle(each)
        home = self.engine.open(self.collection)
        self.tally.report.paths = list_paths(paths)
        self.tally.report.write(self.settings.data, home.token)

    def _hear(self, outcome: ImportOutcome) -> None:
        if self.options.listed:
            print_change(outcome)
        elif outcome.reason and outcome not in self._heard:
            self._heard.add(outcome)
            print_fault(outcome)

    def _import_table(self, file: Path) -> None:
        """Import a table.

        Prints its columns first and writes refused rows to a file.
        """
        departures, before = Departures(file), self.tally.counts["refused"]
        refused = self.options.refused or file.with_name(f"{file.name}.refused.jsonl")
        if not self.options.refused:
            refused.unlink(missing_ok=True)
        with tables.open_table(file, self.options.mapping) as table:
            typer.echo(f"# {readable(file)}: {len(table.header)} columns, taken for", err=True)
            typer.echo(table.columns.to_toml(), err=True)
            _print_notes(table.notes)

            reasons = Counter[str]()  # of rows that are stored without a part

            def hear(outcome: ImportOutcome) -> None:
                number = table.take_number(outcome)
                if self.options.listed:
                    print_change(outcome)
                if outcome.status == "stored" and outcome.reason:
                    reasons[outcome.reason] += 1
                if outcome.status == "refused":
                    record = {"row": number, "reason": outcome.reason}
                    with refused.open("a", encoding="utf-8") as lines:
                        lines.write(json.dumps(record, ensure_ascii=True) + "\n")

            sources = departures.watch(table.sources())
            import_with_progress(
                self.engine,
                self.collection,
                sources,
                self.settings,
                self.tally,
                hear,
                partial(self._count_rows, file),
                overwrite=self.options.overwrite,
            )
            _print_notes(table.describe_values())
            _print_notes(f"{count:,} rows: {reason}" for reason, count in reasons.most_common(5))
        if refused_rows := self.tally.counts["refused"] - before:
            typer.echo(f"{refused_rows:,} rows are refused, and why: {readable(refused)}", err=True)
        if table.end:
            raise ValueError(f"{readable(file)}: {table.end}")
        self._settle(departures)

    def _count_rows(self, file: Path) -> int:
        with tables.open_table(file, self.options.mapping) as table:
            return sum(1 for _ in table.sources())

    def _settle(self, departures: Departures) -> None:
        """Delete departed items in a sync; else print their number."""
        home, place = self.engine.open(self.collection), readable(departures.path)
        sync = departures.path.is_dir() if self.options.sync is None else self.options.sync
        if not sync:
            gone, _ = departures.list_departed(self.engine, home)
            if unknown := departures.explain_unknown(self.engine, home):
                _print_note(unknown)
            elif gone:
                _print_note(
                    f"{len(gone):,} stored items are no longer in {place}, such as "
                    f"{gone[0].id!r}: --sync deletes them"
                )
            return
        try:
            deleted = departures.delete(self.engine, home, self.options.most_deleted)
        except NothingDeleted as refused:
            self.tally.fail(refused)
            self.tally.report.kept.append(str(refused))
            return
        for row in deleted:
            outcome = ImportOutcome(row.source, "deleted", change="deleted")
            self.tally.add(outcome)
            self._hear(outcome)
        if deleted or self.options.sync:
            _print_note(f"{len(deleted):,} deleted, as they are no longer in {place}")


def read_place(text: str) -> Place:
    """Return the folder or file of an argument.

    ValueError for another kind of address.
    """
    return ObjectFolder(text) if "://" in text else Path(text)


def look_again(path: Place) -> Place:
    """Return a place without its listing."""
    return ObjectFolder(path.url) if isinstance(path, ObjectFolder) else path


def find(
    path: Place, exclude: GitIgnoreSpec, reading: FileReading
) -> Iterator[ItemSource | ImportOutcome]:
    """Find the items of a place."""
    if isinstance(path, ObjectFolder):
        return find_objects(path, exclude, reading)
    return folder.find([path], exclude, reading)


@contextmanager
def log_failure() -> Iterator[None]:
    """Print the failure of an import; the next one may go on."""
    try:
        yield
    except (ValueError, LookupError, OSError) as failed:
        _print_note(f"error: {failed}")


def _print_notes(notes: Iterable[str]) -> None:
    for note in notes:
        _print_note(f"# {note}")


def _print_note(note: str) -> None:
    typer.echo(escape_unprintable(note), err=True)
