"""Uploads: fields and photos of a request's body, checked and bounded."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Generic, TypeVar

from anyio import to_thread
from fastapi import Depends, Request, Response
from pydantic import BaseModel
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from app.access.door import name_payer
from app.http.errors import TooLarge, WrongMediaType
from app.http.lanes import Lane, Lanes
from app.http.openapi import FORM, JSON, JSON_IN_FORMS, attach_body, body_of, lines_of
from app.http.spool import IN_MEMORY
from app.imports.photo_files import FileDecoder
from app.schemas.fields import RequestBody
from app.schemas.products import ProductSearch
from app.schemas.search import ImageSearch, PhotoBody
from app.settings import Settings
from app.telemetry.events import EventLog
from app.validation import parse_json, read_fields, read_json
from index.database.moments import moment
from models.vision.images import DisplayCopy

Fields = TypeVar("Fields", bound=RequestBody)
FILES = ("image", "images")  # fields of forms
EXTENDED_NAME = re.compile(rb";\s*filename\*\s*=", re.IGNORECASE)  # of RFC 5987, before RFC 7578
SHORT = 2**14  # bytes of JSON that are read in less time than another thread takes to begin


@dataclass(frozen=True, slots=True)
class Upload(Generic[Fields]):
    """A request's fields and images, and the lane for its work."""

    fields: Fields
    images: tuple[BinaryIO, ...]
    decode: FileDecoder
    lane: Lane
    caller: str
    events: EventLog

    def photo(self) -> DisplayCopy | None:
        """The one image as it would be stored."""
        return self.decode(self.images[0].read()) if self.images else None


def reads(model: type[Fields]) -> Callable[[Request], AsyncGenerator[Upload[Fields], None]]:
    """Return a reader of JSON, or of a form with images.

    The request computes in the lane of photos, or of searches if it is JSON, searches and embeds no
    photo.
    """

    async def read(request: Request) -> AsyncGenerator[Upload[Fields], None]:
        lanes: Lanes = request.app.state.lanes
        decode, caller = request.app.state.decoders, name_payer(request)
        events: EventLog = request.app.state.events
        kind = media_type(request)
        if kind == JSON:
            async with _json(request, model, list_files(model)) as fields:
                light = isinstance(fields, PhotoBody) and not fields.embeds_photo
                lane = lanes.searches if light else lanes.photos
                yield Upload(fields, (), decode, lane, caller, events)
        elif kind == FORM:
            with lanes.bodies.take(caller):
                form = await _read_form(request, model)
            try:
                images = _list_images(form)
                fields = await to_thread.run_sync(
                    lambda: read_fields(
                        model, _fields(form, model), JSON_IN_FORMS, list_files(model)
                    )
                )
                yield Upload(fields, images, decode, lanes.photos, caller, events)
            finally:
                await form.close()
        else:
            raise WrongMediaType(
                f"the body is {kind or 'of no stated type'}; send {JSON} or {FORM}"
            )

    attach_body(read, body_of(model))
    return read


def reads_json(model: type[Fields]) -> Callable[[Request], AsyncGenerator[Fields, None]]:
    """Return a reader of JSON, bounded and without duplicate keys."""

    async def read(request: Request) -> AsyncGenerator[Fields, None]:
        if media_type(request) not in model.media_types:
            raise WrongMediaType(f"send {' or '.join(model.media_types)}")
        async with _json(request, model) as fields:
            yield fields

    attach_body(read, lines_of(model, *model.media_types))
    return read


if TYPE_CHECKING:
    JsonBody = Annotated[Fields, ...]
    UploadBody = Annotated[Upload[Fields], ...]
else:

    class JsonBody:
        """The type of a route's JSON body: `JsonBody[Model]`."""

        def __class_getitem__(cls, model: type[RequestBody]) -> object:
            return Annotated[model, Depends(reads_json(model))]

    class UploadBody:
        """The type of a route's JSON or form: `UploadBody[Model]`."""

        def __class_getitem__(cls, model: type[RequestBody]) -> object:
            return Annotated[Upload[model], Depends(reads(model))]


@asynccontextmanager
async def _json(
    request: Request, model: type[Fields], files: Collection[str] = ()
) -> AsyncIterator[Fields]:
    """Read a body of JSON.

    Messages name the `files` of the route's forms.

    Photos in it are base64, four bytes for three. A long body is kept on disk until there is room
    for it in memory.
    """
    settings: Settings = request.app.state.settings
    lanes: Lanes = request.app.state.lanes
    texts = min(model.most_text, settings.text_bytes)
    photos = settings.upload_bytes * 4 // 3 if model.most_photos > 1 else 0

    def read(body: BinaryIO) -> Fields:
        body.seek(0)
        data = body.read()
        return read_json(model, data, partial(check_text, len(data), texts), files)

    with SpooledTemporaryFile(IN_MEMORY) as file:
        body = UploadFile(file, size=0)  # type: ignore[arg-type]  # of starlette, which does so
        with lanes.bodies.take(name_payer(request)):
            async for chunk in limit_size(request, texts + photos):
                await body.write(chunk)
        size = body.size or 0
        async with lanes.photos.room(size):
            # Long bodies on another thread, so that the event loop goes on.
            yield (read(body.file) if size <= SHORT else await to_thread.run_sync(read, body.file))


def check_text(size: int, most: int, fields: BaseModel) -> None:
    """Raise TooLarge for JSON of `size` bytes with over `most` besides photos.

    Photos are in base64, or are named by their addresses.
    """
    photos = [getattr(fields, "image", None), *(getattr(fields, "images", None) or ())]
    text = size - sum(len(photo) for photo in photos if isinstance(photo, str))
    if text > most:
        raise TooLarge(
            f"there are {text:,} bytes of text besides photos; {most:,} at most are read"
        )


async def answer(upload: Upload[Any], work: Callable[[], BaseModel | Response]) -> Response:
    """Run work in the request's lane; answer its result as JSON."""

    def respond() -> Response:
        with moment():
            result = work()
        if isinstance(result, Response):
            return result
        _note_search(upload, result)
        return Response(result.model_dump_json(by_alias=True), media_type=JSON)

    with upload.lane.place(upload.caller):
        return await upload.lane.run_for(upload.caller, respond)


def _note_search(upload: Upload[Any], result: BaseModel) -> None:
    """Write the first page of a search by text to the events."""
    fields, hits = upload.fields, getattr(result, "hits", None)
    if not isinstance(fields, ImageSearch | ProductSearch) or upload.images or fields.id:
        return  # sentences have scores of another scale
    if hits is not None and not fields.cursor and not fields.sort:
        ranked = ((hit.id, hit.score) for hit in hits)
        upload.events.add_search(fields.collection, fields.text, ranked)


def media_type(request: Request) -> str:
    """The body's media type without parameters, in lower case."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def limit_size(request: Request, most: int) -> AsyncGenerator[bytes, None]:
    """Yield the body's chunks; TooLarge after `most` bytes, by count or declaration."""
    declared = request.headers.get("content-length", "")
    read = int(declared) if declared.isascii() and declared.isdigit() else 0
    if read <= most:
        read = 0
        async for chunk in request.stream():
            read += len(chunk)
            if read > most:
                break
            yield chunk
    if read > most:
        raise TooLarge(f"the request body has more than the {most:,} bytes that are read")


class WholeForm(MultiPartParser):
    """Starlette's parser with a bound on the text of all fields.

    It passes over the end of a form that breaks off; here that raises.
    """

    spool_max_size = IN_MEMORY
    _ended = False
    _text = 0  # bytes of fields so far

    def __init__(
        self, headers: Headers, stream: AsyncGenerator[bytes, None], files: int, text: int
    ) -> None:
        super().__init__(headers, self._check_end(stream), max_files=files, max_part_size=text)

    def on_headers_finished(self) -> None:
        """Take a part with `filename*` alone for a file."""
        disposition = self._current_part.content_disposition or b""
        self._current_part.content_disposition = EXTENDED_NAME.sub(b"; filename=", disposition)
        super().on_headers_finished()

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        """Count the text of fields; called for each piece of a part."""
        if self._current_part.file is None:
            self._text += end - start
            if self._text > self.max_part_size:
                raise TooLarge(
                    f"there are more bytes of text besides photos than the {self.max_part_size:,} "
                    "that are read"
                )
        super().on_part_data(data, start, end)

    def on_end(self) -> None:
        """Called at the last boundary."""
        self._ended = True

    async def _check_end(self, stream: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        async for chunk in stream:
            yield chunk
        if not self._ended:
            raise MultiPartException("it breaks off, as its last boundary is missing")


async def _read_form(request: Request, model: type[RequestBody]) -> FormData:
    settings: Settings = request.app.state.settings
    most = model.most_photos
    photos = settings.upload_bytes if most == 1 else settings.together_bytes
    texts = min(model.most_text, settings.text_bytes)
    stream = limit_size(request, photos + texts)
    parser = WholeForm(request.headers, stream, files=most, text=texts)
    try:
        return await parser.parse()
    except MultiPartException as broken:
        raise ValueError(f"the form cannot be read: {broken.message}") from broken


def _list_images(form: FormData) -> tuple[BinaryIO, ...]:
    if not all(isinstance(image, UploadFile) for image in form.getlist("image")):
        raise ValueError("image: send it as a file, with a filename")
    sent = (file for name, file in form.multi_items() if name in FILES)
    files = [image for image in sent if isinstance(image, UploadFile)]
    # Browsers send an empty file without a name for an input in which none is chosen.
    return tuple(image.file for image in files if image.filename or image.size)


def list_files(model: type[RequestBody]) -> tuple[str, ...]:
    """List the names of a form's files besides the model's fields."""
    return () if "images" in model.model_fields else ("image",)


def _fields(form: FormData, model: type[RequestBody]) -> dict[str, Any]:
    """A form's text fields as JSON would have them."""
    fields: dict[str, Any] = {}
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            if name not in FILES:
                raise ValueError(f"the file must be in the field image, not in {name!r:.50}")
        elif name in ("sentences", "images"):
            fields.setdefault(name, []).append(value)
        elif name in fields:
            raise ValueError(f"the field {name!r:.50} is there twice")
        elif name in JSON_IN_FORMS:
            fields[name] = parse_json(name, value, model)
        else:
            fields[name] = value.split(",") if name == "box" else value
    return fields
