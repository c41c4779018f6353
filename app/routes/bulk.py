"""Bulk import: POST /items, lines of JSON in, lines of status out."""

from __future__ import annotations

import asyncio
import logging
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterator, Sequence
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse
from pydantic_core import from_json
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from app.access.door import EngineDep, require_role
from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.engine.refusals import reason_of
from app.http.errors import TooSlow, Unauthorized, Unavailable, WrongMediaType
from app.http.lanes import Lanes
from app.http.openapi import OF_COLLECTION, OF_WRITE, Responses, lines_of, problems, reference
from app.http.spool import Backlog, Line, limit_pauses, split_lines
from app.http.timeouts import BodyPace
from app.imports.fetching import Fetch, decode_base64, get_photos
from app.imports.photo_files import FileDecoder, FileReading
from app.imports.source_reading import add_photos
from app.routes.dependencies import (
    DEFAULT,
    CallerDep,
    CollectionDep,
    DecodersDep,
    FetchDep,
    LanesDep,
    SettingsDep,
)
from app.routes.uploads import check_text, media_type
from app.schemas.items import ImportLine, ImportStatus
from app.settings import Settings
from app.telemetry.metrics import IMPORT_LINES
from app.validation import read_json
from app.webhooks.announcing import ImportAnnouncement, announce, store_uncancelled
from app.webhooks.deliverer import Deliverer
from index.database import webhooks
from index.database.errors import Busy
from index.items import Collection, Entry, NoSpace, Replaced

log = logging.getLogger(__name__)
router = APIRouter(tags=["items"])

NDJSON, JSONL = "application/x-ndjson", "application/jsonl"
STATUSES: Responses = {200: {"content": {NDJSON: {"schema": reference(ImportStatus)}}}}
FAILED = "the service failed, so it may not be stored; send it again; the service's log says why"
UNBUFFERED = {"X-Accel-Buffering": "no"}  # nginx passes each line on as it comes
HELD = 2**16  # bytes of status lines in memory
BY_PROXY = (  # headers of requests that a proxy passes on
    *("x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-real-ip", "forwarded", "via"),
)
Outcome = Entry | str  # what is to be stored, or why it is refused


class Duplex(StreamingResponse):
    """A response sent while the request's body is still read."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's signature
        """Send the response; unlike its parent, it does not call `receive`."""
        await self.stream_response(send)


class Late(Duplex):
    """A response sent once its first part is known."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait for the first part, and send the response."""
        parts = aiter(self.body_iterator)
        first = await anext(parts, b"")

        async def list_parts() -> AsyncGenerator[Any, None]:
            yield first
            async for part in parts:
                yield part

        self.body_iterator = list_parts()
        await super().__call__(scope, receive, send)


def is_forwarded(request: Request) -> bool:
    """Return whether a request seems to come by a proxy."""
    headers = request.headers
    return request.scope["http_version"] == "1.0" or any(name in headers for name in BY_PROXY)


async def take_import_place(lanes: LanesDep, caller: CallerDep) -> AsyncGenerator[None, None]:
    """Take one of the places for imports."""
    with lanes.batches.place(caller):
        yield


@router.post(
    "/items",
    response_class=Duplex,
    responses=STATUSES | problems(*OF_COLLECTION, *OF_WRITE, WrongMediaType),
    openapi_extra=lines_of(ImportLine, NDJSON, JSONL),
    dependencies=[require_role("write"), Depends(take_import_place)],
)
async def import_items(
    request: Request,
    engine: EngineDep,
    lanes: LanesDep,
    decode: DecodersDep,
    fetch: FetchDep,
    settings: SettingsDep,
    caller: CallerDep,
    collection: CollectionDep = DEFAULT,
    create: Annotated[bool, Query(description="Make the collection if it is new.")] = True,
) -> Duplex:
    """Store items, one JSON object a line; answer each line once it is on disk.

    Read the answers while you send, or send at most some 10,000 lines at a time. Behind a proxy
    they come after the last line; lines are stored as they come all the same. Once the name no
    longer stands for the collection that it stood for, or the key is taken back, the lines that
    follow are refused.
    """
    if media_type(request) not in (NDJSON, JSONL):
        raise WrongMediaType(f"send lines of JSON as {NDJSON}")
    home = await lanes.writes.run(engine.open, collection, create=create)
    state = request.app.state
    check_caller = partial(state.door.check_standing, request.state.caller)
    work = Import(engine, lanes, decode, fetch, settings, collection, home, caller, check_caller)
    told = await lanes.writes.run(webhooks.listens, engine.catalog.reader, home)
    statuses = work.announce(state.deliverer, request) if told else work.statuses(request)
    if is_forwarded(request):
        return Late(work.hold(statuses), media_type=NDJSON, headers=UNBUFFERED)
    return Duplex(statuses, media_type=NDJSON, headers=UNBUFFERED)


class Import:
    """The import of one request's lines into a collection."""

    def __init__(
        self,
        engine: Engine,
        lanes: Lanes,
        decode: FileDecoder,
        fetch: Fetch,
        settings: Settings,
        collection: str,
        home: Collection,
        caller: str = "",
        check_caller: Callable[[], None] = lambda: None,
    ) -> None:
        """Fetches count for `caller`; `check_caller` raises Unauthorized if it may not go on."""
        self.engine, self.lanes, self.decode, self.fetch = engine, lanes, decode, fetch
        self.settings, self.collection, self.home = settings, collection, home
        self.caller, self.check_caller = caller, check_caller
        self.gone: str | None = None  # why no more is taken
        self.backlog = Backlog(settings.batch, settings.upload_bytes * 4 // 3)
        self.storing = False
        self.cut: Line | None = None  # where and why the body was not read to its end
        self.left = False  # whether the client left before that
        self.counts: Counter[str] = Counter()  # by status

    @property
    def longest(self) -> int:
        """Bytes of the longest line: an item's images in base64, and text."""
        return self.settings.together_bytes * 4 // 3 + self.settings.text_bytes

    async def announce(self, deliverer: Deliverer, request: Request) -> AsyncGenerator[bytes, None]:
        """Yield status lines; announce the end before the answer's own."""
        announcement = ImportAnnouncement("request", self.counts)
        store = partial(announce, self.engine.catalog, self.home, announcement)
        try:
            async for status in self.statuses(request):
                yield status
        except (asyncio.CancelledError, GeneratorExit):
            announcement.reason = "the answer was cut off: the service ended, or the client left"
            await store_uncancelled(store)
            raise
        left = "the client left before the end of its lines" if self.left else self.gone
        announcement.reason = self.cut.refused if self.cut else left
        try:
            await self.lanes.writes.run(store)
        except (Busy, NoSpace, Unavailable) as failed:
            self.cut = self.cut or Line(self.counts.total() + 1, "")
            reason = f"webhooks are not told: {failed}; the answers to the lines above hold"
            yield self._write(_make_status(self.cut, None, reason))
        deliverer.wake()

    def _write(self, status: ImportStatus) -> bytes:
        self.counts[status.status] += 1
        IMPORT_LINES.labels(status.status).inc()
        return status.model_dump_json(exclude_none=True).encode() + b"\n"

    async def statuses(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Yield status lines; lines during a batch form the next one."""
        reading = asyncio.create_task(self._read(request))
        try:
            while lines := await self.backlog.take():
                self.storing = True
                for status in await self.store(lines):
                    yield self._write(status)
                self.storing = False
            if self.cut:
                yield self._write(_make_status(self.cut, None, self.cut.refused or ""))
        finally:
            reading.cancel()
            self.backlog.close()

    async def hold(self, statuses: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
        """Yield status lines once the body has ended.

        nginx sends no more of a body after the beginning of an answer.
        """
        with SpooledTemporaryFile(HELD) as held:
            async for status in statuses:
                held.write(status)
                if self.backlog.ended:
                    for part in _take(held):
                        yield part
            for part in _take(held):  # all of it, where the end came after the last status
                yield part

    async def store(self, lines: Sequence[Line]) -> list[ImportStatus]:
        """Embed and store lines together; return a status for each."""
        # On a thread, so that the event loop goes on while long ones are read.
        parsed = await to_thread.run_sync(lambda: [self._parse(line) for line in lines])
        outcomes: Sequence[int | str]
        try:
            outcomes = await self._store(lines, [content for _, content in parsed])
        except (Replaced, Unauthorized) as gone:
            self.gone = str(gone)
            outcomes = [self.gone] * len(lines)
        except (Busy, Unavailable) as failed:
            outcomes = [str(failed)] * len(lines)
        except Exception:  # the lines that follow may fare better
            log.exception("a batch of an import failed")
            outcomes = [FAILED] * len(lines)
        return [
            _make_status(line, name, outcome)
            for line, (name, _), outcome in zip(lines, parsed, outcomes, strict=True)
        ]

    async def _store(
        self, lines: Sequence[Line], sent: Sequence[ImportLine | str]
    ) -> list[int | str]:
        """Return each line's revision or refusal.

        Replaced if the collection is gone, Unauthorized if the caller's key is.
        """
        if self.gone is not None:
            return [self.gone] * len(sent)
        self.check_caller()
        # Before anything is embedded; what is stored is checked once more, in its transaction.
        await self.lanes.writes.run(self.engine.catalog.names.check, self.collection, self.home)
        async with self.lanes.batches.room(sum(line.size for line in lines)):
            fetches = [
                self.lanes.fetches.run_for(self.caller, self._photos, content) for content in sent
            ]
            read = await self.lanes.batches.run(self._embed, sent, await asyncio.gather(*fetches))
        self.check_caller()  # once more, as fetches take long
        entries = [outcome for outcome in read if isinstance(outcome, Entry)]
        stored = await self.lanes.writes.run(
            self.engine.store_each, self.collection, self.home, entries
        )
        revisions = iter(stored)
        return [next(revisions) if isinstance(outcome, Entry) else outcome for outcome in read]

    async def _read(self, request: Request) -> None:
        """Put lines into the backlog until the body's end or pause."""
        seconds, number = self.settings.idle_seconds, 0
        try:
            chunks = limit_pauses(request.stream(), seconds, self._owes)
            async for line in split_lines(
                chunks, self.longest, partial(BodyPace.of, self.settings)
            ):
                await self.backlog.put(line)
                number = line.number
        except TooSlow as slow:
            self.cut = Line(number + 1, slow.detail)
        except TimeoutError:
            self.cut = Line(number + 1, f"nothing came for {seconds} seconds; send the rest again")
        except ClientDisconnect:
            self.left = True
        except Exception:  # or the body would seem to have ended
            log.exception("the body of an import could not be read")
            self.cut = Line(number + 1, "the service failed to read on; send the rest again")
        finally:
            await self.backlog.end()

    def _owes(self) -> bool:
        """Return whether the client may be waiting for a status."""
        return self.storing or bool(self.backlog)

    def _parse(self, line: Line) -> tuple[str | None, ImportLine | str]:
        """Return the id and the content of a line, or its problem."""
        if line.refused:
            return None, line.refused
        data = b""
        try:
            data = line.read()
            check = partial(check_text, len(data), self.settings.text_bytes)
            sent = read_json(ImportLine, data, check)
        except Exception as wrong:  # noqa: BLE001 - one line must not end the import
            return _id_in(data), reason_of(wrong)
        return sent.id, sent

    def _photos(self, sent: ImportLine | str) -> list[bytes] | str:
        """Return the photos of a line, or its problem."""
        if isinstance(sent, str):
            return sent
        try:
            image = None if sent.image is None else decode_base64("image", sent.image)
            return get_photos(image, sent.image_url, sent.images, self.fetch)
        except Exception as wrong:  # noqa: BLE001 - one line must not end the import
            return reason_of(wrong)

    def _embed(
        self, lines: Sequence[ImportLine | str], photos: Sequence[list[bytes] | str]
    ) -> list[Outcome]:
        """Return the entry of each line, or its problem."""
        read = [self._draft(*pair) for pair in zip(lines, photos, strict=True)]
        drafts = [entry for entry in read if isinstance(entry, Draft)]
        embedded = iter(self.engine.embed_each(drafts))
        return [next(embedded) if isinstance(entry, Draft) else entry for entry in read]

    def _draft(self, sent: ImportLine | str, photos: list[bytes] | str) -> Draft | str:
        """Return the draft of a line, or its problem."""
        if isinstance(sent, str) or isinstance(photos, str):
            return sent if isinstance(sent, str) else str(photos)
        draft = Draft(sent.id, sent.metadata, sentences=tuple(sent.sentences), stamp=sent.stamp)
        reading = FileReading.of(self.settings, of_folder=False) if sent.read_metadata else None
        try:
            return add_photos(draft, photos, self.decode, reading)
        except Exception as wrong:  # noqa: BLE001 - one line must not end the import
            return reason_of(wrong)


def _take(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of a file, and empty it."""
    file.seek(0)
    while part := file.read(HELD):
        yield part
    file.seek(0)
    file.truncate()


def _id_in(data: bytes) -> str | None:
    """Return the id in a refused line, if it can be read."""
    try:
        sent = from_json(data.removeprefix(BOM_UTF8))
    except (ValueError, RecursionError):
        return None
    name = sent.get("id") if isinstance(sent, dict) else None
    return name if isinstance(name, str) else None


def _make_status(line: Line, name: str | None, outcome: int | str) -> ImportStatus:
    """Return the status of a line: stored, or refused with a reason."""
    if isinstance(outcome, str):
        return ImportStatus(line=line.number, id=name, status="refused", reason=outcome)
    return ImportStatus(line=line.number, id=name, status="stored")
