"""The page, its example queries, and the reference at /docs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from app import demos
from app.access.door import EngineDep, require_role
from app.http.openapi import OF_COLLECTION, problems
from app.routes.dependencies import DEFAULT, CollectionDep
from app.schemas.system import ExampleOut, ExamplesOut

PAGE = Path(__file__).parent.parent / "page"
VIEWER = PAGE.parent / "swagger_ui"  # copied from the npm package swagger-ui-dist
router = APIRouter(tags=["page"])


@router.get("/examples", dependencies=[require_role("read")], responses=problems(*OF_COLLECTION))
def examples(engine: EngineDep, collection: CollectionDep = DEFAULT) -> ExamplesOut:
    """Example queries with their demonstration item in a collection."""
    queries = [(demo, query) for demo in demos.ALL.values() for query in demo.examples()]
    ids = [query.id for _, query in queries]
    items = engine.read(collection, engine.catalog.get_many, ids)
    return ExamplesOut(
        queries=[
            ExampleOut(text=query.text, id=query.id)
            for demo, query in queries
            if query.id in items and items[query.id].metadata.get("sample") == demo.name
        ]
    )


class CheckedFiles(StaticFiles):
    """Files that browsers keep, and ask for changes of each time."""

    def file_response(self, *arguments: Any, **named: Any) -> Response:
        """Send a file, or that it is the same; an upgrade changes several together."""
        response = super().file_response(*arguments, **named)
        response.headers["Cache-Control"] = "no-cache"
        return response


class PageFiles:
    """The page's files, compressed, for GET and HEAD alike; with `html` the page for `/`."""

    def __init__(self, *, html: bool) -> None:
        self._files = GZipMiddleware(CheckedFiles(directory=PAGE, html=html))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a file; one that is only named for HEAD would be named as not compressed."""
        await self._files({**scope, "extensions": {}}, receive, send)


def serve(app: FastAPI) -> None:
    """Add the page, its files, and the reference of the API."""
    app.router.routes += [
        Route("/", PageFiles(html=True)),
        Mount("/page", PageFiles(html=False)),
        Route("/docs", _reference),
        Mount("/docs/viewer", StaticFiles(directory=VIEWER)),
    ]


async def _reference(_: Request) -> FileResponse:
    return FileResponse(PAGE / "docs.html", headers={"Cache-Control": "no-cache"})
