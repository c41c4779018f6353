"""Bulk import: POST /items, a line of JSON in, a line of status out."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from contextlib import suppress
from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from app.drafts import Draft
from app.engine import Engine
from app.errors import WrongMediaType, explain
from app.gate import Gate
from app.openapi import OF_COLLECTION, Responses, lines_of, problems, reference
from app.routes.dependencies import DEFAULT, CollectionDep, EngineDep, GateDep, SettingsDep
from app.schemas.items import ImportLine, ImportStatus
from app.settings import Settings
from app.uploads import media_type

router = APIRouter(tags=["items"])

NDJSON, JSONL = "application/x-ndjson", "application/jsonl"
STATUSES: Responses = {200: {"content": {NDJSON: {"schema": reference(ImportStatus)}}}}
Line = tuple[int, bytes | None]  # its number from 1; None for one that is too long


class Duplex(StreamingResponse):
    """A response that is sent while the request's body is still being read."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's signature
        """Send; unlike its parent, leave `receive` to who reads the body."""
        await self.stream_response(send)


@router.post(
    "/items",
    response_class=Duplex,
    responses=STATUSES | problems(*OF_COLLECTION, WrongMediaType),
    openapi_extra=lines_of(ImportLine, NDJSON, JSONL),
)
async def import_items(
    request: Request,
    engine: EngineDep,
    gate: GateDep,
    limits: SettingsDep,
    collection: CollectionDep = DEFAULT,
) -> Duplex:
    """Store items, one JSON object a line; each line is answered in order, once it is on disk.

    Read the answers while you send, or send at most some 10,000 lines at a time.
    """
    if media_type(request) not in (NDJSON, JSONL):
        raise WrongMediaType(f"send lines of JSON as {NDJSON}")
    await run_in_threadpool(engine.open, collection, create=True)
    statuses = _import(request, Importer(engine, gate, limits, collection))
    return Duplex(statuses, media_type=NDJSON)


class Importer:
    """Stores lines of one request."""

    def __init__(self, engine: Engine, gate: Gate, limits: Settings, collection: str) -> None:
        self.engine = engine
        self.gate = gate
        self.limits = limits
        self.collection = collection

    @property
    def longest(self) -> int:
        """Bytes of the longest line: an image in base64, and text."""
        return self.limits.upload_bytes * 4 // 3 + self.limits.text_bytes

    def store(self, lines: Sequence[Line]) -> list[ImportStatus]:
        """Embed and store lines together; each that is refused says why."""
        read = [(number, *self._read(data)) for number, data in lines]
        drafts = [draft for _, draft, _ in read if draft is not None]
        stored = iter(self.engine.put_each(self.collection, drafts, self.gate.turns))
        statuses = []
        for number, draft, reason in read:
            reason = next(stored) if draft is not None else reason
            name = draft.id if draft else None
            status: Literal["stored", "refused"] = "stored" if reason is None else "refused"
            statuses.append(ImportStatus(line=number, id=name, status=status, reason=reason))
        return statuses

    def _read(self, data: bytes | None) -> tuple[Draft | None, str | None]:
        """The draft in a line, or what is wrong with it."""
        if data is None:
            return None, f"the line is longer than {self.longest:,} bytes"
        try:
            line = ImportLine.model_validate_json(data)
            draft = Draft(line.id, line.metadata, sentences=tuple(line.sentences))
            if line.image is None:
                return draft, None
            image = b64decode(line.image, validate=True)
            return draft.with_photo(image, **self.limits.photo_limits), None
        except ValidationError as wrong:
            return None, explain(wrong.errors())
        except ValueError as wrong:
            return None, str(wrong)


async def _import(request: Request, importer: Importer) -> AsyncGenerator[bytes, None]:
    """Status lines; what arrives while a batch is being embedded makes up the next one."""
    most = importer.limits.batch
    waiting: asyncio.Queue[Line | None] = asyncio.Queue(most)

    async def read() -> None:
        with suppress(ClientDisconnect):
            async for line in split_lines(request.stream(), importer.longest):
                await waiting.put(line)
        await waiting.put(None)

    reading = asyncio.create_task(read())
    try:
        ended = False
        while not ended:
            batch = [await waiting.get()]
            while len(batch) < most and not waiting.empty():
                batch.append(waiting.get_nowait())
            ended = batch[-1] is None
            lines = [line for line in batch if line is not None]
            for status in await run_in_threadpool(importer.store, lines):
                yield status.model_dump_json(exclude_none=True).encode() + b"\n"
    finally:
        reading.cancel()


async def split_lines(chunks: AsyncIterable[bytes], longest: int) -> AsyncGenerator[Line, None]:
    """The numbered lines of a stream that are not blank; None for one of more than `longest`."""
    number, size, parts = 1, 0, list[bytes]()
    async for chunk in chunks:
        for position, piece in enumerate(chunk.split(b"\n")):
            if position:  # a newline came before this piece
                if size:
                    yield number, b"".join(parts) if size <= longest else None
                number, size, parts = number + 1, 0, []
            size += len(piece.strip()) if not size else len(piece)
            if size <= longest:
                parts.append(piece)
            else:
                parts = []
    if size:
        yield number, b"".join(parts) if size <= longest else None
