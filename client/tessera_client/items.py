"""Items to upload, as lines of JSON, and batches of lines."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tessera_client.json_values import convert_metadata, to_list, write_json
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
        """All photos, in order; TypeError if `images` is no list."""
        return list_photos(self.image, self.images)

    def line(self) -> bytes:
        """Return a line of a bulk import.

        OSError for unreadable photos, TypeError or ValueError for what is no JSON.
        """
        row: dict[str, Any] = {"id": self.id}
        if photos := self.photos:
            row["images"] = [image_text(photo) for photo in photos]
        if sentences := to_list(self.sentences, "sentences"):
            row["sentences"] = sentences
        if self.metadata:
            row["metadata"] = convert_metadata(self.metadata)
        if self.stamp is not None:
            row["stamp"] = self.stamp
        return write_json(row).encode() + b"\n"


def check_item(item: Any) -> NewItem:
    """Return an item to store; TypeError for another type."""
    if isinstance(item, NewItem):
        return item
    advice = "NewItem(**row)" if isinstance(item, dict) else "NewItem(id, …)"
    raise TypeError(f"an item to store is {advice}, not a {type(item).__name__}")


def list_photos(image: Image | None, images: Iterable[Image]) -> list[Image]:
    """Return all photos, in order; TypeError if `images` is no list."""
    return [*([] if image is None else [image]), *(to_list(images, "images") or [])]


def is_address(image: Image) -> bool:
    """Return whether an image is an address for the service to fetch."""
    return isinstance(image, str) and image.lower().startswith(("http://", "https://"))


def image_text(image: Image) -> str:
    """Return an image for JSON: its address, or base64."""
    return str(image) if is_address(image) else b64encode(read_image(image)).decode("ascii")


def read_image(image: Image) -> bytes:
    """Return an image file's bytes; ValueError for an address."""
    if is_address(image):
        raise ValueError(f"give a file here, not the address {image!r:.200}")
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

    def is_full(self, line: bytes | ImportStatus) -> bool:
        """True for a line of the next batch."""
        if isinstance(line, ImportStatus) or not self.places:
            return False
        return len(self.places) == BATCH_LINES or len(self.lines) + len(line) > BATCH_BYTES

    def add(self, place: int, line: bytes | ImportStatus) -> None:
        """Add an item's line, or its refusal."""
        if isinstance(line, ImportStatus):
            self.refused.append(line)
            return
        self.lines += line
        self.places.append(place)

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
        line = write_line(place, item)
        if batch.is_full(line):
            yield batch
            batch = Batch()
        batch.add(place, line)
    if batch:
        yield batch


def write_line(place: int, item: Any) -> bytes | ImportStatus:
    """Return the line of an item, or its refusal."""
    try:
        return check_item(item).line()
    except (OSError, TypeError, ValueError) as wrong:  # a lost photo, or what is no JSON
        name = getattr(item, "id", None)
        name = name if isinstance(name, str) else None
        return ImportStatus(line=place, id=name, status="refused", reason=str(wrong))
