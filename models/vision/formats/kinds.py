"""Kinds of camera files: by their first bytes, and by their endings."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

from PIL import Image

from models.vision.photo_decoding import ignore_warnings
from models.vision.upright import BROKEN

Kind = Literal["picture", "raw", "video", "pdf"]
RAW_ENDINGS = frozenset(
    (
        *(".3fr", ".arw", ".cr2", ".cr3", ".crw", ".dcr", ".dng", ".erf", ".fff", ".gpr", ".iiq"),
        *(".kdc", ".mef", ".mos", ".mrw", ".nef", ".nrw", ".orf", ".pef", ".raf", ".rw2", ".rwl"),
        *(".sr2", ".srf", ".srw", ".x3f"),
    )
)
VIDEO_ENDINGS = frozenset(
    (
        *(".mov", ".mp4", ".m4v", ".qt", ".3gp", ".3g2", ".avi", ".mkv", ".webm", ".mpg", ".mpeg"),
        *(".mts", ".m2ts"),
    )
)
PDF_START = b"%PDF-"
HEAD = 2**16  # bytes by which a file's kind is known
RAW_STARTS = (b"FUJIFILMCCD-RAW", b"IIU\0", b"IIRO", b"IIRS", b"MMOR", b"FOVb", b"\0MRM")
CANON = (b"II*\0\x10\0\0\0CR", b"HEAPCCDR")  # at 0 and at 6
TIFF_STARTS = (b"II*\0", b"MM\0*")
SUBFILE, COMPRESSION, MAKE, SUBFILES, DNG = 254, 259, 271, 330, 50706
PACKED = (34713, 32767, 65535, 262, 32770)  # compressions of Nikon, Sony, Pentax, Kodak, Samsung
PICTURE_BRANDS = (
    *(b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1", b"msf1"),
    *(b"avif", b"avis"),
)


def kind_of(head: bytes, ending: str = "") -> Kind:
    """Return the kind of a file by its first bytes; else picture.

    Raw files that begin as any TIFF are known by their ending.
    """
    if head.startswith(PDF_START):
        return "pdf"
    if head[4:12] == b"ftypcrx " or head.startswith(RAW_STARTS) or _is_canon(head):
        return "raw"
    if head.startswith(TIFF_STARTS):
        return "raw" if ending in RAW_ENDINGS or _is_raw_tiff(head) else "picture"
    return "video" if demuxer_of(head) else "picture"


def demuxer_of(head: bytes) -> str | None:
    """Return the name of FFmpeg's reader for a video; None for others.

    Readers of play lists, which name other files and addresses, are not among them.
    """
    if head[4:8] == b"ftyp":
        return None if head[8:12] in (*PICTURE_BRANDS, b"crx ") else "mov"
    if head[4:8] in (b"moov", b"mdat", b"wide", b"skip", b"free"):
        return "mov"
    if head.startswith(b"\x1a\x45\xdf\xa3"):
        return "matroska"
    if head.startswith(b"RIFF") and head[8:12] == b"AVI ":
        return "avi"
    if head.startswith((b"\0\0\1\xba", b"\0\0\1\xb3")):
        return "mpeg"
    return "mpegts" if _is_transport_stream(head) else None


def _is_transport_stream(head: bytes) -> bool:
    """Return whether packets of 188 bytes, or 192 with a time, begin."""
    return any(
        len(head) > start + 3 * size
        and all(head[start + number * size] == 0x47 for number in range(4))
        for start, size in ((0, 188), (4, 192))
    )


def _is_canon(head: bytes) -> bool:
    return head.startswith(CANON[0]) or head[6:14] == CANON[1]


def _is_raw_tiff(head: bytes) -> bool:
    """Return whether a TIFF's first directory is of a raw file."""
    exif = Image.Exif()
    tags: dict[int, Any] = {}
    with ignore_warnings(), suppress(*BROKEN):
        exif.load(b"Exif\0\0" + head)
        tags = {tag: exif.get(tag) for tag in (SUBFILE, COMPRESSION, MAKE, SUBFILES, DNG)}
    if not tags:
        return False
    reduced = tags[SUBFILE] == 1 and tags[SUBFILES] is not None
    of_camera = tags[MAKE] is not None
    return tags[DNG] is not None or (of_camera and (reduced or tags[COMPRESSION] in PACKED))
