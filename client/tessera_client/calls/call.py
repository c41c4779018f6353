"""A call: a request to the service and the reader of its response."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

import httpx2
from pydantic import BaseModel

from tessera_client.json_values import check_text, convert

Answer = TypeVar("Answer")
AnswerModel = TypeVar("AnswerModel", bound=BaseModel)
Filter = Mapping[str, Any]
Box = Sequence[float]  # left, top, right, bottom, in fractions of the photo
Picture = Literal["png", "svg"]


class Incomplete(ValueError):
    """An answer lacks a part."""


@dataclass(frozen=True, slots=True)
class Call(Generic[Answer]):
    """A request and the reader of its response; the client adds its collection."""

    method: str
    path: str
    read: Callable[[httpx2.Response], Answer]
    fields: Mapping[str, Any] | None = None  # of a JSON body or a form
    image: bytes | None = None
    images: tuple[bytes, ...] = ()  # behind the first one
    query: Mapping[str, Any] = field(default_factory=dict)
    document: Mapping[str, Any] | None = None  # a JSON body that names no collection
    lines: bytes | None = None
    accept: str = "application/json"
    match: str | None = None  # the ETag of what alone may be changed
    of_collection: bool = True

    def arguments(self, collection: str) -> dict[str, Any]:
        """Return the arguments of httpx2's `request`, after method and address.

        TypeError or ValueError for fields that are no JSON.
        """
        query = convert(_drop_none(self.query))
        sent: dict[str, Any] = {"headers": {"Accept": self.accept}, "params": query}
        if self.match is not None:
            sent["headers"]["If-Match"] = self.match
        if self.fields is None and self.of_collection:
            query["collection"] = collection
        if self.lines is not None:
            sent |= {"content": self.lines}
            sent["headers"]["Content-Type"] = "application/x-ndjson"
        elif self.document is not None:
            sent |= {"json": convert(self.document)}
        elif self.fields is not None:
            fields = convert(_drop_none(self.fields) | {"collection": collection})
            photos = self.images if self.image is None else (self.image, *self.images)
            sent |= _form(fields, photos) if photos else {"json": fields}
        return sent


def _drop_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _form(fields: Mapping[str, Any], images: Sequence[bytes]) -> dict[str, Any]:
    """Make a form of fields and images."""
    data: dict[str, Any] = {}
    for name, value in fields.items():
        if name == "box":
            data[name] = ",".join(map(str, value))
        elif name == "sentences":
            data[name] = value
        else:
            data[name] = value if isinstance(value, str) else json.dumps(value)
    return {"data": data, "files": [("image", ("image", image)) for image in images]}


def path_of(kind: str, name: str, part: str = "") -> str:
    """Return the path of a name or its part, with encoded slashes.

    ValueError for a name without an address of its own.
    """
    if not isinstance(name, str) or name in ("", ".", ".."):
        raise ValueError(f"{name!r} has no address of its own: only other names can be asked for")
    check_text(name, f"a name of {kind}")
    return f"/{kind}/{quote(name, safe='')}" + (f"/{part}" if part else "")


def model_of(model: type[AnswerModel]) -> Callable[[httpx2.Response], AnswerModel]:
    """A reader of a JSON body as a model."""
    return lambda response: model.model_validate_json(response.content)


def content_of(response: httpx2.Response) -> bytes:
    """A body as it is."""
    return response.content
