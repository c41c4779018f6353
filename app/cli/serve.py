"""The command `serve`: search, its page and its API over HTTP."""

from __future__ import annotations

import gc
import logging
import logging.config
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app import torch_import
from app.cli import chosen_model
from app.cli.listening import bind_socket, check_certificate, fit_connections, listen
from app.cli.options import (
    Adopt,
    Data,
    OnCluster,
    check_audit,
    check_paths,
    plain_errors,
    settings_for,
)
from app.cli.photo_follower import PhotoFollower, follow_photos
from app.defaults import DEFAULT_COLLECTION

if TYPE_CHECKING:
    from app.access.keyring import Keyring
    from app.demos import Demo
    from app.engine.engine import Engine
    from app.imports.sources import ImportOutcome, ItemSource
    from app.settings import Settings


STARTING = 120  # seconds that a worker may take to import everything, before it is replaced

logger = logging.getLogger("tessera")

Host = Annotated[str | None, typer.Option(help="Address.", show_default="127.0.0.1")]
Port = Annotated[int | None, typer.Option(help="Port.", show_default="8000")]
Photos = Annotated[
    list[str] | None,
    typer.Option(help="A folder of photos to index, and to follow its changes."),
]
Rescan = Annotated[
    float, typer.Option(min=0.01, help="Minutes until photos are looked at without a change.")
]
WithSample = Annotated[
    bool | None,
    typer.Option(
        "--sample/--no-sample",
        help="Sample photos, if there are none.",
        show_default="sample; none with --photos, keys, a sign-in or TESSERA_DATABASE",
    ),
]
DemoName = Annotated[
    str | None, typer.Option("--demo", help="A demonstration instead of the sample: products.")
]
Open = Annotated[
    bool, typer.Option("--open", help="Let everyone who reaches the address do everything.")
]
Certificate = Annotated[
    Path | None, typer.Option(help="Certificate chain, as PEM, to serve HTTPS with.")
]
CertificateKey = Annotated[
    Path | None, typer.Option(help="Key of the certificate.", show_default="in its file")
]
Model = Annotated[
    str | None,
    typer.Option(
        help="A pretrained encoder: a hub's OWNER/NAME, also @REVISION, a folder of weights, or "
        "`shipped`. It is adopted, remembered, and the collections move to it."
    ),
]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes that serve.", show_default="1")]


def serve(
    host: Host = None,
    port: Port = None,
    data: Data = None,
    model: Model = None,
    photos: Photos = None,
    rescan: Rescan = 60,
    with_sample: WithSample = None,
    demo: DemoName = None,
    open_: Open = False,
    ssl_certfile: Certificate = None,
    ssl_keyfile: CertificateKey = None,
    workers: Workers = None,
    cluster: OnCluster = None,
    adopt_pictures: Adopt = False,
) -> None:
    """Serve search, its page and its API over HTTP.

    Examples: `tessera serve`, then open http://127.0.0.1:8000

    `tessera serve --photos ~/Pictures --port 9000`

    `tessera serve --demo products`

    `tessera serve --model google/siglip2-base-patch16-224`; `tessera models --recommended` lists
    more.

    `tessera serve --cluster HOST:6379` searches on a Ray cluster, see docs/use/cluster.md.

    At another address than this machine's own, it needs keys (`tessera keys add`) or `--open`.
    """
    settings = settings_for(
        data=data,
        host=host,
        port=port,
        workers=workers,
        cluster=cluster,
        open=open_ or None,
        ssl_certfile=ssl_certfile,
        ssl_keyfile=ssl_keyfile,
    )
    check_paths(photos or ())
    with plain_errors():
        from app.access.keyring import Keyring, check_lock
        from app.access.user_checks import check_users

        check_users(settings)
        check_lock(settings, keyring := Keyring.of(settings))
        if with_sample is None:
            with_sample = not (photos or is_set_up(settings, keyring))
        check_certificate(settings)
        check_audit(settings.audit)
        settings = fit_connections(offer_originals(settings, photos or ()))
        listener = bind_socket(settings.host, settings.port)
    demo_name = demo or ("photos" if with_sample else None)
    try:
        with closing(listener):
            _load_and_serve(
                settings,
                listener,
                photos or (),
                demo_name,
                adopt=adopt_pictures,
                rescan=rescan,
                model=model,
            )
    finally:
        gc.freeze()  # the process ends: to look through all models for garbage takes 2 s


def is_set_up(settings: Settings, keyring: Keyring) -> bool:
    """Return whether keys, a sign-in or a database address are set."""
    return keyring.required or settings.has_users or bool(settings.database)


def _load_and_serve(
    settings: Settings,
    listener: socket.socket,
    photos: Sequence[str],
    demo: str | None,
    *,
    adopt: bool,
    rescan: float,
    model: str | None,
) -> None:
    from app.telemetry import logs

    # First: what loading says of damaged items is a line of the log like any other.
    logging.config.dictConfig(logs.configuration(settings.log_style))
    with plain_errors():
        if model is not None:
            settings, model = chosen_model.prepare(model, settings)
            chosen_model.refuse_workers(model, settings.workers)
        torch_import.import_torch(settings.device)
        from app.cli.demos import index_meanwhile

        engine, shown, sources = _load(settings, demo, adopt=adopt)
    # The server passes on the signal that ended it, and what began here must end too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    token = engine.open(DEFAULT_COLLECTION, reading=True).token
    following = follow_photos(photos, token, settings.data, settings.matcher, rescan)
    with following as follower, suppress(KeyboardInterrupt):
        if settings.workers > 1:
            with index_meanwhile(engine, shown, sources, settings, engine.close):
                del engine
                _serve_by_workers(settings, listener)
        else:
            with closing(engine), index_meanwhile(engine, shown, sources, settings):
                _serve(settings, engine, listener, model, follower)


def _serve(
    settings: Settings,
    engine: Engine,
    listener: socket.socket,
    model: str | None,
    follower: PhotoFollower,
) -> None:
    import uvicorn

    from app.http.server import AnnouncedServer, options
    from app.main import create_app, warm_up
    from app.telemetry import logs

    engine.serve()
    app = create_app(settings, engine)
    config = uvicorn.Config(
        app,
        settings.host,
        settings.port,
        ssl_certfile=settings.ssl_certfile,
        ssl_keyfile=settings.ssl_keyfile,
        log_config=logs.configuration(settings.log_style),
        **options(settings),
    )
    with plain_errors():
        listen(listener, config)
    with chosen_model.move_meanwhile(app, model, settings, follower.start):
        AnnouncedServer(config, partial(warm_up, engine)).run(sockets=[listener])


def _serve_by_workers(settings: Settings, listener: socket.socket) -> None:
    """Serve a bound socket with several processes until they are stopped."""
    import uvicorn

    from app.http.server import WorkerSupervisor, address, options
    from app.telemetry import logs
    from app.telemetry.metrics import share

    config = uvicorn.Config(
        partial(torch_import.create_app, settings),
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        timeout_worker_healthcheck=STARTING,
        log_config=logs.configuration(settings.log_style),
        ssl_certfile=settings.ssl_certfile,
        ssl_keyfile=settings.ssl_keyfile,
        **options(settings),
    )
    with plain_errors():
        listen(listener, config)
    logger.warning("%s processes will be running on %s", config.workers, address(listener, config))
    with share():
        # What uvicorn.run does itself, which takes only the name of an application.
        WorkerSupervisor(config, sockets=[listener]).run()


def offer_originals(settings: Settings, photos: Sequence[str]) -> Settings:
    """Let this machine alone read files below served folders.

    Not behind a proxy, which `allowed_hosts` name, nor where positions are kept out: files have
    them, and display copies none.
    """
    from app.access.keyring import is_local

    folders = tuple(Path(folder).resolve() for folder in photos if "://" not in folder)
    hidden = settings.allowed_hosts or settings.positions != "full" or not is_local(settings.host)
    if settings.originals or hidden:
        return settings
    return settings.model_copy(update={"originals": folders})


def _load(
    settings: Settings, demo: str | None, *, adopt: bool
) -> tuple[Engine, Demo, Sequence[ItemSource | ImportOutcome]]:
    """Load the engine; return it with the demonstration and its missing sources."""
    from app.cli import demos as demonstrating
    from app.cli.options import load_engine
    from app.demos import PHOTOS

    shown = PHOTOS if demo is None else demonstrating.choose_demo(demo)
    engine = load_engine(settings, adopt=adopt)
    engine.open(DEFAULT_COLLECTION, reading=True)
    sources = () if demo is None else demonstrating.list_missing(engine, shown, settings)
    if shown.collection != DEFAULT_COLLECTION:
        typer.echo(f"The demonstration is at /?collection={shown.collection}", err=True)
    return engine, shown, sources
