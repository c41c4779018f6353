"""Lines of an incoming body, on disk until their turn."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from time import monotonic
from typing import TypeVar

from starlette.datastructures import UploadFile

from app.http.timeouts import BodyPace
from index.disk import is_full

IN_MEMORY = 2**16  # bytes of a line that are kept in memory; beyond, it goes to disk
Item = TypeVar("Item")


@dataclass(slots=True)
class Line:
    """A line's number from 1, and its bytes or its refusal."""

    number: int
    refused: str | None = None
    spool: UploadFile | None = None  # of starlette: it writes to disk on a thread
    pace: BodyPace | None = None

    @property
    def size(self) -> int:
        """Its size in bytes; 0 for a blank line."""
        return self.spool.size or 0 if self.spool else 0

    @property
    def begun(self) -> bool:
        """Return whether anything but blanks has come of it."""
        return bool(self.size or self.refused)

    async def add(self, piece: bytes, longest: int) -> None:
        """Append a piece; blanks at the start are skipped."""
        if self.refused or not (self.spool or piece.strip()):
            return
        if self.spool is None:
            file = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed by `close`
            self.spool = UploadFile(file, size=0)  # type: ignore[arg-type]  # as starlette does
        try:
            await self.spool.write(piece)
        except OSError as failed:
            if not is_full(failed):
                raise
            self.refused = "the disk is full; make room, then try again"
        if self.size > longest:
            self.refused = f"the line is longer than {longest:,} bytes"
        if self.refused:
            self.close()

    def count(self, chunk: bytes, waited: float) -> None:
        """Count received bytes; TooSlow for a line without a timely end."""
        if self.pace is not None and self.begun:
            self.pace.add(len(chunk), waited)
            if b"\n" not in chunk:
                self.pace.check("the line")

    def read(self) -> bytes:
        """Return its bytes, once; empty for a refused line."""
        if self.spool is None or self.refused:
            return b""
        with self.spool.file as file:
            file.seek(0)
            return file.read()

    def close(self) -> None:
        """Forget its bytes."""
        if self.spool is not None:
            self.spool.file.close()


class Backlog:
    """Waiting lines: about `count`, of about `size` bytes together."""

    def __init__(self, count: int, size: int) -> None:
        self.count, self.size = count, size
        self.ended = False
        self._lines = deque[Line]()
        self._changed = asyncio.Condition()

    def __len__(self) -> int:
        return len(self._lines)

    async def put(self, line: Line) -> None:
        """Add a line, once there is room."""
        async with self._changed:
            await self._changed.wait_for(self._has_room)
            self._lines.append(line)
            self._changed.notify_all()

    async def end(self) -> None:
        """No more lines will come."""
        async with self._changed:
            self.ended = True
            self._changed.notify_all()

    async def take(self) -> list[Line]:
        """Wait for lines and take all; an empty list ends them."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._lines or self.ended)
            taken = list(self._lines)
            self._lines.clear()
            self._changed.notify_all()
        return taken

    def close(self) -> None:
        """Discard the remaining lines."""
        for line in self._lines:
            line.close()

    def _has_room(self) -> bool:
        lines = self._lines
        return not lines or (
            len(lines) < self.count and sum(line.size for line in lines) < self.size
        )


async def split_lines(
    chunks: AsyncIterable[bytes], longest: int, pace: Callable[[], BodyPace | None] = lambda: None
) -> AsyncGenerator[Line, None]:
    """Split a stream into numbered lines, without blank ones.

    The caller closes them.

    Raises TooSlow for a line that has begun and comes slower than its `pace` allows.
    """
    line, since = Line(1, pace=pace()), monotonic()
    try:
        async for chunk in chunks:
            line.count(chunk, monotonic() - since)
            for position, piece in enumerate(chunk.split(b"\n")):
                if position:  # a newline came before this piece
                    previous, line = line, Line(line.number + 1, pace=pace())
                    if previous.begun:
                        yield previous
                await line.add(piece, longest)
            since = monotonic()
    except BaseException:
        line.close()
        raise
    if line.begun:
        yield line


async def limit_pauses(
    items: AsyncGenerator[Item, None], seconds: float, owed: Callable[[], bool]
) -> AsyncGenerator[Item, None]:
    """Yield items; TimeoutError after `seconds` without one, unless an answer is owed."""
    while True:
        coming = asyncio.ensure_future(anext(items))
        try:
            while not (await asyncio.wait({coming}, timeout=seconds))[0]:
                if not owed():
                    raise TimeoutError
            yield coming.result()
        except StopAsyncIteration:
            return
        finally:
            coming.cancel()
