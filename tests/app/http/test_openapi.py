"""The OpenAPI document declares all answers to all requests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import SecretStr

from app.engine.drafts import Draft
from app.engine.engine import Engine
from app.main import create_app
from app.settings import Settings
from tests.stored_items import put

# A text without words and the id of nothing fit the schema and are refused all the same.
EXCLUDED = ["positive_data_acceptance"]
KEY = "k" * 32
WAIT = 60.0  # seconds for an answer: machines are shared
DOCUMENT = create_app(Settings()).openapi()
OPERATIONS = [
    (method, path) for path, operations in DOCUMENT["paths"].items() for method in operations
]


@pytest.fixture
def app(engine: Engine, settings: Settings, png: Callable[..., bytes]) -> FastAPI:
    photo = png("red")
    put(engine, "default", [Draft("a", {"colour": "red"}, sentences=("red",)).with_photo(photo)])
    made = create_app(settings.model_copy(update={"admin_key": SecretStr(KEY)}), engine)
    made.openapi_schema = deepcopy(DOCUMENT)  # to make it takes longer than to use it
    return made


@pytest.fixture(scope="module")
def checked() -> list[Any]:
    """Checks of each answer; schemathesis takes a second to import."""
    import schemathesis
    from schemathesis.checks import CHECKS, load_all_checks

    @schemathesis.serializer("application/x-ndjson", "application/jsonl")
    def lines(_: object, value: object) -> bytes:
        return json.dumps(value).encode() + b"\n"

    load_all_checks()
    return [check for name, check in CHECKS._items.items() if name not in EXCLUDED]


def send(app: FastAPI, method: str, path: str, checked: list[Any], requests: int) -> None:
    """Send generated requests to an operation, and check its answers."""
    import schemathesis
    from schemathesis.python import asgi

    operation = schemathesis.openapi.from_asgi("/openapi.json", app)[path][method]
    unhurried = list(HealthCheck)

    @settings(max_examples=requests, derandomize=True, suppress_health_check=unhurried)
    @given(case=operation.as_strategy())
    def answer(case: Any) -> None:
        headers = {"Authorization": f"Bearer {KEY}"}
        case.call_and_validate(checks=checked, headers=headers, timeout=WAIT)

    try:
        answer()
    finally:
        asgi.shutdown_lifespans()  # else it serves until the process ends


@pytest.mark.system
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_answer_is_declared(app: FastAPI, method: str, path: str, checked: list[Any]) -> None:
    send(app, method, path, checked, requests=8)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_answer_to_many_requests_is_declared(
    app: FastAPI, method: str, path: str, checked: list[Any]
) -> None:
    send(app, method, path, checked, requests=100)


@pytest.mark.system
def test_an_answer_that_is_not_declared_is_found(app: FastAPI, checked: list[Any]) -> None:
    document = app.openapi()
    del document["paths"]["/search/image"]["post"]["responses"]["422"]
    with pytest.raises(BaseExceptionGroup, match="Undocumented status code"):
        send(app, "post", "/search/image", checked, requests=8)


def test_every_reference_leads_to_a_schema() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    named = set(re.findall(r"#/components/schemas/([A-Za-z_]+)", json.dumps(DOCUMENT)))
    assert named <= set(schemas)
    assert {"Problem", "ImageSearch", "ImportStatus"} <= named
    assert "HTTPValidationError" not in schemas


def test_a_body_that_does_not_come_in_time_is_declared_wherever_one_is_read() -> None:
    bodies = [
        (method, path) for method, path in OPERATIONS if "requestBody" in declared(method, path)
    ]
    assert [read for read in bodies if "408" not in declared(*read)["responses"]] == [
        ("post", "/items")  # whose status was sent by then; the last line says so
    ]
    assert "507" in declared("post", "/items")["responses"]  # a new collection on a full disk


def test_what_is_no_json_is_not_declared_as_json() -> None:
    kinds = {
        "/items/{id}/image": ["image/jpeg", "image/webp"],
        "/snapshots/{name}": ["application/x-tar"],
        "/metrics": [CONTENT_TYPE_LATEST],
    }
    for path, declared_kinds in kinds.items():
        assert list(declared("get", path)["responses"]["200"]["content"]) == declared_kinds


def declared(method: str, path: str) -> dict[str, Any]:
    operation: dict[str, Any] = DOCUMENT["paths"][path][method]
    return operation
