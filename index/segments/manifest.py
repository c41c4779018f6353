"""Manifests: which segments a collection has, in one file that is replaced as a whole."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import xxhash

from index.disk import sync
from index.segments.segment import RevisionSpan, Sums

NAME = "manifest.json"
FORM = 2  # of the files; another one is built anew


@dataclass(frozen=True, slots=True)
class Listed:
    """A segment of a manifest: its folder's name, what it covers, and its files."""

    folder: str
    span: RevisionSpan
    sums: Sums


@dataclass(frozen=True, slots=True)
class Manifest:
    """The segments of a collection, one after another from its first revision on."""

    token: str
    segments: tuple[Listed, ...]

    @property
    def until(self) -> int:
        """The newest revision that they cover."""
        return self.segments[-1].span.until if self.segments else 0


def read(directory: Path, token: str) -> Manifest | None:
    """The manifest of a directory; None if there is none yet. ValueError if it is broken."""
    try:
        text = (directory / NAME).read_text()
    except FileNotFoundError:
        return None
    except OSError as broken:
        raise ValueError(f"{directory / NAME} cannot be read: {broken}") from broken
    try:
        envelope = json.loads(text)
        content = envelope["manifest"]
        if (
            envelope["form"] != FORM
            or envelope["checksum"] != _checksum(content)
            or content["token"] != token
        ):
            raise ValueError("it was not written for this collection by this version")
        return Manifest(token, tuple(_parse_listed(segment) for segment in content["segments"]))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as broken:
        raise ValueError(f"{directory / NAME} is broken: {broken}") from broken


def publish(directory: Path, manifest: Manifest) -> None:
    """Put a manifest in place of the one before: readers see the one or the other, whole."""
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
    """Something that changes with every manifest that is published."""
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
