"""Members of a tar: regular files with all of their bytes.

Python's tarfile trusts headers before they can be checked: names of any length,
nested extensions, and holes without bytes. Here a header is one block, and perhaps
another one with a size of 8 GiB or more, as tarfile writes it.
"""

from __future__ import annotations

import os
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

BLOCK = tarfile.BLOCKSIZE
PIECE = 2**20  # bytes that are read at a time
SIZE = re.compile(rb"\d{1,2} size=(\d{1,18})\n\0*")


@dataclass(frozen=True, slots=True)
class Member:
    """A regular file in a tar: its name and its bytes' place."""

    name: str
    start: int
    size: int

    @property
    def end(self) -> int:
        """The start of the next header."""
        return self.start + -(-self.size // BLOCK) * BLOCK


class Members:
    """The members of a tar in order.

    ValueError or TarError for members unlike ours.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._bytes = os.fstat(file.fileno()).st_size
        self.place = 0  # of the next header

    def take(self) -> Member | None:
        """Read the next member, None at the end."""
        header = self._read_header(self.place)
        if header is None:
            return None
        size = None
        if header.type == tarfile.XHDTYPE:
            size = self._read_stated_size(header)
            header = self._read_header(self.place + 2 * BLOCK)
        if header is None or header.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise ValueError("it holds what is no regular file")
        start = header.offset + BLOCK
        member = Member(header.name, start, header.size if size is None else size)
        if not 0 <= member.size <= self._bytes - start:
            raise ValueError(
                f"{member.name[:100]!r} claims {member.size:,} bytes, and the file has "
                f"{max(0, self._bytes - start):,} more"
            )
        self.place = member.end
        return member

    def pieces(self, member: Member) -> Iterator[bytes]:
        """Read a member's bytes in pieces; ValueError for a short file."""
        self._file.seek(member.start)
        left = member.size
        while left:
            piece = self._file.read(min(left, PIECE))
            if not piece:
                raise ValueError(f"it ends within {member.name[:100]!r}")
            left -= len(piece)
            yield piece

    def read(self, member: Member, most: int) -> bytes:
        """Read all bytes of a member; ValueError for more than `most`."""
        if member.size > most:
            raise ValueError(
                f"{member.name[:100]!r} has {member.size:,} bytes, of {most:,} at most"
            )
        return b"".join(self.pieces(member))

    def _read_header(self, place: int) -> tarfile.TarInfo | None:
        self._file.seek(place)
        block = self._file.read(BLOCK)
        if not block.strip(b"\0"):
            return None
        header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        header.offset = place
        return header

    def _read_stated_size(self, header: tarfile.TarInfo) -> int:
        """Read the size in an extended header; ValueError for any other content."""
        self._file.seek(header.offset + BLOCK)
        stated = SIZE.fullmatch(self._file.read(BLOCK)) if 0 < header.size <= BLOCK else None
        if stated is None:
            raise ValueError("it has an extended header that none of ours has")
        return int(stated[1])
