"""The web application: routes, middleware, and the loading of the engine."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

from anyio import CapacityLimiter
from fastapi import APIRouter, FastAPI
from fastapi.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute

from app import __version__, memory
from app.access.door import Door
from app.agents import endpoint
from app.engine.engine import Engine
from app.http import errors
from app.http.addresses import RootPathMiddleware
from app.http.errors import REQUEST_ID
from app.http.lanes import Lanes
from app.http.middleware import (
    AllowedHostsMiddleware,
    HeadMiddleware,
    RawPathMiddleware,
    RequestHeadersMiddleware,
    SameOriginMiddleware,
    SecurityHeadersMiddleware,
    list_allowed_hosts,
    list_security_headers,
)
from app.http.observation import observe
from app.http.openapi import describe
from app.http.proxies import ProxyMiddleware
from app.http.readiness import Readiness
from app.http.timeouts import TimeoutMiddleware
from app.imports.fetching import choose_fetch
from app.imports.photo_decoders import Decoders
from app.routes import (
    bulk,
    collections,
    curation,
    duplicates,
    edits,
    events,
    explain,
    items,
    originals,
    page,
    products,
    regions,
    search,
    session,
    snapshots,
    system,
    webhooks,
)
from app.settings import Settings
from app.settings_names import check_names, list_warnings
from app.telemetry.audit import AuditLog
from app.telemetry.events import EventLog
from app.webhooks.deliverer import Deliverer
from app.webhooks.posting import Poster

# What scripts of other origins may read of an answer, besides what all may.
READABLE = ("ETag", "Location", "Retry-After", "Content-Range", REQUEST_ID)
STREAMS = frozenset({("POST", "/items")})  # whose bodies may go on for hours

logger = logging.getLogger("tessera")


def create_app(
    settings: Settings | None = None,
    engine: Engine | None = None,
    door: Door | None = None,
    *,
    load_first: bool = False,
) -> FastAPI:
    """Make the application; without an engine it loads one in the background.

    With `load_first` it loads the engine before it takes requests.

    Without a door, the settings say who is let in: ValueError if they let in too many. ValueError
    for a misspelt name of a setting in the environment.
    """
    settings = settings or Settings()
    check_names(Settings.model_fields)
    for warning in list_warnings(Settings.model_fields):
        logger.warning("%s", warning)
    app = FastAPI(
        title="Tessera",
        summary="Image-text search that shows which word matched which part of the photo.",
        version=__version__,
        lifespan=_lifespan,
        docs_url=None,
        redoc_url=None,
        # Spans go where the standard variables of OpenTelemetry say, if they say so.
        telemetry={"auto_configure": True, "metrics": False, "logs": False},
    )
    app.state.settings, app.state.engine, app.state.failure = settings, engine, None
    app.state.load_first = load_first
    app.state.door = door or Door.of(settings)
    app.state.fetch = choose_fetch(settings)
    # Threads of their own: readiness and metrics never wait for others.
    app.state.readiness, app.state.scrapes = Readiness(settings.ready_seconds), CapacityLimiter(1)
    app.state.lanes, app.state.decoders = Lanes.of(settings), Decoders.of(settings)
    app.state.events = EventLog(settings.events_folder)
    app.state.deliverer = Deliverer(lambda: app.state.engine, Poster.of(settings))
    app.router.routes += _list_routes()
    page.serve(app)
    errors.install(app, list_security_headers(settings))
    app.openapi = lambda: describe(app, settings.root_path)  # type: ignore[method-assign]  # FastAPI's own way
    _add_middleware(app, settings)
    observe(app, queries=settings.log_queries, audit=AuditLog(settings.audit))
    app.add_middleware(ProxyMiddleware, trusted=settings.trusted_proxies)
    return app


@cache
def _list_routes() -> list[BaseRoute]:
    """List all modules' routes for all applications.

    To prepare them for one takes 0.2 s.
    """
    # Generated clients call a function by its route's name.
    shared = APIRouter(generate_unique_id_function=lambda route: route.name)
    answering = (search, regions, products, explain, events)
    stored = (items, originals, duplicates, edits, bulk, collections, curation, webhooks, snapshots)
    for module in (*answering, *stored, system, session, page, endpoint):
        shared.include_router(module.router)
    return shared.routes


def _add_middleware(app: FastAPI, settings: Settings) -> None:
    """Add the middleware; requests pass the last one first."""
    if settings.cors_origins:
        origins = list(settings.cors_origins)
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=READABLE,
        )
    app.add_middleware(HeadMiddleware)
    app.add_middleware(RawPathMiddleware)
    app.add_middleware(TimeoutMiddleware, settings=settings, streams=STREAMS)
    app.add_middleware(SameOriginMiddleware, trusted=settings.cors_origins)
    app.add_middleware(AllowedHostsMiddleware, allowed=list_allowed_hosts(settings))
    app.add_middleware(RequestHeadersMiddleware)
    app.add_middleware(SecurityHeadersMiddleware, headers=list_security_headers(settings))
    app.add_middleware(RootPathMiddleware, root=settings.root_path)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    loading = asyncio.create_task(_load(app)) if app.state.engine is None else None
    if loading is not None and app.state.load_first:
        await asyncio.wait([loading])
    if app.state.settings.webhooks != "none":
        app.state.deliverer.start()
    yield
    await asyncio.to_thread(app.state.deliverer.close)
    app.state.lanes.close()
    app.state.readiness.close()
    app.state.decoders.close()
    if loading is not None:
        await loading
        if app.state.engine is not None:
            await asyncio.to_thread(app.state.engine.close)
        gc.unfreeze()


async def _load(app: FastAPI) -> None:
    try:
        app.state.engine = await asyncio.to_thread(_serving, app.state.settings)
        await asyncio.to_thread(warm_up, app.state.engine)
    except (ValueError, LookupError, OSError) as failure:
        app.state.failure = str(failure)
        logger.error("the service cannot be started: %s", failure)


def _serving(settings: Settings) -> Engine:
    engine = Engine.load(settings)
    engine.serve()
    return engine


def warm_up(engine: Engine) -> None:
    """Load the rest, while searches are answered already."""
    engine.models.warm_up()
    # What is loaded now stays: to look through it for garbage would stop searches for 0.3 s.
    gc.freeze()
    memory.collect_seldom()
