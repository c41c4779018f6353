"""File of keys: one line of JSON for each key.

A damaged line admits no one and does not affect other keys.

Lines end in a line feed alone. Empty lines and those that begin with # are comments. Keys are
written in ASCII, so that no character of a name can be taken for the end of a line.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

from pydantic import ValidationError

from app.access.keys import ApiKey, describe_mistake, fold
from app.unprintable import escape_unprintable
from index.disk import is_full, sync

READABLE = 0o640  # a group that may read the file still may; no one else


@dataclass(frozen=True, slots=True)
class KeyLine:
    """A line of the file: a key, a comment, or damaged."""

    number: int
    text: bytes
    key: ApiKey | None = None
    problem: str = ""

    @property
    def opens(self) -> bool:
        """Return whether the line's key is admitted.

        It is not if an earlier line has the same name or hash.
        """
        return self.key is not None and not self.problem


def read_lines(file: Path | None) -> tuple[KeyLine, ...]:
    """Read the lines of a file, none if there is no file.

    Raises OSError for a file that cannot be read.
    """
    if file is None:
        return ()
    try:
        texts = file.read_bytes().split(b"\n")
    except FileNotFoundError:
        return ()
    if not texts[-1]:
        texts.pop()
    lines: list[KeyLine] = []
    taken: dict[str, int] = {}
    for number, text in enumerate(texts, start=1):
        line = _parse_line(number, text, taken)
        if line.key is not None and line.opens:
            taken |= {line.key.name: number, line.key.sha256: number}
        lines.append(line)
    return tuple(lines)


def _parse_line(number: int, text: bytes, taken: dict[str, int]) -> KeyLine:
    if not text.strip() or text.startswith(b"#"):
        return KeyLine(number, text)
    try:
        key = ApiKey.model_validate_json(text)
    except ValidationError as wrong:
        return KeyLine(number, text, problem=describe_mistake(wrong))
    # The first line holds: a line that is added later cannot change what a key may do.
    for value, what in ((key.name, "name"), (key.sha256, "hash")):
        if value in taken:
            return KeyLine(number, text, key, f"line {taken[value]} has its {what} already")
    return KeyLine(number, text, key)


def read_keys(file: Path | None) -> tuple[ApiKey, ...]:
    """Read the keys in a file, without those on damaged lines."""
    return tuple(line.key for line in read_lines(file) if line.key is not None and line.opens)


def describe_damage(lines: Sequence[KeyLine]) -> list[str]:
    """Describe each damaged line in a sentence."""
    return [
        f"line {line.number} is damaged and opens nothing: {line.problem}"
        for line in lines
        if line.problem
    ]


def add_key(file: Path, key: ApiKey) -> None:
    """Add a key to a file, made if it does not exist.

    Raises ValueError if a key has this name, or one that looks the same.
    """
    with _change(file) as (place, lines):
        for known in (line.key for line in lines if line.key is not None):
            if fold(known.name) == fold(key.name):
                raise ValueError(
                    f"there is a key {escape_unprintable(known.name)!r} already; remove it first, "
                    "or choose another name"
                )
        _write(place, [*map(_encode_line, lines), _encode_key(key)])


def remove_key(file: Path, name: str) -> None:
    """Remove a key by its name, as it is or as printed.

    Raises LookupError if there is none.

    Every line that has its name or its hash goes: what was removed opens nothing by another line.
    Other lines stay, damaged ones too.
    """
    if not file.exists():
        raise LookupError(f"there is no key {name!r}, as there is no file {file}")
    with _change(file) as (place, lines):
        named = {
            line.key.sha256
            for line in lines
            if line.key is not None and name in (line.key.name, escape_unprintable(line.key.name))
        }
        if not named:
            damage = "; ".join(describe_damage(lines))
            raise LookupError(f"there is no key {name!r} in {file}" + (damage and f"; {damage}"))
        left = [
            line for line in lines if line.key is None or not _is_removed(line.key, name, named)
        ]
        _write(place, list(map(_encode_line, left)))


def _is_removed(key: ApiKey, name: str, hashes: set[str]) -> bool:
    return key.sha256 in hashes or name in (key.name, escape_unprintable(key.name))


def _encode_line(line: KeyLine) -> bytes:
    """Encode a line for writing: keys in today's format, other lines unchanged."""
    return _encode_key(line.key) if line.key is not None else line.text


def _encode_key(key: ApiKey) -> bytes:
    value = key.model_dump(mode="json", exclude_none=True)
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii")


@contextmanager
def _change(file: Path) -> Iterator[tuple[Path, tuple[KeyLine, ...]]]:
    """Lock a file for a change; yield its path and lines."""
    place = file.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    missing = not place.exists()
    with _lock(place):
        try:
            yield place, read_lines(place)
        except BaseException:
            if missing and not place.stat().st_size:
                place.unlink()  # an empty file would let no one in
            raise


@contextmanager
def _lock(file: Path) -> Iterator[None]:
    """Lock the newest version of a file."""
    while True:
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if file.exists() and os.path.samestat(os.fstat(handle), file.stat()):
                yield
                return
        finally:
            os.close(handle)


def _write(file: Path, lines: Sequence[bytes]) -> None:
    """Replace the file in one step: a crash leaves either version."""
    with NamedTemporaryFile(dir=file.parent, prefix=f"{file.name}.", delete=False) as written:
        place = Path(written.name)
        try:
            written.write(b"".join(line + b"\n" for line in lines))
            written.flush()
            _adopt_owner(written.fileno(), file)
            os.fsync(written.fileno())
            place.replace(file)
        except BaseException as failed:
            place.unlink(missing_ok=True)
            if isinstance(failed, OSError) and is_full(failed):
                failed.filename = str(file)
            raise
    sync(file.parent)


def _adopt_owner(handle: int, file: Path) -> None:
    """Give a new file the owner and group of its predecessor.

    No one else may read it.
    """
    status = file.stat()
    with suppress(PermissionError):  # only root may give files away
        os.fchown(handle, status.st_uid, status.st_gid)
        os.fchmod(handle, 0o600 | (status.st_mode & READABLE))
