"""The process of photo decoding, within limits of the kernel."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from app.imports.file_metadata.reading import (
    FileContent,
    FileLimits,
    Sidecar,
    enlarge,
    read_file,
)
from models.vision import photo_decoding, visible_words
from models.vision.photo_decoding import ImageError, ImageTooLarge, NotAnImage

REFUSALS = {refusal.__name__: refusal for refusal in (ImageError, ImageTooLarge, NotAnImage)}

NICE = 5  # searches come first


def answer(connection: Connection) -> None:
    """Read a file's photos within limits; answer with copies or a refusal.

    Messages are JSON and plain bytes: what a broken decoder says is never unpickled.
    """
    request = json.loads(connection.recv_bytes())
    data = connection.recv_bytes()
    endings = request["sidecars"]
    beside = endings and [Sidecar(ending, connection.recv_bytes()) for ending in endings]
    file = Path(os.fsdecode(data)) if request["path"] else data
    limits = FileLimits(**request["limits"])
    try:
        content = read_file(file, limits, beside)
        copies = [photo_decoding.display_jpeg(photo.pixels) for photo in content.photos]
        shown = [photo_decoding.decode(jpeg).pixels for jpeg in copies]
    except ImageError as refused:
        _refuse(connection, type(refused), str(refused))
        return
    except (OSError, ValueError) as unreadable:
        _refuse(connection, ImageError, str(unreadable))
        return
    connection.send_bytes(_describe(content, [pixels.shape for pixels in shown]))
    for jpeg, pixels in zip(copies, shown, strict=True):
        connection.send_bytes(jpeg)
        connection.send_bytes(pixels.tobytes())
    if request["text_seconds"]:
        for words in _read_words(file, limits, content, request["text_seconds"]):
            connection.send_bytes(json.dumps(words).encode())


def _read_words(
    file: bytes | Path, limits: FileLimits, content: FileContent, seconds: int
) -> Iterator[dict[str, Any]]:
    """Yield each photo's words in its own time, or a fault."""
    try:
        for pixels in enlarge(file, limits, content):
            signal.setitimer(signal.ITIMER_PROF, seconds)
            words = visible_words.read_words(pixels)
            yield {"words": [(word.text, word.box, word.line) for word in words]}
    except Exception as wrong:  # noqa: BLE001 - a library's fault is no reason to lose the photo
        yield {"fault": f"{type(wrong).__name__}: {wrong}"}


def _refuse(connection: Connection, kind: type[ImageError], reason: str) -> None:
    refusal = {"refusal": kind.__name__, "reason": reason}
    connection.send_bytes(json.dumps(refusal).encode())


def _describe(content: FileContent, shapes: Sequence[tuple[int, ...]]) -> bytes:
    """Write the header of an answer: sizes, notes and metadata."""
    photos = [
        {"height": shape[0], "width": shape[1], "notes": photo.notes}
        for photo, shape in zip(content.photos, shapes, strict=True)
    ]
    return json.dumps({"photos": photos, "metadata": content.metadata}).encode()


def main(handle: int, seconds: int, memory: int) -> None:
    """Answer until the connection closes, or a photo takes too long."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(NICE)
    connection = Connection(handle)
    while connection.poll(None):
        signal.setitimer(signal.ITIMER_PROF, seconds)  # of processor time; then it is ended
        try:
            answer(connection)
        except (EOFError, OSError):
            return
        signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
