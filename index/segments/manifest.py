"""Manifests: lists of a collection's segments, replaced atomically."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import xxhash

from index.catalog.views import CatalogView
from index.disk import sync
from index.segments.segment import (
    BROKEN,
    RevisionSpan,
    Segment,
    Sums,
    map_folder,
    mark_broken,
)

NAME = "manifest.json"
# Of the files; segments of another form are built again. Every form has the same envelope.
FORM = 4

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Listed:
    """A segment of a manifest: its folder's name, span, and files."""

    folder: str
    span: RevisionSpan
    sums: Sums


@dataclass(frozen=True, slots=True)
class Manifest:
    """The neighbouring segments of a collection, from its first revision on."""

    token: str
    segments: tuple[Listed, ...]

    @property
    def until(self) -> int:
        """The newest revision that the segments cover."""
        return self.segments[-1].span.until if self.segments else 0


class AnotherVersion(ValueError):
    """A manifest that another version of Tessera wrote: its segments are built again."""


def read(directory: Path, token: str) -> Manifest | None:
    """Read a directory's manifest.

    None without one, ValueError if broken; AnotherVersion if another version wrote it.
    """
    try:
        text = (directory / NAME).read_text()
    except FileNotFoundError:
        return None
    except OSError as broken:
        raise ValueError(f"{directory / NAME} cannot be read: {broken}") from broken
    try:
        envelope = json.loads(text)
        content = envelope["manifest"]
        if envelope["checksum"] != _checksum(content) or content["token"] != token:
            raise ValueError("it was not written for this collection")
        if envelope["form"] == FORM:
            return Manifest(token, tuple(_parse_listed(segment) for segment in content["segments"]))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as broken:
        raise ValueError(f"{directory / NAME} is broken: {broken}") from broken
    raise AnotherVersion(f"{directory / NAME} is of another version of Tessera")


def publish(directory: Path, manifest: Manifest) -> None:
    """Replace the manifest atomically and durably."""
    content = {
        "token": manifest.token,
        "segments": [
            {"folder": segment.folder, "span": asdict(segment.span), "files": segment.sums}
            for segment in manifest.segments
        ],
    }
    envelope = {"form": FORM, "checksum": _checksum(content), "manifest": content}
    partial = directory / f"{NAME}.partial"
    partial.write_text(json.dumps(envelope))
    sync(partial)
    partial.replace(directory / NAME)
    sync(directory)


def version(directory: Path) -> tuple[int, int]:
    """Return a value that changes with every published manifest."""
    try:
        status = (directory / NAME).stat()
    except FileNotFoundError:
        return 0, 0
    return status.st_ino, status.st_mtime_ns


def _parse_listed(row: dict[str, Any]) -> Listed:
    files = {str(name): (int(size), str(digest)) for name, (size, digest) in row["files"].items()}
    return Listed(str(row["folder"]), RevisionSpan(**row["span"]), files)


def _checksum(content: object) -> str:
    return xxhash.xxh3_64_hexdigest(json.dumps(content, sort_keys=True).encode())


def open_chain(
    listed: Sequence[Listed], directory: Path, mapped: dict[Path | None, Segment]
) -> list[Segment]:
    """Open the listed segments before the first broken one.

    Those in `mapped` stay.
    A damaged one is marked, so that the follower builds it again.
    """
    chain: list[Segment] = []
    for entry in listed:
        folder = directory / entry.folder
        try:
            if (folder / BROKEN).exists():
                raise ValueError("it does not agree with the catalog, or is damaged")
            if folder in mapped and folder.exists():
                chain.append(mapped[folder])
            else:
                chain.append(map_folder(folder, entry.span, entry.sums))
        except (OSError, ValueError) as broken:
            # Only its text: handlers keep records, and an exception would keep the segments.
            log.warning("segment %s is built again: %s", entry.folder, str(broken))
            if isinstance(broken, ValueError | FileNotFoundError):
                mark_broken(folder)
            break
    return chain


def choose_valid(chain: Sequence[Segment], view: CatalogView) -> tuple[Segment, ...]:
    """Choose the leading segments without a gap and of this history.

    Rows that were retired since then are no longer live.
    """
    mark, retired = cache(view.mark), cache(view.list_retired)
    valid: list[Segment] = []
    for segment in chain:
        if segment.span.after != (valid[-1].span.until if valid else 0):
            break
        # A catalog with the same change has the segment's mark.
        revision = segment.span.seen
        if revision > view.revision or mark(revision) != segment.span.mark:
            log.warning("segment %s is of another history; it is built again", segment.folder)
            break
        if revision < view.floor:
            valid.append(segment.only(view.revisions()))
        else:
            valid.append(segment.without(retired(revision)))
    return tuple(valid)
