"""OpenAPI: the service's own document, with the bodies it reads and every problem it answers."""

from __future__ import annotations

from collections import defaultdict
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app.errors import (
    KINDS,
    PROBLEM,
    UNEXPECTED,
    Problem,
    TooLarge,
    TooSlow,
    Unavailable,
    WrongMediaType,
)
from app.schemas.explain import AlignRequest, CaptionRequest, GroundRequest
from app.schemas.items import ImportLine, ImportStatus, ItemBody
from app.schemas.products import ProductSearch
from app.schemas.search import ImageSearch, TextSearch
from index.failures import Busy
from index.items import ModelMismatch, NoSpace
from models.photo_files import ImageError, ImageTooLarge, NotAnImage

REFERENCE = "#/components/schemas/{model}"
JSON, FORM = "application/json", "multipart/form-data"
JSON_IN_FORMS = (  # form fields that hold JSON
    *("boosts", "facets", "fields", "filter", "metadata", "phrases", "sort", "weights"),
)

# The models that only `body_of`, `lines_of` and `problems` refer to.
MODELS = (
    AlignRequest,
    CaptionRequest,
    GroundRequest,
    ImageSearch,
    ImportLine,
    ImportStatus,
    ItemBody,
    Problem,
    ProductSearch,
    TextSearch,
)

# What may be raised where a collection is asked for, where a body with a photo is read, and where
# items are written.
OF_COLLECTION = (LookupError, ModelMismatch, ValueError, Unavailable, Busy)
OF_UPLOAD = (TooLarge, TooSlow, WrongMediaType, ImageError, ImageTooLarge, NotAnImage, NoSpace)
OF_WRITE = (NoSpace,)

Responses = dict[int | str, dict[str, Any]]


def reference(model: type[BaseModel]) -> dict[str, str]:
    """A reference to a model's schema."""
    return {"$ref": REFERENCE.format(model=model.__name__)}


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """The body of a route that takes JSON, or a form with the same fields and an image."""
    schema = model.model_json_schema(ref_template=REFERENCE)
    schema.pop("$defs", None)
    schema["title"] += "Upload"
    schema["properties"]["image"] = {"type": "string", "format": "binary"}
    encoding = {
        name: {"contentType": JSON} for name in JSON_IN_FORMS if name in schema["properties"]
    }
    if "box" in schema["properties"]:
        encoding["box"] = {"style": "form", "explode": False}  # type: ignore[dict-item]
    content = {JSON: {"schema": reference(model)}, FORM: {"schema": schema, "encoding": encoding}}
    return {"requestBody": {"required": True, "content": content}}


def lines_of(model: type[BaseModel], *media_types: str) -> dict[str, Any]:
    """The body of a route that takes lines of JSON."""
    content = {kind: {"schema": reference(model)} for kind in media_types}
    return {"requestBody": {"required": True, "content": content}}


def problems(*errors: type[Exception]) -> Responses:
    """The responses of routes in which these exceptions, of app.errors.KINDS, may be raised."""
    titles: defaultdict[HTTPStatus, list[str]] = defaultdict(list)
    for kind in (KINDS[error] for error in errors):
        if kind.title not in titles[kind.status]:
            titles[kind.status].append(kind.title)
    return {int(status): _problem("; ".join(titles[status])) for status in sorted(titles)}


def describe(app: FastAPI) -> dict[str, Any]:
    """FastAPI's document, and the schemas that this service's own routes refer to."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, summary=app.summary, routes=app.routes
        )
        _, schemas = models_json_schema(
            [(model, "validation") for model in MODELS], ref_template=REFERENCE
        )
        document["components"]["schemas"] |= schemas["$defs"]
        for operations in document["paths"].values():
            for operation in operations.values():
                operation["responses"]["500"] = _problem(UNEXPECTED.title)
        app.openapi_schema = document
    return app.openapi_schema


def _problem(title: str) -> dict[str, Any]:
    return {"description": f"{title}.", "content": {PROBLEM: {"schema": reference(Problem)}}}
