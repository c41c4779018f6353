"""PNG files as chunks, without texts and broken metadata."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

START = b"\x89PNG\r\n\x1a\n"
PICTURE = {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND", b"acTL", b"fcTL", b"fdAT"}
ABOUT = {b"iCCP", b"eXIf", b"iTXt"}  # of use if they are sound; others are not read
XMP = b"XML:com.adobe.xmp\0\0"  # the only text of use, if it is not compressed
LONGEST = 2**20  # bytes of it
LARGEST = 2**24  # bytes of a colour profile, once it is decompressed
NO_PROFILE = "its colour profile is broken or too large, and was ignored"


def strip(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Leave out chunks without use for the picture; also notes.

    One of these may be larger than a reader takes, or broken, while the picture is whole.
    """
    kept, notes, end = [START], tuple[str, ...](), len(START)
    for kind, start, end in _chunks(data):
        chunk = data[start:end]
        if kind in PICTURE or (kind in ABOUT and _is_sound(kind, chunk)):
            kept.append(chunk)
        elif kind == b"iCCP":
            notes = (NO_PROFILE,)
    return b"".join((*kept, data[end:])), notes


def _chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield the kind, the start and the end of each whole chunk (PNG, section 5.3)."""
    start = len(START)
    while start + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, start)
        end = start + 12 + length
        if end > len(data):
            return
        yield kind, start, end
        start = end


def _is_sound(kind: bytes, chunk: bytes) -> bool:
    """Return whether a chunk is unchanged and not too large."""
    if zlib.crc32(chunk[4:-4]) != int.from_bytes(chunk[-4:], "big"):
        return False
    if kind == b"iTXt":
        return chunk[8:].startswith(XMP) and len(chunk) <= LONGEST
    if kind != b"iCCP":
        return True
    _, _, packed = chunk[8:-4].partition(b"\0")
    reader = zlib.decompressobj()
    try:
        reader.decompress(packed[1:], LARGEST)
    except zlib.error:
        return False
    return reader.eof
