"""Items in folders, photos and .jsonl files; others by kind."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pathspec import GitIgnoreSpec

from app.imports.file_metadata.pairs import FileSize, PhotoFiles, group, is_sidecar
from app.imports.file_metadata.regular_files import open_regular
from app.imports.folders.ignoring import IGNORE_FILE, LONGEST_FILE, Patterns, read_patterns
from app.imports.item_lines import read_items
from app.imports.photo_files import FileReading
from app.imports.sources import (
    ImportOutcome,
    ItemSource,
    make_stamp,
    name_file,
    readable,
)
from index.items import check_new_id
from models import extras
from models.vision.formats.kinds import RAW_ENDINGS, VIDEO_ENDINGS, kind_of
from models.vision.formats.video_frames import readable as can_read_videos
from models.vision.photo_decoding import is_photo

PHOTO_ENDINGS = {
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif"),
    *(".mpo", ".heic", ".heif", ".hif", ".heics", ".heifs", ".avifs"),
}
READ_ENDINGS = PHOTO_ENDINGS | RAW_ENDINGS | VIDEO_ENDINGS | {".pdf"}
TABLE_ENDINGS = {".jsonl", ".csv", ".tsv", ".parquet"}
ROW_ENDINGS = TABLE_ENDINGS | {".txt"}  # of files with rows; in a folder a .txt is mostly none
OTHER_TABLES = {".xlsx", ".xls", ".xlsm", ".ods", ".numbers", ".json", ".xml", ".gz", ".zip", ".db"}
EXPORTED = {".jxl", ".jp2", ".psd", ".psb", ".xcf", ".svg", ".ai", ".eps", ".exr", ".tga"}
# Folders of thumbnails, deleted files and snapshots that storage and systems make.
SYSTEM_FOLDERS = {
    *("@eadir", "#recycle", "#snapshot", "@recycle", "@recently-snapshot", "$recycle.bin"),
    *("recycler", "system volume information", "lost+found", "lost.dir", "__macosx"),
}
NO_MEDIA = ".nomedia"  # in a folder that Android's galleries leave out
NOTHING = GitIgnoreSpec([])
READING = FileReading()
EXCLUDED = "excluded files"


def find(
    paths: Iterable[Path], exclude: GitIgnoreSpec = NOTHING, reading: FileReading = READING
) -> Iterator[ItemSource | ImportOutcome]:
    """Find items in folders, photos and .jsonl files.

    Outcomes are refusals, and what is unread. Below a folder, what matches `exclude` is left out.
    """
    for path in paths:
        try:
            rows = path.suffix.lower() == ".jsonl" and not path.is_dir()
            entries = _find(path, exclude, reading)
            yield from entries if rows else map(_let_move, entries)
        except OSError as unreadable:
            yield _refuse_unreadable(path, unreadable)


def _find(
    path: Path, exclude: GitIgnoreSpec, reading: FileReading
) -> Iterator[ItemSource | ImportOutcome]:
    if path.is_dir():
        yield from _Walk(path.resolve(), exclude, reading)
    elif path.suffix.lower() == ".jsonl" and path.is_file():
        yield from read_items(path.resolve(), reading)
    elif path.suffix.lower() in OTHER_TABLES and not is_photo(_read_head(path)):
        reason = f"tables are read as {', '.join(sorted(ROW_ENDINGS))}: export it as one of these"
        yield ImportOutcome(readable(path), "refused", reason)
    elif path.exists():
        yield _make_source(path.resolve(), Path(path.name), reading=reading)
    else:
        yield ImportOutcome(readable(path), "refused", "there is no such file or folder")


@dataclass(slots=True)
class _Walk:
    """The photos below a folder; its name begins their ids."""

    root: Path
    exclude: GitIgnoreSpec
    reading: FileReading
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
            yield from self._take_files(Path(place), sorted(files))
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
            return "links to folders read by another way"
        self.followed.append(target)
        return ""

    def _take_files(
        self, folder: Path, names: Iterable[str]
    ) -> Iterator[ItemSource | ImportOutcome]:
        """Yield a folder's items, and the kinds of unread files."""
        photos, sidecars = list[FileSize](), dict[str, str]()
        for name in names:
            file = folder / name
            try:
                kind = self._skip_file(file)
                if not kind:
                    photos.append(FileSize(name, file.stat().st_size))
                elif is_sidecar(name) and not name.startswith(".") and kind != EXCLUDED:
                    sidecars[name] = kind
                else:
                    yield ImportOutcome(readable(file), "unread", kind)
            except OSError as failed:
                yield _refuse_unreadable(file, failed)
        groups, alone = group(photos, list(sidecars))
        for each in groups:
            yield from self._make_item(folder, each)
        for name in alone:
            yield ImportOutcome(readable(folder / name), "unread", sidecars[name])

    def _make_item(self, folder: Path, files: PhotoFiles) -> Iterator[ItemSource | ImportOutcome]:
        """Yield the item of grouped files, and the joined ones."""
        file = folder / files.main
        spares = [folder / name for name in files.spares]
        sidecars = [folder / name for name in files.sidecars]
        relative = file.relative_to(self.root.parent)
        yield _make_source(file, relative, spares, sidecars, self.reading)
        for other in (*spares, *sidecars):
            yield ImportOutcome(readable(other), "joined", readable(file))

    def _skip_file(self, file: Path) -> str:
        """Return the kind of an unread file; empty for a photo."""
        ending = file.suffix.lower()
        if file.name.startswith("."):
            return "hidden files"
        if self._is_excluded(file):
            return EXCLUDED
        if ending in VIDEO_ENDINGS and not can_read_videos():
            return f"{ending} files, read after {extras.install('video')}"
        if ending in READ_ENDINGS or _is_read(_read_head(file)):
            return ""
        if ending in TABLE_ENDINGS:
            return f"{ending} files, imported if named"
        if ending in EXPORTED:
            return f"{ending} files; export them as JPEG or PNG"
        return f"{ending} files" if ending else "files without an ending"

    def _is_excluded(self, path: Path, end: str = "") -> bool:
        name = f"{readable(path.relative_to(self.root))}{end}"
        return self.exclude.match_file(name) or self.patterns[path.parent].exclude(name)


def _let_move(entry: ItemSource | ImportOutcome) -> ItemSource | ImportOutcome:
    return replace(entry, movable=True) if isinstance(entry, ItemSource) else entry


def is_row(place: str) -> bool:
    """Return whether a place is a row of a file."""
    return any(f"{ending}#" in place.lower() for ending in ROW_ENDINGS)


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _is_read(head: bytes) -> bool:
    """Return whether first bytes are surely of a photo, video or PDF."""
    return is_photo(head) or kind_of(head) != "picture"


def _read_head(file: Path) -> bytes:
    """Read the first bytes of a regular file; else none."""
    if not stat.S_ISREG(file.stat().st_mode):
        return b""
    with file.open("rb") as opened:
        return opened.read(16)


def _refuse_unreadable(place: Path | str, failed: OSError) -> ImportOutcome:
    return ImportOutcome(readable(place), "refused", f"it cannot be read: {failed.strerror}")


def _make_source(
    file: Path,
    path: Path,
    spares: Sequence[Path] = (),
    sidecars: Sequence[Path] = (),
    reading: FileReading = READING,
) -> ItemSource | ImportOutcome:
    """Return the item of a photo, with its path as its id."""
    try:
        name = name_file(path)
        check_new_id(name)
        metadata: dict[str, Any] = {"file": readable(path)}
        if path.parent.name:
            metadata["folder"] = readable(path.parent)
        if spares:
            metadata["companions"] = [readable(path.with_name(spare.name)) for spare in spares]
        stamps = "+".join(make_stamp(each) for each in (file, *spares, *sidecars))
        return ItemSource(
            name,
            readable(file),
            f"{stamps}-{reading.stamp}",
            (file,),
            metadata=metadata,
            spares=tuple(spares),
            sidecars=tuple(sidecars),
            reading=reading,
        )
    except (ValueError, OSError) as unreadable:
        return ImportOutcome(readable(file), "refused", str(unreadable))
