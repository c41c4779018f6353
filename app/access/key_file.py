"""File of keys: a line of JSON for each; a damaged line opens nothing and costs no other key.

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
from index.disk import sync

READABLE = 0o640  # a group that may read the file still may; no one else


@dataclass(frozen=True, slots=True)
class KeyLine:
    """A line of the file: a key, a comment, or a damaged line with its problem."""

    number: int
    text: bytes
    key: ApiKey | None = None
    problem: str = ""

    @property
    def opens(self) -> bool:
        """Whether the line's key is let in: not where an earlier line has its name or hash."""
        return self.key is not None and not self.problem


def read_lines(file: Path | None) -> tuple[KeyLine, ...]:
    """The lines of a file, none if there is no file; OSError where it cannot be read."""
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
    """The keys in a file that let someone in."""
    return tuple(line.key for line in read_lines(file) if line.key is not None and line.opens)


def describe_damage(lines: Sequence[KeyLine]) -> list[str]:
    """A sentence for each line that opens nothing though it should."""
    return [
        f"line {line.number} is damaged and opens nothing: {line.problem}"
        for line in lines
        if line.problem
    ]


def add_key(file: Path, key: ApiKey) -> None:
    """Add a key to a file, made if need be; ValueError if its name is taken, or looks so."""
    with _change(file) as (place, lines):
        for known in (line.key for line in lines if line.key is not None):
            if fold(known.name) == fold(key.name):
                raise ValueError(
                    f"there is a key {show_name(known.name)!r} already; remove it first, or choose "
                    "another name"
                )
        _write(place, [*map(_encode_line, lines), _encode_key(key)])


def remove_key(file: Path, name: str) -> None:
    """Take a key out of a file by its name, or as `show_name` gives that; LookupError if none.

    Every line that has its name or its hash goes: what was removed opens nothing by another line.
    Other lines stay, damaged ones too.
    """
    if not file.exists():
        raise LookupError(f"there is no key {name!r}, as there is no file {file}")
    with _change(file) as (place, lines):
        named = {
            line.key.sha256
            for line in lines
            if line.key is not None and name in (line.key.name, show_name(line.key.name))
        }
        if not named:
            damage = "; ".join(describe_damage(lines))
            raise LookupError(f"there is no key {name!r} in {file}" + (damage and f"; {damage}"))
        left = [
            line for line in lines if line.key is None or not _is_removed(line.key, name, named)
        ]
        _write(place, list(map(_encode_line, left)))


def _is_removed(key: ApiKey, name: str, hashes: set[str]) -> bool:
    return key.sha256 in hashes or name in (key.name, show_name(key.name))


def show_name(name: str) -> str:
    """A name as it is printed: what no one can see is written as \\u2028, say."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in name
    )


def _encode_line(line: KeyLine) -> bytes:
    """A line as it is written again: keys in today's form, all else untouched."""
    return _encode_key(line.key) if line.key is not None else line.text


def _encode_key(key: ApiKey) -> bytes:
    value = key.model_dump(mode="json", exclude_none=True)
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii")


@contextmanager
def _change(file: Path) -> Iterator[tuple[Path, tuple[KeyLine, ...]]]:
    """The file itself, which a link may name, and its lines, while no one else changes them."""
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
    """The lock of a file that changes replace: of the one that is there once it is ours."""
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
    """Write all lines in one step: after a crash the file is the former one, or this one."""
    with NamedTemporaryFile(dir=file.parent, prefix=f"{file.name}.", delete=False) as written:
        place = Path(written.name)
        try:
            written.write(b"".join(line + b"\n" for line in lines))
            written.flush()
            _adopt_owner(written.fileno(), file)
            os.fsync(written.fileno())
            place.replace(file)
        except BaseException:
            place.unlink(missing_ok=True)
            raise
    sync(file.parent)


def _adopt_owner(handle: int, file: Path) -> None:
    """Leave a file that is replaced to its owner and group; no one else may read it."""
    status = file.stat()
    with suppress(PermissionError):  # only root may give files away
        os.fchown(handle, status.st_uid, status.st_gid)
        os.fchmod(handle, 0o600 | (status.st_mode & READABLE))
