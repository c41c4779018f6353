"""Members of a tar: regular files in a row, each with all of its bytes in the tar itself.

Python's tarfile reads what a header claims before anyone can look at it: names of any length,
extensions that nest, and holes that take no room. Here a header is one block, next to which there
may be one that states a size of 8 GiB and more, as tarfile writes it.
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
    """A regular file in a tar: its name, and where its bytes are."""

    name: str
    start: int
    size: int

    @property
    def end(self) -> int:
        """Where the next header begins."""
        return self.start + -(-self.size // BLOCK) * BLOCK


class Members:
    """The members of a tar, one after another. ValueError or TarError for what none of ours has."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._bytes = os.fstat(file.fileno()).st_size
        self.place = 0  # of the next header

    def take(self) -> Member | None:
        """The next member, None at the end."""
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
        """The bytes of a member, some at a time; ValueError where the file ends before."""
        self._file.seek(member.start)
        left = member.size
        while left:
            piece = self._file.read(min(left, PIECE))
            if not piece:
                raise ValueError(f"it ends within {member.name[:100]!r}")
            left -= len(piece)
            yield piece

    def read(self, member: Member, most: int) -> bytes:
        """All bytes of a member; ValueError for more than there may be."""
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
        """The size that an extended header states; ValueError for one that states anything else."""
        self._file.seek(header.offset + BLOCK)
        stated = SIZE.fullmatch(self._file.read(BLOCK)) if 0 < header.size <= BLOCK else None
        if stated is None:
            raise ValueError("it has an extended header that none of ours has")
        return int(stated[1])
