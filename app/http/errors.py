"""Problem documents (RFC 9457): one for every kind of failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from itertools import chain
from typing import ClassVar

from asgi_correlation_id import correlation_id
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from app.engine.bounds import OutOfBounds
from app.engine.bugs import BUILT_IN, is_bug
from app.engine.descriptions import NoCaptioner, NoRegionCaptioner
from app.engine.groundings import NoGrounder
from app.imports.fetching import NotFetched
from index.backup.snapshots import InProgress
from index.catalog.pictures import PictureLost
from index.database.checksums import ItemDamaged
from index.database.errors import Busy, Damaged, StoreAway
from index.disk import is_full
from index.items import ConditionFailed, ModelMismatch, NameConflict, NoSpace
from models.vision.photo_decoding import ImageError, ImageTooLarge, NotAnImage

REQUEST_ID = "X-Request-ID"
LEFT = 499  # nginx's status of requests whose clients left


class TooLarge(ValueError):
    """A request body over its limit."""


class WrongMediaType(ValueError):
    """A request body of an unsupported media type."""


class TooSlow(HTTPException):
    """A request body came too slowly.

    FastAPI passes on only this kind of exception.
    """

    def __init__(self, detail: str) -> None:
        super().__init__(HTTPStatus.REQUEST_TIMEOUT, detail)

    def __str__(self) -> str:
        return self.detail


class NoSuchBytes(ValueError):
    """A range from after the end of a file."""

    def __init__(self, size: int) -> None:
        super().__init__(f"the file has {size:,} bytes, and Range begins behind them")
        self.headers = {"Content-Range": f"bytes */{size}"}


class NotAcceptable(ValueError):
    """The client accepts none of the route's media types."""


class Unavailable(RuntimeError):
    """The service cannot answer now, and may in a moment."""


class Unauthorized(Exception):
    """The caller has no key, or an unknown one."""

    headers: ClassVar = {"WWW-Authenticate": 'Bearer realm="Tessera"'}


class Forbidden(Exception):
    """The caller's key does not allow this."""


class TooManyRequests(Exception):
    """The caller has reached a limit; retry after `wait` seconds."""

    def __init__(self, message: str, wait: int = 1) -> None:
        super().__init__(message)
        self.headers = {"Retry-After": str(wait)}


class Problem(BaseModel):
    """The reason for a failed request (RFC 9457)."""

    type: str = Field(description="The kind of problem, as a URN: urn:tessera:problem:not-found.")
    title: str
    status: int
    detail: str = Field(description="What was wrong with this request, and what would work.")
    instance: str = Field(description="The path that was asked for.")


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """A kind of problem: its name in `type`, HTTP status and title."""

    name: str
    status: HTTPStatus
    title: str


PROBLEM = "application/problem+json"

UNEXPECTED = ProblemKind(
    "unexpected", HTTPStatus.INTERNAL_SERVER_ERROR, "Something broke in the service"
)
INVALID = ProblemKind(
    "invalid-request", HTTPStatus.UNPROCESSABLE_ENTITY, "The request is not valid"
)

# The nearest class of an exception decides.
KINDS: dict[type[Exception], ProblemKind] = {
    ValueError: INVALID,
    RequestValidationError: INVALID,
    LookupError: ProblemKind("not-found", HTTPStatus.NOT_FOUND, "There is no such thing here"),
    ImageError: ProblemKind("broken-image", HTTPStatus.UNPROCESSABLE_ENTITY, "The image is broken"),
    ImageTooLarge: ProblemKind(
        "image-too-large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The image is too large"
    ),
    NotAnImage: ProblemKind(
        "not-an-image", HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The file is not a readable image"
    ),
    TooLarge: ProblemKind(
        "body-too-large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The request body is too large"
    ),
    WrongMediaType: ProblemKind(
        "wrong-media-type", HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The body is of the wrong kind"
    ),
    TooSlow: ProblemKind(
        "body-timeout", HTTPStatus.REQUEST_TIMEOUT, "The body did not come in time"
    ),
    NotAcceptable: ProblemKind(
        "not-acceptable", HTTPStatus.NOT_ACCEPTABLE, "No answer of that kind"
    ),
    NoSuchBytes: ProblemKind(
        "no-such-bytes", HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, "There are no such bytes"
    ),
    Unauthorized: ProblemKind("unauthorized", HTTPStatus.UNAUTHORIZED, "A key is needed"),
    Forbidden: ProblemKind("forbidden", HTTPStatus.FORBIDDEN, "The key does not allow this"),
    OutOfBounds: ProblemKind("forbidden", HTTPStatus.FORBIDDEN, "The key does not allow this"),
    TooManyRequests: ProblemKind(
        "too-many-requests", HTTPStatus.TOO_MANY_REQUESTS, "The caller's limit is used up"
    ),
    ModelMismatch: ProblemKind(
        "wrong-model", HTTPStatus.CONFLICT, "Another model made the collection"
    ),
    NameConflict: ProblemKind("name-conflict", HTTPStatus.CONFLICT, "The name is taken or in use"),
    ConditionFailed: ProblemKind(
        "condition-failed", HTTPStatus.PRECONDITION_FAILED, "The item is not as it was expected"
    ),
    NotFetched: ProblemKind(
        "not-fetched", HTTPStatus.UNPROCESSABLE_ENTITY, "The address gave no photo"
    ),
    ItemDamaged: ProblemKind(
        "item-damaged", HTTPStatus.CONFLICT, "What is stored of the item is damaged"
    ),
    PictureLost: ProblemKind(
        "picture-lost", HTTPStatus.CONFLICT, "The photo's display copy is lost"
    ),
    NoSpace: ProblemKind("no-space", HTTPStatus.INSUFFICIENT_STORAGE, "The disk is full"),
    InProgress: ProblemKind("in-progress", HTTPStatus.CONFLICT, "This is already in progress"),
    NoCaptioner: ProblemKind(
        "no-captioner", HTTPStatus.SERVICE_UNAVAILABLE, "No captioner is loaded"
    ),
    NoRegionCaptioner: ProblemKind(
        "no-region-captioner", HTTPStatus.SERVICE_UNAVAILABLE, "No captioner of regions is loaded"
    ),
    NoGrounder: ProblemKind("no-grounder", HTTPStatus.SERVICE_UNAVAILABLE, "No grounder is loaded"),
    Busy: ProblemKind("database-busy", HTTPStatus.SERVICE_UNAVAILABLE, "The database is busy"),
    StoreAway: ProblemKind(
        "picture-store-away", HTTPStatus.SERVICE_UNAVAILABLE, "The picture store is away"
    ),
    Damaged: ProblemKind("damaged", HTTPStatus.INTERNAL_SERVER_ERROR, "The catalog is damaged"),
    Unavailable: ProblemKind(
        "unavailable", HTTPStatus.SERVICE_UNAVAILABLE, "Not available right now"
    ),
}


def install(app: FastAPI, headers: Mapping[str, str]) -> None:
    """Answer every failure with a problem document.

    `headers` are those that middleware adds to all other answers.
    """
    for error in KINDS:
        app.add_exception_handler(error, _answer)
    app.add_exception_handler(HTTPException, _answer_http)
    app.add_exception_handler(Exception, partial(_answer_bug, headers))
    app.add_exception_handler(OSError, _answer)  # of a full disk, such as one while spooling
    app.add_exception_handler(ClientDisconnect, _answer_left_client)


def problem(kind: ProblemKind, detail: str, instance: str, **headers: str) -> JSONResponse:
    """A problem document as a response."""
    document = Problem(
        type=f"urn:tessera:problem:{kind.name}",
        title=kind.title,
        status=kind.status,
        detail=detail,
        instance=instance,
    )
    return JSONResponse(document.model_dump(), kind.status, headers=headers, media_type=PROBLEM)


def find_kind(error: Exception) -> ProblemKind | None:
    """Find the kind of a failure; None for a bug."""
    if _is_of_full_disk(error):
        return KINDS[NoSpace]
    nearest = next((base for base in type(error).__mro__ if base in KINDS), None)
    return None if nearest is None or (nearest in BUILT_IN and is_bug(error)) else KINDS[nearest]


def _is_of_full_disk(error: Exception) -> bool:
    return isinstance(error, OSError) and not isinstance(error, NoSpace) and is_full(error)


async def _answer(request: Request, error: Exception) -> JSONResponse:
    kind = find_kind(error)
    if kind is None:
        raise error
    return problem(kind, describe_failure(error), request.url.path, **_headers(error))


def describe_failure(error: Exception) -> str:
    """Describe the mistake and a remedy."""
    if isinstance(error, RequestValidationError):  # of parameters; app.validation reads bodies
        mistakes = error.errors()
        return "; ".join(f"{mistake['loc'][-1]}: {mistake['msg']}" for mistake in mistakes)
    return "the disk is full; make room" if _is_of_full_disk(error) else str(error)


def _headers(error: Exception) -> dict[str, str]:
    """Return the headers of an answer to an error."""
    if isinstance(error, Unavailable | Busy):
        return {"Retry-After": "1"}
    return getattr(error, "headers", None) or {}


async def _answer_bug(headers: Mapping[str, str], request: Request, _: Exception) -> JSONResponse:
    # The server logs the exception; what broke is not for the client. No middleware sees this
    # answer, so the request's id and the security headers are added here.
    named = {REQUEST_ID: correlation_id.get() or "", **headers}
    return problem(UNEXPECTED, "the service failed; its log says why", request.url.path, **named)


async def _answer_left_client(_: Request, __: Exception) -> Response:
    return Response(status_code=LEFT)


async def _answer_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    status, headers = HTTPStatus(error.status_code), dict(error.headers or {})
    detail = str(error.detail)
    if status is HTTPStatus.NOT_FOUND:
        detail = "there is nothing at this address; /docs lists what there is"
    elif status is HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_list_methods(request))
        detail = f"{request.method} is not allowed at this address; it takes {headers['Allow']}"
    kind = ProblemKind(status.phrase.lower().replace(" ", "-"), status, status.phrase)
    return problem(kind, detail, request.url.path, **headers)


def _list_methods(request: Request) -> list[str]:
    """List the methods of a request's path; HEAD comes with GET."""
    root = request.scope.get("root_path", "")
    scope = dict(request.scope, root_path=request.scope.get("app_root_path", root))
    at_path = [
        route.methods or ()
        for route in iter_route_contexts(request.app.routes)
        if route.matches(scope)[0] is not Match.NONE
    ]
    methods = set(chain.from_iterable(at_path)) or {"GET"}  # without any: a file of a folder
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)
