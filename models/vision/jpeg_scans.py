"""JPEG files as rows of segments: their scans and end."""

from __future__ import annotations

import re

START, END = b"\xff\xd8", b"\xff\xd9"
SCAN = b"\xda"
# A byte of data that looks like a marker is followed by 0; restarts (D0 to D7) are part of data.
_MARKER = re.compile(rb"\xff+([^\x00\x01\xd0-\xd8\xff])", re.DOTALL)


def scans(data: bytes) -> tuple[int, bool]:
    """The number of a JPEG's scans, and whether it has an end.

    Decodes nothing.

    A progressive file sends a photo in several scans, and each goes over every pixel.
    """
    count, at = 0, len(START)
    while marker := _MARKER.search(data, at):
        kind, at = marker[1], marker.end()
        if kind == END[1:]:
            return count, True
        count += kind == SCAN
        at += int.from_bytes(data[at : at + 2], "big")  # the length of the segment's header
    return count, False
