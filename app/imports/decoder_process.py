"""The process of photo decoding, within limits of the kernel."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from multiprocessing.connection import Connection

from models.vision import photo_decoding
from models.vision.photo_decoding import ImageError, ImageTooLarge, NotAnImage

REFUSALS = {refusal.__name__: refusal for refusal in (ImageError, ImageTooLarge, NotAnImage)}

NICE = 5  # searches come first


def answer(connection: Connection) -> None:
    """Read a photo and its limits; answer with a copy or refusal.

    Messages are JSON and plain bytes: what a broken decoder says is never unpickled.
    """
    limits = json.loads(connection.recv_bytes())
    data = connection.recv_bytes()
    try:
        photo = photo_decoding.decode(data, longest=photo_decoding.DISPLAY_SIDE, **limits)
        jpeg = photo_decoding.display_jpeg(photo.pixels)
        pixels = photo_decoding.decode(jpeg).pixels
    except ImageError as refused:
        refusal = {"refusal": type(refused).__name__, "reason": str(refused)}
        connection.send_bytes(json.dumps(refusal).encode())
        return
    height, width, _ = pixels.shape
    shape = {"width": width, "height": height, "notes": photo.notes}
    connection.send_bytes(json.dumps(shape).encode())
    connection.send_bytes(jpeg)
    connection.send_bytes(pixels.tobytes())


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
