"""The page, its example queries, and the reference at /docs."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter, FastAPI
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from app import demos
from app.access.door import EngineDep, require_role
from app.http.openapi import OF_COLLECTION, problems
from app.routes.dependencies import DEFAULT, CollectionDep
from app.schemas.system import ExampleOut, ExamplesOut

PAGE = Path(__file__).parent.parent / "page"
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


def serve(app: FastAPI) -> None:
    """Add a route for every file of the page.

    A mount at / would hide all other addresses.
    """
    files = GZipMiddleware(StaticFiles(directory=PAGE, html=True))
    app.router.routes += [
        Route("/", files),
        Route("/docs", _reference),
        Mount("/docs/viewer", StaticFiles(directory=_viewer())),
        *(Route(f"/{file.name}", files) for file in sorted(PAGE.iterdir())),
    ]


async def _reference(_: Request) -> FileResponse:
    return FileResponse(PAGE / "docs.html")


def _viewer() -> Path:
    """Find the folder of Swagger UI's files in the package fastapi-offline."""
    package = find_spec("fastapi_offline")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent / "static"
