"""Where the page and the reference at /docs come from: files of this package, no other host."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

PAGE = Path(__file__).parent.parent / "page"


def serve(app: FastAPI) -> None:
    """Add a route for every file of the page; a mount at / would swallow all other addresses."""
    files = StaticFiles(directory=PAGE)
    app.router.routes += [
        Route("/", _start),
        Route("/docs", _reference),
        Mount("/docs/viewer", StaticFiles(directory=_viewer())),
        *(Route(f"/{file.name}", files) for file in sorted(PAGE.iterdir())),
    ]


async def _start(_: Request) -> FileResponse:
    return FileResponse(PAGE / "index.html")


async def _reference(_: Request) -> FileResponse:
    return FileResponse(PAGE / "docs.html")


def _viewer() -> Path:
    """The folder of Swagger UI's files, which the package fastapi-offline carries."""
    package = find_spec("fastapi_offline")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent / "static"
