"""Folders in object stores, such as S3."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, TypedDict

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore, from_url
from pathspec import GitIgnoreSpec

from app.imports.folders.ignoring import IGNORE_FILE, LONGEST_FILE, Patterns, read_patterns
from index.catalog.object_store import OPTIONS
from models.vision.photo_decoding import too_many_bytes

if TYPE_CHECKING:
    from obstore import ObjectMeta

HEAD = 16  # bytes that say what a file is


class ObjectState(TypedDict):
    """The size of an object, and a tag of its content."""

    size: int
    tag: str


@dataclass(frozen=True, slots=True)
class StoredObject:
    """A photo in an object store."""

    url: str  # of the folder
    path: str  # from there on

    def read(self, most: int) -> bytes:
        """Read its bytes; OSError if unreadable, ImageTooLarge over the limit."""
        with translate_errors(self.url):
            answer = obstore.get(open_store(self.url), self.path)
            if (size := answer.meta["size"]) > most:
                raise too_many_bytes(size, most)
            return bytes(answer.bytes())

    def read_head(self) -> bytes:
        """Read its first bytes."""
        with translate_errors(self.url):
            answer = obstore.get(open_store(self.url), self.path)
            return bytes(next(iter(answer.stream(min_chunk_size=HEAD)), b""))[:HEAD]


@dataclass(slots=True)
class ObjectFolder:
    """A folder of an object store: s3://BUCKET/PATH, gs://, az:// or file://.

    The environment has the credentials. It is listed once.
    """

    url: str
    _listed: dict[str, ObjectState] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.url = self.url.rstrip("/")
        open_store(self.url)

    def __fspath__(self) -> str:
        """Return the address, as messages name it."""
        return self.url

    def is_dir(self) -> bool:
        """Return True, as for a folder on disk."""
        return True

    def resolve(self) -> ObjectFolder:
        """Return the folder: its address has no links."""
        return self

    @property
    def name(self) -> str:
        """The folder's name: ids begin with it."""
        return PurePosixPath(self.url.partition("://")[2]).name

    def list_objects(self) -> Mapping[str, ObjectState]:
        """Return the states of all objects by path; OSError if it fails."""
        if self._listed is None:
            with translate_errors(self.url):
                listed = [
                    (entry["path"], ObjectState(size=entry["size"], tag=_tag_of(entry)))
                    for part in obstore.list(open_store(self.url))
                    for entry in part
                ]
            self._listed = dict(sorted(listed, key=lambda pair: pair[0].split("/")))
        return self._listed

    def stamp_at(self, place: str) -> str | None:
        """Return the stamp of a place now; empty if it is gone.

        None outside of this folder.
        """
        if not place.startswith(f"{self.url}/"):
            return None
        state = self.list_objects().get(place[len(self.url) + 1 :])
        return "" if state is None else make_stamp(state)

    def read_patterns(self) -> dict[str, Patterns]:
        """Read files of patterns by folder; ValueError for a wrong one."""
        found = dict[str, Patterns]()
        for path in sorted(self.list_objects(), key=lambda path: path.count("/")):
            folder, _, name = path.rpartition("/")
            if name == IGNORE_FILE:
                content = StoredObject(self.url, path).read(LONGEST_FILE)
                try:
                    lines = read_patterns(content)
                    upper = find_patterns(found, path)
                    found[folder] = upper.add(f"{folder}/" if folder else "", lines)
                except ValueError as wrong:
                    raise ValueError(f"{path} is not understood: {wrong}") from wrong
        return found


def find_patterns(patterns: Mapping[str, Patterns], path: str) -> Patterns:
    """Return the patterns for a path: those of its nearest folder."""
    for folder in _list_above(path):
        if folder in patterns:
            return patterns[folder]
    return Patterns()


def is_excluded(path: str, exclude: GitIgnoreSpec, patterns: Mapping[str, Patterns]) -> bool:
    """Return whether a path, or a folder above it, is left out."""
    folders = [f"{folder}/" for folder in _list_above(path) if folder]
    return any(
        exclude.match_file(each) or find_patterns(patterns, each.rstrip("/")).exclude(each)
        for each in (*reversed(folders), path)
    )


def _list_above(path: str) -> Iterator[str]:
    """Yield the folders of a path from the nearest to the root."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def make_stamp(state: ObjectState) -> str:
    """Return an object's size and tag."""
    return f"{state['size']}-{state['tag']}"


def _tag_of(entry: ObjectMeta) -> str:
    """Return a text of an object's content."""
    tag = re.sub(r"\W+", "_", entry["e_tag"] or "").strip("_")
    return tag or f"{entry['last_modified'].timestamp()}"


@lru_cache(maxsize=8)
def open_store(url: str) -> ObjectStore:
    """Open a store, without a request; ValueError for another kind of URL."""
    try:
        return from_url(url, **OPTIONS)
    except (BaseError, ValueError) as unknown:
        raise ValueError(f"no folder of photos is at {url}: {unknown}") from unknown


@contextmanager
def translate_errors(url: str) -> Iterator[None]:
    """Raise OSError for a store's failures."""
    try:
        yield
    except (BaseError, FileNotFoundError) as failed:
        reason = str(failed).partition("\n")[0]
        raise OSError(0, f"{reason:.300}", url) from failed
