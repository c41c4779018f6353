"""Uploads: checked fields and a photo from a request's body, limited while it is read."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, Generic, Literal, TypeVar

from fastapi import Request, Response
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from app import unique_keys
from app.drafts import Decode
from app.errors import TooLarge, WrongMediaType
from app.lanes import Lane
from app.mistakes import read_fields, read_json
from app.openapi import FORM, JSON, JSON_IN_FORMS
from app.routes.dependencies import DecodersDep, LanesDep, SettingsDep
from app.schemas.fields import PhotoBody
from app.settings import Settings
from models.images import DisplayCopy

Fields = TypeVar("Fields", bound=BaseModel)
FILES = ("image", "images")  # fields of forms
SHORT = 2**14  # bytes of JSON that are read in less time than another thread takes to begin
LightLane = Literal["searches", "photos"]


@dataclass(frozen=True, slots=True)
class Upload(Generic[Fields]):
    """A request's fields, the `images` that it brought, on disk, and the lane it computes in."""

    fields: Fields
    images: tuple[BinaryIO, ...]
    decode: Decode
    lane: Lane

    def photo(self) -> DisplayCopy | None:
        """The one image as it would be stored."""
        return self.decode(self.images[0].read()) if self.images else None


def reads(
    model: type[Fields], light: LightLane = "photos", most: int = 1
) -> Callable[..., AsyncGenerator[Upload[Fields], None]]:
    """A dependency that reads a JSON body, or a form with the same fields and `most` images.

    Where these may be several, the JSON may have them in base64. The request has a place in a lane
    from now on: in that of photos, or where it brings JSON and embeds no photo in the one that is
    named `light`.
    """

    async def read(
        request: Request, settings: SettingsDep, lanes: LanesDep, decode: DecodersDep
    ) -> AsyncGenerator[Upload[Fields], None]:
        kind = media_type(request)
        if kind not in (JSON, FORM):
            raise WrongMediaType(
                f"the body is {kind or 'of no stated type'}; send {JSON} or {FORM}"
            )
        if kind == JSON:
            lane = lanes.named()[light]
            with lane.place():
                limit = _json_bytes(settings, photos=most > 1)
                data = b"".join([chunk async for chunk in bounded(request, limit)])
                fields = await read_aside(model, data, settings)
                if not (isinstance(fields, PhotoBody) and fields.embeds_photo):
                    yield Upload(fields, (), decode, lane)
                    return
            with lanes.photos.place():
                yield Upload(fields, (), decode, lanes.photos)
                return
        with lanes.photos.place():
            form = await _read_form(request, settings, most)
            try:
                images = _images(form)
                fields = await run_in_threadpool(_form_fields, model, form)
                yield Upload(fields, images, decode, lanes.photos)
            finally:
                await form.close()

    return read


def reads_json(
    model: type[Fields], *media_types: str, photos: bool = False
) -> Callable[[Request], Awaitable[Fields]]:
    """A dependency that reads a JSON body; unlike FastAPI's own, after keys, and with a limit.

    Its media type is `JSON`, or one of those that are given. It may have `photos` in base64.
    """
    accepted = media_types or (JSON,)

    async def read(request: Request) -> Fields:
        limits: Settings = request.app.state.settings
        if media_type(request) not in accepted:
            raise WrongMediaType(f"send {' or '.join(accepted)}")
        limit = _json_bytes(limits, photos=photos)
        data = b"".join([chunk async for chunk in bounded(request, limit)])
        return await read_aside(model, data, limits)

    return read


async def read_aside(model: type[Fields], data: bytes, limits: Settings) -> Fields:
    """What JSON says; a long one is read on another thread, as others wait for the event loop."""
    check = text_check(data, limits.text_bytes)
    if len(data) <= SHORT:
        return read_json(model, data, check)
    return await run_in_threadpool(read_json, model, data, check)


def text_check(data: bytes, most: int) -> Callable[[BaseModel], None]:
    """A check of what JSON says: TooLarge if over `most` bytes of that are no photos.

    Photos are in base64, or are named by their addresses.
    """

    def check(fields: BaseModel) -> None:
        photos = [getattr(fields, "image", None), *(getattr(fields, "images", None) or ())]
        text = len(data) - sum(len(photo) for photo in photos if isinstance(photo, str))
        if text > most:
            raise TooLarge(
                f"beside photos there are {text:,} bytes of text; {most:,} at most are read"
            )

    return check


def _json_bytes(limits: Settings, *, photos: bool) -> int:
    """How long a body of JSON may be: `photos` in base64 take four bytes for three."""
    return limits.text_bytes + photos * limits.upload_bytes * 4 // 3


async def answer(upload: Upload[Any], work: Callable[[], BaseModel | Response]) -> Response:
    """What work gives, done in the lane of a request and written as JSON there."""

    def respond() -> Response:
        result = work()
        if isinstance(result, Response):
            return result
        return Response(result.model_dump_json(by_alias=True), media_type=JSON)

    return await upload.lane.run(respond)


def media_type(request: Request) -> str:
    """The body's media type without parameters, in lower case."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def bounded(request: Request, most: int) -> AsyncGenerator[bytes, None]:
    """The body's chunks; TooLarge once they are more than `most` bytes, whatever was declared."""
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
    """Starlette's parser, which passes over the end of a form that breaks off; here it raises."""

    _ended = False

    def __init__(
        self, headers: Headers, stream: AsyncGenerator[bytes, None], **limits: int
    ) -> None:
        super().__init__(headers, self._checked(stream), **limits)

    def on_end(self) -> None:
        """Called at the last boundary."""
        self._ended = True

    async def _checked(self, stream: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        async for chunk in stream:
            yield chunk
        if not self._ended:
            raise MultiPartException("it breaks off, as its last boundary is missing")


async def _read_form(request: Request, limits: Settings, most: int) -> FormData:
    photos = limits.upload_bytes if most == 1 else limits.together_bytes
    stream = bounded(request, photos + limits.text_bytes)
    parser = WholeForm(request.headers, stream, max_files=most, max_part_size=limits.text_bytes)
    try:
        return await parser.parse()
    except MultiPartException as broken:
        raise ValueError(f"the form cannot be read: {broken.message}") from broken


def _images(form: FormData) -> tuple[BinaryIO, ...]:
    if not all(isinstance(image, UploadFile) for image in form.getlist("image")):
        raise ValueError("image: send it as a file, with a filename")
    sent = (file for name, file in form.multi_items() if name in FILES)
    return tuple(image.file for image in sent if isinstance(image, UploadFile))


def _form_fields(model: type[Fields], form: FormData) -> Fields:
    return read_fields(model, _fields(form), JSON_IN_FORMS)


def _fields(form: FormData) -> dict[str, Any]:
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
            fields[name] = json_of(name, value)
        else:
            fields[name] = value.split(",") if name == "box" else value
    return fields


def json_of(name: str, value: str) -> Any:
    """What the text of a field says as JSON; ValueError names the field."""
    try:
        return unique_keys.read(value)
    except unique_keys.KeyTwice as twice:
        raise ValueError(f"{name}: {twice}") from twice
    except (ValueError, RecursionError) as broken:
        raise ValueError(f"{name}: not valid JSON ({broken})") from broken
