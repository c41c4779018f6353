"""How a request's body becomes checked fields and a photo, within limits held while reading."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fastapi import Request
from pydantic import BaseModel
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from app.errors import TooLarge, WrongMediaType
from app.openapi import FORM, JSON
from app.settings import Settings
from models import images
from models.images import Photo

Fields = TypeVar("Fields", bound=BaseModel)

JSON_IN_FORMS = ("filter", "metadata", "phrases")  # form fields that hold JSON


@dataclass(frozen=True, slots=True)
class Upload(Generic[Fields]):
    """A request's fields, and the bytes of its `image` if it brought one."""

    fields: Fields
    image: bytes | None
    limits: Settings

    def photo(self) -> Photo | None:
        """Decode the image as it would be stored, on the calling thread."""
        if self.image is None:
            return None
        limits = self.limits.photo_limits
        photo = images.decode(self.image, longest=images.DISPLAY_SIDE, **limits)
        return Photo(images.display_copy(photo).pixels, photo.notes)


def reads(model: type[Fields]) -> Callable[[Request], Awaitable[Upload[Fields]]]:
    """A dependency that reads a JSON body, or a form with the same fields and an image."""

    async def read(request: Request) -> Upload[Fields]:
        limits: Settings = request.app.state.settings
        kind = media_type(request)
        if kind == JSON:
            data = b"".join([chunk async for chunk in bounded(request, limits.text_bytes)])
            return Upload(model.model_validate_json(data), None, limits)
        if kind != FORM:
            raise WrongMediaType(
                f"the body is {kind or 'of no stated type'}; send {JSON} or {FORM}"
            )
        fields, image = await _read_form(request, limits)
        return Upload(model.model_validate(fields), image, limits)

    return read


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


async def _read_form(request: Request, limits: Settings) -> tuple[dict[str, Any], bytes | None]:
    stream = bounded(request, limits.upload_bytes + limits.text_bytes)
    parser = MultiPartParser(request.headers, stream, max_files=1, max_part_size=limits.text_bytes)
    try:
        form = await parser.parse()
    except MultiPartException as broken:
        raise ValueError(f"the form cannot be read: {broken.message}") from broken
    try:
        image = form.get("image")
        if image is not None and not isinstance(image, UploadFile):
            raise ValueError("image: send it as a file, with a filename")
        return _fields(form), await image.read() if image else None
    finally:
        await form.close()


def _fields(form: FormData) -> dict[str, Any]:
    """A form's text fields as JSON would have them."""
    fields: dict[str, Any] = {}
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            if name != "image":
                raise ValueError(f"the file must be in the field image, not in {name!r:.50}")
        elif name == "sentences":
            fields.setdefault(name, []).append(value)
        elif name in fields:
            raise ValueError(f"the field {name!r:.50} is there twice")
        elif name in JSON_IN_FORMS:
            fields[name] = _json(name, value)
        else:
            fields[name] = value.split(",") if name == "box" else value
    return fields


def _json(name: str, value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as broken:
        raise ValueError(f"{name}: not valid JSON ({broken})") from broken
