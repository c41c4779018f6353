"""Lines wait on disk, and pausing clients get an answer."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncGenerator

import pytest

from app.http import spool
from app.http.spool import Backlog, Line, limit_pauses, split_lines


async def stream(*chunks: bytes) -> AsyncGenerator[bytes, None]:
    for chunk in chunks:
        yield chunk


async def lines(longest: int, *chunks: bytes) -> list[tuple[int, bytes, str | None]]:
    split = split_lines(stream(*chunks), longest)
    return [(line.number, line.read(), line.refused) async for line in split]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_lines_are_split_wherever_chunks_end(size: int) -> None:
    data = b"ab\n\n  \nabcd\nabcde\nx"
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    long = "the line is longer than 4 bytes"
    assert asyncio.run(lines(4, *chunks)) == [
        (1, b"ab", None),
        (4, b"abcd", None),
        (5, b"", long),
        (6, b"x", None),
    ]


def test_a_long_line_goes_to_disk() -> None:
    async def check() -> None:
        (line,) = [line async for line in split_lines(stream(b"x" * 2**17, b"y"), 2**20)]
        assert line.spool is not None
        assert line.spool.file._rolled  # type: ignore[attr-defined]
        assert line.read() == b"x" * 2**17 + b"y"

    asyncio.run(check())


def test_a_line_that_finds_no_room_is_refused_and_the_next_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def full(_: object, __: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    write = spool.UploadFile.write
    monkeypatch.setattr(spool.UploadFile, "write", full)

    async def check() -> None:
        split = split_lines(stream(b"first\n", b"second\n", b"third"), 100)
        first = await anext(split)
        assert first.refused is not None
        assert "disk is full" in first.refused
        monkeypatch.setattr(spool.UploadFile, "write", write)
        assert [(line.number, line.read()) async for line in split] == [
            (2, b"second"),
            (3, b"third"),
        ]

    asyncio.run(check())


def test_a_backlog_holds_so_many_lines_and_bytes_and_gives_them_together() -> None:
    async def put(backlog: Backlog, number: int, size: int) -> None:
        line = Line(number)
        await line.add(b"x" * size, 100)
        await backlog.put(line)

    async def check() -> None:
        backlog = Backlog(3, size=10)
        await put(backlog, 1, 9)
        await put(backlog, 2, 9)
        third = asyncio.create_task(put(backlog, 3, 1))
        await asyncio.sleep(0)
        assert len(backlog) == 2
        taken = await backlog.take()
        await third
        await backlog.end()
        taken += await backlog.take()
        assert [line.number for line in taken] == [1, 2, 3]
        assert await backlog.take() == []
        for line in taken:
            line.close()

    asyncio.run(check())


def test_a_pause_is_too_long_only_where_nothing_is_owed() -> None:
    async def pausing() -> AsyncGenerator[int, None]:
        yield 1
        await asyncio.sleep(0.05)
        yield 2
        await asyncio.sleep(60)

    async def check() -> None:
        owed = [True]
        items = limit_pauses(pausing(), 0.01, lambda: owed[0])
        assert [await anext(items), await anext(items)] == [1, 2]
        owed[0] = False
        with pytest.raises(TimeoutError):
            await anext(items)

    asyncio.run(check())
