"""Items in folders, photos and .jsonl files; others by kind."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pathspec import GitIgnoreSpec

from app.imports.folders.ignoring import IGNORE_FILE, LONGEST_FILE, Patterns, read_patterns
from app.imports.item_lines import read_items
from app.imports.sources import (
    ImportOutcome,
    ItemSource,
    make_stamp,
    name_file,
    open_regular,
    readable,
)
from index.items import check_new_id
from models.vision.photo_decoding import is_photo

PHOTO_ENDINGS = {
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif"),
    ".mpo",
}
TABLE_ENDINGS = {".jsonl", ".csv", ".tsv", ".parquet"}
OTHER_TABLES = {".xlsx", ".xls", ".xlsm", ".ods", ".numbers", ".json", ".xml", ".gz", ".zip", ".db"}
# Folders of thumbnails, deleted files and snapshots that storage and systems make.
SYSTEM_FOLDERS = {
    *("@eadir", "#recycle", "#snapshot", "@recycle", "@recently-snapshot", "$recycle.bin"),
    *("recycler", "system volume information", "lost+found", "lost.dir", "__macosx"),
}
NO_MEDIA = ".nomedia"  # in a folder that Android's galleries leave out
NOTHING = GitIgnoreSpec([])


def find(
    paths: Iterable[Path], exclude: GitIgnoreSpec = NOTHING
) -> Iterator[ItemSource | ImportOutcome]:
    """Find items in folders, photos and .jsonl files.

    Outcomes are refusals, and what is unread. Below a folder, what matches `exclude` is left out.
    """
    for path in paths:
        try:
            rows = path.suffix.lower() == ".jsonl" and not path.is_dir()
            entries = _find(path, exclude)
            yield from entries if rows else map(_let_move, entries)
        except OSError as unreadable:
            yield _refuse_unreadable(path, unreadable)


def _find(path: Path, exclude: GitIgnoreSpec) -> Iterator[ItemSource | ImportOutcome]:
    if path.is_dir():
        yield from _Walk(path.resolve(), exclude)
    elif path.suffix.lower() == ".jsonl" and path.is_file():
        yield from read_items(path.resolve())
    elif path.suffix.lower() in OTHER_TABLES and not is_photo(_read_head(path)):
        reason = f"tables are read as {', '.join(sorted(TABLE_ENDINGS))}: export it as one of these"
        yield ImportOutcome(readable(path), "refused", reason)
    elif path.exists():
        yield _make_source(path.resolve(), path.name)
    else:
        yield ImportOutcome(readable(path), "refused", "there is no such file or folder")


@dataclass(slots=True)
class _Walk:
    """The photos below a folder; its name begins their ids."""

    root: Path
    exclude: GitIgnoreSpec
    followed: list[Path] = field(default_factory=list)  # where links led that were followed
    patterns: dict[Path, Patterns] = field(default_factory=dict)  # that hold in folders

    def __iter__(self) -> Iterator[ItemSource | ImportOutcome]:
        unreadable = list[OSError]()
        for place, folders, files in os.walk(
            self.root, onerror=unreadable.append, followlinks=True
        ):
            if wrong := self._read_patterns(Path(place), files):
                folders.clear()
                yield ImportOutcome(readable(place), "refused", wrong)
                continue
            left_out = {name: self._skip_folder(Path(place, name)) for name in sorted(folders)}
            folders[:] = [name for name, kind in left_out.items() if not kind]
            for name, kind in left_out.items():
                if kind:
                    yield ImportOutcome(readable(Path(place, name)), "unread", kind)
            for name in sorted(files):
                yield self._take(Path(place, name))
        for failed in unreadable:
            yield _refuse_unreadable(failed.filename, failed)

    def _read_patterns(self, folder: Path, files: Sequence[str]) -> str:
        """Read a folder's file of patterns; return its fault, or nothing."""
        patterns = self.patterns.get(folder.parent, Patterns())
        if IGNORE_FILE in files:
            try:
                with open_regular(folder / IGNORE_FILE) as file:
                    lines = read_patterns(file.read(LONGEST_FILE + 1))
                name = "" if folder == self.root else f"{readable(folder.relative_to(self.root))}/"
                patterns = patterns.add(name, lines)
            except (OSError, ValueError) as wrong:
                return f"its {IGNORE_FILE} is not understood: {wrong}"
        self.patterns[folder] = patterns
        return ""

    def _skip_folder(self, folder: Path) -> str:
        """Return the kind of an unread folder; empty for others."""
        if folder.name.startswith("."):
            return "hidden folders"
        if folder.name.lower() in SYSTEM_FOLDERS:
            return "folders of a storage or system, such as thumbnails and deleted files"
        if self._is_excluded(folder, "/"):
            return "excluded folders"
        if (folder / NO_MEDIA).exists():
            return f"folders with a file {NO_MEDIA}"
        if folder.is_symlink():
            return self._skip_link(folder)
        return ""

    def _skip_link(self, link: Path) -> str:
        """Follow a link to a folder, unless read by another way."""
        target = link.resolve()
        if any(_overlap(target, read) for read in (self.root, *self.followed)):
            return "links to folders that are read by another way"
        self.followed.append(target)
        return ""

    def _take(self, file: Path) -> ItemSource | ImportOutcome:
        """Return a file's photo, or the kind of an unread file."""
        try:
            if kind := self._skip_file(file):
                return ImportOutcome(readable(file), "unread", kind)
        except OSError as failed:
            return _refuse_unreadable(file, failed)
        return _make_source(file, file.relative_to(self.root.parent))

    def _skip_file(self, file: Path) -> str:
        """Return the kind of an unread file; empty for a photo."""
        ending = file.suffix.lower()
        if file.name.startswith("."):
            return "hidden files"
        if self._is_excluded(file):
            return "excluded files"
        if ending in PHOTO_ENDINGS or is_photo(_read_head(file)):
            return ""
        if ending in TABLE_ENDINGS:
            return f"{ending} files, which are imported if they are named"
        return f"{ending} files" if ending else "files without an ending"

    def _is_excluded(self, path: Path, end: str = "") -> bool:
        name = f"{readable(path.relative_to(self.root))}{end}"
        return self.exclude.match_file(name) or self.patterns[path.parent].exclude(name)


def _let_move(entry: ItemSource | ImportOutcome) -> ItemSource | ImportOutcome:
    return replace(entry, movable=True) if isinstance(entry, ItemSource) else entry


def is_row(place: str) -> bool:
    """Return whether a place is a row of a file."""
    return any(f"{ending}#" in place.lower() for ending in TABLE_ENDINGS)


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _read_head(file: Path) -> bytes:
    """Read the first bytes of a regular file; else none."""
    if not stat.S_ISREG(file.stat().st_mode):
        return b""
    with file.open("rb") as opened:
        return opened.read(16)


def _refuse_unreadable(place: Path | str, failed: OSError) -> ImportOutcome:
    return ImportOutcome(readable(place), "refused", f"it cannot be read: {failed.strerror}")


def _make_source(file: Path, path: Path | str) -> ItemSource | ImportOutcome:
    """Return the item of a photo, with its path as its id."""
    try:
        name = name_file(path)
        check_new_id(name)
        metadata = {"file": readable(path)}
        return ItemSource(name, readable(file), make_stamp(file), (file,), metadata=metadata)
    except (ValueError, OSError) as unreadable:
        return ImportOutcome(readable(file), "refused", str(unreadable))
