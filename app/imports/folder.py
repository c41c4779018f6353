"""Import of folders, photos and .jsonl files; unchanged sources are skipped."""

from __future__ import annotations

import os
import re
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, Literal

from app.engine.drafts import Decode, Draft
from app.engine.engine import Engine
from app.engine.refusals import reason_of
from app.imports.fetching import Fetch, refuse
from app.validation import read_values
from index.items import NO_TEXT, Collection, Replaced, check_new_id
from models.vision import images
from models.vision.photo_decoding import too_many_bytes

PHOTO_ENDINGS = {
    *(".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif", ".mpo"),
}
DECODERS = 2  # threads that decode ahead of the model
LONGEST_LINE = 2**24  # bytes of a line of a .jsonl file: 16 MB of sentences and metadata
NO_FILE = "this is no regular file"
PORTION = 2**24  # bytes of texts that are on their way together
LOOKED_UP = 500  # sources that the catalog is asked about at a time
FIELDS = {"id", "image", "images", "sentences", "metadata"}


@dataclass(frozen=True, slots=True)
class ItemSource:
    """An item to import: its place and its stamp.

    The stamp has its files' sizes and times.
    """

    id: str
    place: str
    stamp: str
    photos: tuple[Path | str, ...] = ()  # files, or addresses to fetch them from
    sentences: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    size: int = 0  # about how many bytes its texts have


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """The outcome of a source; "stored" means safe on disk."""

    place: str
    status: Literal["stored", "skipped", "refused"]
    reason: str = ""


def find(paths: Iterable[Path]) -> Iterator[ItemSource | ImportOutcome]:
    """Find items in folders, photos and .jsonl files; outcomes are refusals."""
    for path in paths:
        try:
            yield from _find(path)
        except OSError as unreadable:
            yield _refuse_unreadable(path, unreadable)


def import_sources(
    engine: Engine,
    collection: str,
    incoming: Iterable[ItemSource | ImportOutcome],
    *,
    batch: int,
    most_bytes: int,
    decode: Decode = images.read,
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
        unread = skip_known(engine, home, incoming)

        def read_source(source: ItemSource) -> Draft | ImportOutcome:
            return read(source, most_bytes, decode, fetch)

        for ready in _read_ahead(pool, read_source, unread, batch):
            yield from store(engine, collection, home, ready)
            if any(isinstance(entry, Draft) for entry in ready):
                engine.catalog.names.check(collection, home)
    finally:
        pool.shutdown(cancel_futures=True)


def store(
    engine: Engine, collection: str, home: Collection, ready: Sequence[Draft | ImportOutcome]
) -> Iterator[ImportOutcome]:
    """Embed and store drafts, and yield their outcomes; pass outcomes on."""
    try:
        drafts, outcomes = _claim(engine, home, ready)
    except Replaced as gone:
        yield from (_refuse(entry, str(gone)) for entry in ready)
        return
    yield from outcomes
    reasons = engine.put_each(collection, home, drafts)
    for draft, reason in zip(drafts, reasons, strict=True):
        place = draft.source or draft.id
        yield ImportOutcome(place, "refused", reason) if reason else ImportOutcome(place, "stored")


def _refuse(entry: Draft | ImportOutcome, reason: str) -> ImportOutcome:
    """The refusal of a draft; outcomes are passed on."""
    if isinstance(entry, ImportOutcome):
        return entry
    return ImportOutcome(entry.source or entry.id, "refused", reason)


def skip_known(
    engine: Engine, home: Collection, incoming: Iterable[ItemSource | ImportOutcome]
) -> Iterator[ItemSource | ImportOutcome]:
    """Replace each unchanged source by an outcome."""
    for part in split_stream(incoming, LOOKED_UP):
        places = [source.place for source in part if isinstance(source, ItemSource)]
        known = engine.catalog.stamps(home, places)
        for entry in part:
            unchanged = isinstance(entry, ItemSource) and known.get(entry.place) == entry.stamp
            yield ImportOutcome(entry.place, "skipped") if unchanged else entry


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


def _find(path: Path) -> Iterator[ItemSource | ImportOutcome]:
    if path.is_dir():
        yield from _find_in_folder(path.resolve())
    elif path.suffix == ".jsonl" and path.is_file():
        yield from _find_in_lines(path.resolve())
    elif path.exists():
        yield _read_photo_source(path.resolve(), path.name)
    else:
        yield ImportOutcome(str(path), "refused", "there is no such file or folder")


def _find_in_folder(folder: Path) -> Iterator[ItemSource | ImportOutcome]:
    """Find the photos below a folder; ids begin with the folder's name."""
    unreadable = list[OSError]()
    for place, folders, files in os.walk(folder, onerror=unreadable.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            file = Path(place, name)
            if file.suffix.lower() in PHOTO_ENDINGS and not name.startswith("."):
                yield _read_photo_source(file, file.relative_to(folder.parent).as_posix())
    for failed in unreadable:
        yield _refuse_unreadable(failed.filename, failed)


def _refuse_unreadable(place: Path | str, failed: OSError) -> ImportOutcome:
    return ImportOutcome(printable(place), "refused", f"it cannot be read: {failed.strerror}")


def printable(place: Path | str) -> str:
    """Escape a path for printing and for storage."""
    return ascii(str(place))[1:-1]


def check_place(place: Path | str) -> None:
    """Raise ValueError for a path beyond databases' characters."""
    if NO_TEXT.search(str(place)):
        raise ValueError("its path has bytes that are no UTF-8; rename the file or its folder")


def _read_photo_source(file: Path, name: str) -> ItemSource | ImportOutcome:
    try:
        check_place(file)
        check_new_id(name)
        return ItemSource(name, str(file), make_stamp(file), (file,), metadata={"file": name})
    except (ValueError, OSError) as unreadable:
        return ImportOutcome(printable(file), "refused", str(unreadable))


def _find_in_lines(file: Path) -> Iterator[ItemSource | ImportOutcome]:
    """The items of a .jsonl file: {"id", "image", "images", "sentences", "metadata"}."""
    with file.open("rb") as lines:
        for number in count(1):
            if not (line := lines.readline(LONGEST_LINE + 1)):
                return
            try:
                if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
                    _skip_line(lines)
                    raise ValueError(f"the line is longer than {LONGEST_LINE:,} bytes; shorten it")
                if line.strip():
                    yield _read_line(file, number, line)
            except (ValueError, OSError) as wrong:
                place = f"{file}:{number}"
                yield ImportOutcome(
                    printable(place) if NO_TEXT.search(place) else place, "refused", str(wrong)
                )


def _skip_line(lines: BinaryIO) -> None:
    """Read the rest of a line, a part at a time."""
    while (part := lines.readline(LONGEST_LINE)) and not part.endswith(b"\n"):
        pass


def _read_line(file: Path, number: int, line: bytes) -> ItemSource:
    check_place(file)
    row = read_values(line)
    if not isinstance(row, dict) or not row.keys() <= FIELDS:
        raise ValueError(f"a line is a JSON object with some of {', '.join(sorted(FIELDS))}")
    image, sentences = row.get("image"), _read_texts(row, "sentences")
    if not isinstance(image, str | None):
        raise ValueError("image: the path of a photo, from this file's folder on")
    images = [*([] if image is None else [image]), *_read_texts(row, "images")]
    name = row.get("id", images[0] if images else f"{file.stem}-{number}")
    if not isinstance(name, str):
        raise ValueError("id: a text")
    check_new_id(name)
    photos = tuple(file.parent / path for path in images)
    stamp = "-".join((sha256(line).hexdigest()[:16], *map(make_stamp, photos)))
    metadata, place = row.get("metadata", {}), f"{file}#{name}"
    return ItemSource(name, place, stamp, photos, tuple(sentences), metadata, len(line))


def _read_texts(row: dict[str, Any], name: str) -> list[str]:
    texts = row.get(name, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{name}: a list of texts")
    return texts


def make_stamp(file: Path) -> str:
    """Return a regular file's size and time.

    ValueError for a pipe or a device.
    """
    status = file.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(NO_FILE)
    return f"{status.st_size}-{status.st_mtime_ns}"


def read(
    source: ItemSource, most_bytes: int, decode: Decode, fetch: Fetch
) -> Draft | ImportOutcome:
    """Decode a source's photos."""
    draft = Draft(
        source.id,
        source.metadata,
        sentences=source.sentences,
        source=source.place,
        stamp=source.stamp,
    )
    try:
        photos = (
            fetch(photo) if isinstance(photo, str) else _read_bytes(photo, most_bytes)
            for photo in source.photos
        )
        return draft.with_photos(photos, decode)
    except Exception as unreadable:  # noqa: BLE001 - one photo must not end the import of others
        return ImportOutcome(source.place, "refused", reason_of(unreadable))


def _read_bytes(photo: Path, most: int) -> bytes:
    """Read a regular file; ImageTooLarge, before it is read, over the limit."""
    with open(photo, "rb", opener=_open_at_once) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(NO_FILE)
        if status.st_size > most:
            raise too_many_bytes(status.st_size, most)
        return file.read(most + 1)


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting, even if it has become a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


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
) -> tuple[list[Draft], list[ImportOutcome]]:
    """Keep drafts with free ids or their own.

    It refuses the ids of other items.
    """
    drafts = [draft for draft in ready if isinstance(draft, Draft)]
    outcomes = [outcome for outcome in ready if isinstance(outcome, ImportOutcome)]
    if not drafts:
        return [], outcomes
    stored_items = engine.catalog.get_many(home, [draft.id for draft in drafts])
    owners: dict[str, str | None] = {
        item.id: item.source for item in stored_items.values() if not _is_gone(item.source)
    }
    claimed = []
    for draft in drafts:
        owner = owners.setdefault(draft.id, draft.source)
        if owner == draft.source:
            claimed.append(draft)
        else:
            outcomes.append(_refuse_taken(draft, owner or "an item that was put over the API"))
    return claimed, outcomes


def _is_gone(place: str | None) -> bool:
    """Return whether an item's source no longer exists, as after a move.

    A place is a photo's path, or `file#id` of a line or a row; paths and ids may hold # as well.
    """
    if place is None:
        return False
    files = (place[: mark.start()] for mark in re.finditer("#|$", place))
    return not any(os.path.isfile(file) for file in files)  # noqa: PTH113 - False for a long id


def _refuse_taken(draft: Draft, owner: str) -> ImportOutcome:
    reason = f"its id {draft.id!r} is taken by {owner}; rename one"
    return ImportOutcome(draft.source or draft.id, "refused", reason)
