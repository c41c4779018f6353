"""Items to upload, as lines of JSON, and batches of lines."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tessera_client.models import ImportStatus

Image = bytes | str | Path  # an image file's bytes, its path, or its address

BATCH_LINES, BATCH_BYTES = 256, 32 * 2**20


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item to store: photos, sentences, or both, and metadata.

    `images` are photos behind the first one. `stamp` is a digest or time of the caller's own.
    """

    id: str
    image: Image | None = None
    sentences: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    images: Sequence[Image] = ()
    stamp: str | None = None

    @property
    def photos(self) -> list[Image]:
        """All photos, in order."""
        return [*([] if self.image is None else [self.image]), *self.images]

    def line(self) -> bytes:
        """Return a line of a bulk import; OSError for unreadable photos."""
        row: dict[str, Any] = {"id": self.id}
        if photos := self.photos:
            row["images"] = [image_text(photo) for photo in photos]
        if self.sentences:
            row["sentences"] = list(self.sentences)
        if self.metadata:
            row["metadata"] = dict(self.metadata)
        if self.stamp is not None:
            row["stamp"] = self.stamp
        return json.dumps(row).encode() + b"\n"


def is_address(image: Image) -> bool:
    """Return whether an image is an address for the service to fetch."""
    return isinstance(image, str) and image.startswith(("http://", "https://"))


def image_text(image: Image) -> str:
    """Return an image for JSON: its address, or base64."""
    return str(image) if is_address(image) else b64encode(read_image(image)).decode("ascii")


def read_image(image: Image) -> bytes:
    """An image file's bytes."""
    return image if isinstance(image, bytes) else Path(image).read_bytes()


@dataclass(slots=True)
class Batch:
    """Items to send together.

    `places` count the items of its lines among all, from 1; `refused` are those between them that
    cannot be sent, such as items with a missing photo.
    """

    lines: bytearray = field(default_factory=bytearray)
    places: list[int] = field(default_factory=list)
    refused: list[ImportStatus] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.places) + len(self.refused)

    def place(self, statuses: list[ImportStatus]) -> list[ImportStatus]:
        """Count the service's statuses as all items; adds the refused ones."""
        placed = [
            status.model_copy(update={"line": place})
            for place, status in zip(self.places, statuses, strict=True)
        ]
        return sorted([*placed, *self.refused], key=lambda status: status.line)


def batches(items: Iterable[NewItem]) -> Iterator[Batch]:
    """Join items into batches of up to 256 and about 32 MiB."""
    batch = Batch()
    for place, item in enumerate(items, 1):
        try:
            line = item.line()
        except (OSError, TypeError, ValueError) as wrong:  # a lost photo, or what is no JSON
            batch.refused.append(_refuse(place, item, wrong))
            continue
        size = len(batch.lines) + len(line)
        if batch.places and (len(batch.places) == BATCH_LINES or size > BATCH_BYTES):
            yield batch
            batch = Batch()
        batch.lines += line
        batch.places.append(place)
    if batch:
        yield batch


def _refuse(place: int, item: NewItem, wrong: Exception) -> ImportStatus:
    return ImportStatus(line=place, id=item.id, status="refused", reason=str(wrong))
