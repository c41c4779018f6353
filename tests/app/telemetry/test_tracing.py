from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.outside.serving import QuietHandler, serve

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SERVE = f"""
import sys
from pathlib import Path
from starlette.testclient import TestClient
from app.engine.bounds import Bounds
from app.engine.engine import Engine
from app.engine.inference import Models
from app.main import create_app
from app.settings import Settings
from index.catalog.catalog import Catalog
from models.checkpoint import Checkpoint
from tests.colours import Colours

folder = Path(sys.argv[1])
models = Models(Checkpoint("matchers", "colours", Colours(), "c0104a5000000000", {{}}))
engine = Engine(models, Catalog.in_folder(folder), folder)
app = create_app(Settings(data=folder), engine)
Bounds.collections = lambda _: 1 / 0
with TestClient(app, raise_server_exceptions=False, base_url="http://localhost") as client:
    headers = {{"traceparent": "00-{TRACE}-{CALLER}-01", "x-request-id": "proxy-17"}}
    body = {{"text": "a crimson kite", "collection": "default"}}
    assert client.get("/nowhere?secret").status_code == 404
    assert client.get("/items?cursor=secret").status_code == 422
    assert client.get("/collections").status_code == 500
    assert client.post("/search/image", json=body, headers=headers).status_code == 200
"""


@pytest.fixture
def collector() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """The address of an OTLP receiver, and its messages."""
    came = list[ExportTraceServiceRequest]()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            came.append(ExportTraceServiceRequest.FromString(gunzip(self.headers, body)))
            self.send_response(200)
            self.end_headers()

    with serve(Handler) as address:
        yield address, came


def gunzip(headers, body: bytes) -> bytes:
    return gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body


@pytest.mark.system
def test_requests_and_their_stages_are_sent_as_spans(collector, tmp_path):
    address, came = collector
    standard = {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_SERVICE_NAME": "photos"}
    environment = os.environ | standard | {"PYTHONPATH": "."}
    command = [sys.executable, "-c", SERVE, str(tmp_path)]
    subprocess.run(command, env=environment, check=True)  # noqa: S603 - our own command
    resources = [resource for request in came for resource in request.resource_spans]
    names = {
        attribute.value.string_value
        for resource in resources
        for attribute in resource.resource.attributes
        if attribute.key == "service.name"
    }
    scopes = [scope for resource in resources for scope in resource.scope_spans]
    spans = {span.name: span for scope in scopes for span in scope.spans}
    assert names == {"photos"}
    assert set(spans) >= {"POST /search/image", "embed_text", "search"}
    request = spans["POST /search/image"]
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == (TRACE, CALLER)
    assert {spans[name].trace_id for name in ("embed_text", "search")} == {request.trace_id}
    said = {one.key: one.value.string_value for one in request.attributes}
    assert said["tessera.request_id"] == "proxy-17"
    assert said["tessera.collection"] == "default"
    assert said["http.route"] == "/search/image"
    sent = json.dumps([str(one) for one in came])
    assert "crimson" not in sent
    assert "secret" not in sent
