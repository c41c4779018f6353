"""The web application: routes, middleware, and the model that is loaded while it starts."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import anyio.to_thread
import torch
import uvicorn
from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from prometheus_client import CollectorRegistry
from uvicorn.supervisors import Multiprocess

from app import __version__, errors
from app.engine import Engine
from app.gate import WRITES, Gate
from app.metrics import Metrics
from app.middleware import RawItemPaths, SecurityHeaders
from app.openapi import describe
from app.routes import bulk, explain, items, page, search, system
from app.settings import Settings

SPARE_THREADS = 8  # for requests that do not compute
STARTING = 120  # seconds that a worker may take to import everything, before it is replaced

logger = logging.getLogger("tessera")


def create_app(settings: Settings | None = None, engine: Engine | None = None) -> FastAPI:
    """The application; without an engine it answers at once and loads one in the background."""
    settings = settings or Settings()
    app = FastAPI(
        title="Tessera",
        summary="Image-text search that shows which word matched which part of the photo.",
        version=__version__,
        lifespan=_lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.settings, app.state.engine, app.state.failure = settings, engine, None
    app.state.gate = Gate(settings.running, settings.waiting)
    app.state.registry = CollectorRegistry()
    for module in (search, explain, items, bulk, system, page):
        app.include_router(module.router)
    page.serve(app)
    errors.install(app)
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]  # FastAPI's own way
    if settings.cors_origins:
        origins = list(settings.cors_origins)
        app.add_middleware(
            CORSMiddleware, allow_origins=origins, allow_methods=["*"], allow_headers=["*"]
        )
    app.add_middleware(RawItemPaths)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(Metrics, registry=app.state.registry)
    return app


def serve_by_workers(settings: Settings) -> None:
    """Serve by several processes, each with an engine of its own, until told to stop."""
    config = uvicorn.Config(
        partial(create_app, settings),
        factory=True,
        host=settings.host,
        port=settings.port,
        access_log=False,
        workers=settings.workers,
        timeout_worker_healthcheck=STARTING,
    )
    # What uvicorn.run does itself, which takes only the name of an application.
    Multiprocess(config, sockets=[config.bind_socket()]).run()


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings: Settings = app.state.settings
    if settings.threads:
        torch.set_num_threads(settings.threads)
    # Waiting for a turn takes a thread each; /readyz and photos need some beside these.
    anyio.to_thread.current_default_thread_limiter().total_tokens = (
        settings.running + settings.waiting + WRITES + SPARE_THREADS
    )
    loading = asyncio.create_task(_load(app)) if app.state.engine is None else None
    yield
    if loading is not None:
        await loading
        if app.state.engine is not None:
            await asyncio.to_thread(app.state.engine.close)
        gc.unfreeze()


async def _load(app: FastAPI) -> None:
    try:
        app.state.engine = await asyncio.to_thread(_serving, app.state.settings)
    except (ValueError, LookupError, OSError) as failure:
        app.state.failure = str(failure)
        logger.error("the service cannot be started: %s", failure)


def _serving(settings: Settings) -> Engine:
    engine = Engine.load(settings)
    engine.serve()
    # What is loaded now stays: to look through it for garbage would stop searches for 0.3 s.
    gc.collect()
    gc.freeze()
    return engine
