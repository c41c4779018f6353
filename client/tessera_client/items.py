"""Items to upload: lines of JSON, and batches of lines that the service takes at a time."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Image = bytes | str | Path  # an image file's bytes, or its path

BATCH_LINES, BATCH_BYTES = 256, 32 * 2**20


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item to store: a photo, sentences, or both, and metadata."""

    id: str
    image: Image | None = None
    sentences: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def line(self) -> bytes:
        """The item as a line of a bulk import; OSError for a photo that cannot be read."""
        row: dict[str, Any] = {"id": self.id}
        if self.image is not None:
            row["image"] = b64encode(read_image(self.image)).decode("ascii")
        if self.sentences:
            row["sentences"] = list(self.sentences)
        if self.metadata:
            row["metadata"] = dict(self.metadata)
        return json.dumps(row).encode() + b"\n"


def read_image(image: Image) -> bytes:
    """An image file's bytes."""
    return image if isinstance(image, bytes) else Path(image).read_bytes()


def batches(items: Iterable[NewItem]) -> Iterator[bytes]:
    """Lines of items, some at a time: at most 256, and about 32 MiB."""
    lines: list[bytes] = []
    size = 0
    for item in items:
        line = item.line()
        if lines and (len(lines) == BATCH_LINES or size + len(line) > BATCH_BYTES):
            yield b"".join(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield b"".join(lines)
