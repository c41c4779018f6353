"""The command `serve`: search, its page and its API over HTTP."""

from __future__ import annotations

import gc
import logging
import os
import resource
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
from app.cli.options import Adopt, Data, OnCluster, check_paths, plain_errors, settings_for
from app.cli.photo_follower import PhotoFollower, follow_photos
from app.defaults import DEFAULT_COLLECTION

if TYPE_CHECKING:
    from app.demos import Demo
    from app.engine.engine import Engine
    from app.imports.sources import ImportOutcome, ItemSource
    from app.settings import Settings


FILES = 1000  # besides connections: segments, uploads and the database
STARTING = 120  # seconds that a worker may take to import everything, before it is replaced

logger = logging.getLogger("tessera")

Host = Annotated[str | None, typer.Option(help="Address. [default: 127.0.0.1]")]
Port = Annotated[int | None, typer.Option(help="Port. [default: 8000]")]
Photos = Annotated[
    list[str] | None,
    typer.Option(help="A folder of photos to index, and to follow its changes."),
]
Rescan = Annotated[
    float, typer.Option(min=0.01, help="Minutes until photos are looked at without a change.")
]
WithSample = Annotated[
    bool, typer.Option("--sample/--no-sample", help="Sample photos, if there are none.")
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
    Path | None, typer.Option(help="Key of the certificate. [default: in its file]")
]
Model = Annotated[
    str | None,
    typer.Option(
        help="A pretrained encoder: a hub's OWNER/NAME, also @REVISION, a folder of weights, or "
        "`shipped`. It is adopted, remembered, and the collections move to it."
    ),
]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes that serve. [default: 1]")]


def serve(
    host: Host = None,
    port: Port = None,
    data: Data = None,
    model: Model = None,
    photos: Photos = None,
    rescan: Rescan = 60,
    with_sample: WithSample = True,
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

        check_lock(settings, Keyring.of(settings))
        check_certificate(settings)
        settings = fit_connections(offer_originals(settings, photos or ()))
        listener = bind_socket(settings.host, settings.port)
    demo_name = demo or ("photos" if with_sample and not photos else None)
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
    from app.main import create_app
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
    with chosen_model.move_meanwhile(app, model, settings, follower.start):
        AnnouncedServer(config).run(sockets=[listener])


def _serve_by_workers(settings: Settings, listener: socket.socket) -> None:
    """Serve a bound socket with several processes until they are stopped."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    from app.http.server import address, options
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
    logger.warning("%s processes will be running on %s", config.workers, address(listener, config))
    with share():
        # What uvicorn.run does itself, which takes only the name of an application.
        Multiprocess(config, sockets=[listener]).run()


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


def check_certificate(settings: Settings) -> None:
    """Raise ValueError for a missing file of the certificate or its key."""
    if settings.ssl_keyfile and not settings.ssl_certfile:
        raise ValueError("ssl_keyfile: the certificate is missing; set ssl_certfile as well")
    for file in (settings.ssl_certfile, settings.ssl_keyfile):
        if file and not file.is_file():
            raise ValueError(f"there is no file {file} to serve HTTPS with")


def fit_connections(settings: Settings) -> Settings:
    """Fit the number of connections to the limit of open files.

    The limit is raised first, also for child processes. A process without a free file accepts no
    one, and searches fail.
    """
    allowed = allow_files(settings.connections + FILES)
    room = max(allowed - FILES, allowed // 4, 1)
    if settings.connections <= room:
        return settings
    logger.warning(
        "%s files may be open at once: at most %s connections instead of %s, unless the limit is "
        "raised (ulimit -n; LimitNOFILE of systemd)",
        allowed,
        room,
        settings.connections,
    )
    return settings.model_copy(update={"connections": room})


def allow_files(count: int) -> int:
    """Raise the limit of open files, if possible, and return it."""
    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if least == resource.RLIM_INFINITY or least >= count:
        return count
    allowed = max(least, count if most == resource.RLIM_INFINITY else min(count, most))
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    return allowed


def bind_socket(host: str, port: int) -> socket.socket:
    """Bind a socket before models load.

    OSError if the address is not available.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # asyncio sends answers at once (TCP_NODELAY) only where the protocol is stated.
        listener = socket.socket(family, kind, protocol)
        if os.name == "posix":  # the port of a service that just ended is free
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.set_inheritable(True)  # by workers
    except OSError as refused:
        raise OSError(
            f"cannot listen at {host} port {port}: {refused.strerror}; choose another with --port"
        ) from refused
    return listener


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
