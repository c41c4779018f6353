"""OpenAPI: the service's document, with bodies and problems."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app.http.errors import (
    KINDS,
    PROBLEM,
    UNEXPECTED,
    Forbidden,
    Problem,
    TooLarge,
    TooManyRequests,
    TooSlow,
    Unauthorized,
    Unavailable,
    WrongMediaType,
)
from app.http.middleware import CROSS_SITE, TWO_LENGTHS, UNKNOWN_HOST
from app.schemas.collections import AliasTarget, Renaming
from app.schemas.curation import LanguageIn, PinsIn, SynonymsIn
from app.schemas.events import ClickIn
from app.schemas.explain import AlignRequest, CaptionRequest, GroundRequest
from app.schemas.fields import RequestBody
from app.schemas.items import (
    Deletion,
    ImportLine,
    ImportStatus,
    ItemBody,
    ItemPatch,
    Restoration,
)
from app.schemas.products import ProductSearch
from app.schemas.regions import RegionSearch
from app.schemas.search import ImageSearch, TextSearch
from app.schemas.session import SessionIn
from app.schemas.system import AuditRequest
from app.schemas.webhooks import WebhookIn
from index.database.errors import Busy
from index.items import ModelMismatch, NoSpace
from models.vision.photo_decoding import ImageError, ImageTooLarge, NotAnImage

REFERENCE = "#/components/schemas/{model}"
JSON, FORM = "application/json", "multipart/form-data"
JSON_IN_FORMS = (  # form fields that hold JSON
    *("boosts", "facets", "fields", "filter", "metadata", "phrases", "sort", "weights"),
)

# The models that only `body_of`, `lines_of` and `problems` refer to.
MODELS = (
    AliasTarget,
    AlignRequest,
    AuditRequest,
    CaptionRequest,
    ClickIn,
    Deletion,
    GroundRequest,
    ImageSearch,
    ImportLine,
    ImportStatus,
    ItemBody,
    ItemPatch,
    LanguageIn,
    PinsIn,
    Problem,
    ProductSearch,
    RegionSearch,
    Renaming,
    Restoration,
    SessionIn,
    SynonymsIn,
    TextSearch,
    WebhookIn,
)

# What may be raised where a collection is asked for, where a body is read, where one with a photo
# is, where items are written, and where a role is needed: there parameters are checked, too.
OF_COLLECTION = (LookupError, ModelMismatch, ValueError, Unavailable, Busy)
OF_BODY = (TooLarge, TooSlow, WrongMediaType)
OF_UPLOAD = (*OF_BODY, ImageError, ImageTooLarge, NotAnImage, NoSpace)
OF_WRITE = (NoSpace,)
OF_ROLE = (Unauthorized, Forbidden, TooManyRequests, Unavailable, ValueError)

REQUEST_ID = {
    "name": "X-Request-ID",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "Names the request in the logs; sent back. One is made where none is sent.",
}

Responses = dict[int | str, dict[str, Any]]
ATTACHED = "request_body"  # the attribute of a dependency that reads a body


def reference(model: type[BaseModel]) -> dict[str, str]:
    """A reference to a model's schema."""
    return {"$ref": REFERENCE.format(model=model.__name__)}


def body_of(model: type[RequestBody]) -> dict[str, Any]:
    """Return the OpenAPI body of JSON, or a form with images."""
    schema = model.model_json_schema(ref_template=REFERENCE)
    schema.pop("$defs", None)
    schema["title"] += "Upload"
    image: dict[str, Any] = {"type": "string", "format": "binary"}
    several = model.most_photos > 1
    schema["properties"]["image"] = {"type": "array", "items": image} if several else image
    encoding = {
        name: {"contentType": JSON} for name in JSON_IN_FORMS if name in schema["properties"]
    }
    if "box" in schema["properties"]:
        encoding["box"] = {"style": "form", "explode": False}  # type: ignore[dict-item]
    content = {JSON: {"schema": reference(model)}, FORM: {"schema": schema, "encoding": encoding}}
    return {"requestBody": {"required": True, "content": content}}


def lines_of(model: type[BaseModel], *media_types: str) -> dict[str, Any]:
    """Return the OpenAPI body of lines of JSON."""
    content = {kind: {"schema": reference(model)} for kind in media_types}
    return {"requestBody": {"required": True, "content": content}}


def attach_body(read: Callable[..., Any], body: dict[str, Any]) -> None:
    """Attach its body to a dependency, for the document of a `BodyRoute`."""
    vars(read)[ATTACHED] = body


class BodyRoute(APIRoute):
    """A route with the body of a dependency in its document."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        for dependency in self.dependant.dependencies:
            self.openapi_extra = getattr(dependency.call, ATTACHED, self.openapi_extra)


def list_body_fields(route: APIRoute) -> list[str]:
    """List the fields of a route's JSON body."""
    content = (route.openapi_extra or {}).get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema")
    bodies = [model for model in MODELS if reference(model) == schema]
    return [name for model in bodies for name in model.model_fields]


def problems(*errors: type[Exception]) -> Responses:
    """Return the responses for exceptions of `errors.KINDS`."""
    titles: defaultdict[HTTPStatus, list[str]] = defaultdict(list)
    for kind in (KINDS[error] for error in errors):
        if kind.title not in titles[kind.status]:
            titles[kind.status].append(kind.title)
    return {int(status): _problem("; ".join(titles[status])) for status in sorted(titles)}


def describe(app: FastAPI, root: str = "") -> dict[str, Any]:
    """Complete FastAPI's document with the schemas of bodies and problems."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, summary=app.summary, routes=app.routes
        )
        _, schemas = models_json_schema(
            [(model, "validation") for model in MODELS], ref_template=REFERENCE
        )
        if root:
            document["servers"] = [{"url": root}]
        document["components"]["schemas"] |= schemas["$defs"]
        for operations in document["paths"].values():
            for method, operation in operations.items():
                changes = method not in ("get", "head", "options")
                keys = operation.get("security", [])
                closed = any(roles for key in keys for roles in key.values())
                if keys and not closed:
                    keys.append({})  # a key is welcome, and not needed
                general = _general(changes=changes, closed=closed)
                operation.setdefault("parameters", []).append(REQUEST_ID)
                operation["responses"] = general | operation["responses"]
        app.openapi_schema = document
    return app.openapi_schema


def _general(*, changes: bool, closed: bool) -> dict[str, Any]:
    """Return the responses of every route, by changes and roles."""
    declared = {
        HTTPStatus.INTERNAL_SERVER_ERROR: UNEXPECTED.title,
        HTTPStatus.BAD_REQUEST: f"{UNKNOWN_HOST.title}; {TWO_LENGTHS.title.lower()}",
    }
    if changes:
        declared[HTTPStatus.FORBIDDEN] = CROSS_SITE.title
    general = {str(int(status)): _problem(title) for status, title in declared.items()}
    if closed:
        general |= {str(status): answer for status, answer in problems(*OF_ROLE).items()}
    return general


def _problem(title: str) -> dict[str, Any]:
    return {"description": f"{title}.", "content": {PROBLEM: {"schema": reference(Problem)}}}
