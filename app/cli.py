"""The commands of search: serve, migrate, index, search, rank, describe, align, ground, models."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer
import uvicorn
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from app import backup, indexing, runs, sample
from app.drawing.explanations import PNG, SVG, draw_alignment, draw_grounding
from app.engine import Engine
from app.indexing import bring_in
from app.main import create_app, serve_by_workers
from app.metrics import share
from app.options import Data, Named, plain_errors, settings_for
from app.server import OPTIONS
from app.settings import DEFAULT_COLLECTION, Settings
from index import database
from index.requests import Hit, Request
from models import alignment, checkpoint, images, registry
from models.alignment import BETA
from models.checkpoint import PRETRAINED
from models.images import Photo
from models.types import Box, Span

app = typer.Typer(no_args_is_help=True, help="Search photos by sentences, and see why.")
app.add_typer(indexing.app, name="index")
app.registered_commands += backup.app.registered_commands
app.registered_commands += runs.app.registered_commands

Drawing = Annotated[Path | None, typer.Option(help="Draw it into this .png or .svg file.")]
PhotoFile = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A photo.")]


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address. [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="Port. [default: 8000]")] = None,
    data: Data = None,
    photos: Annotated[
        Path | None, typer.Option(exists=True, help="Photos to index in the background.")
    ] = None,
    with_sample: Annotated[
        bool, typer.Option("--sample/--no-sample", help="Sample photos, if there are none.")
    ] = True,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that serve. [default: 1]")
    ] = None,
) -> None:
    """Serve search, its page and its API over HTTP.

    Examples: `tessera serve`, then open http://127.0.0.1:8000

    `tessera serve --photos ~/Pictures --port 9000`
    """
    settings = settings_for(data=data, host=host, port=port, workers=workers)
    with plain_errors():
        engine = Engine.load(settings)
        home = engine.open(DEFAULT_COLLECTION)
        if with_sample and photos is None and not engine.catalog.count(home):
            typer.echo("No photos yet, so here is a sample; --no-sample starts without.", err=True)
            bring_in(engine, DEFAULT_COLLECTION, sample.photos(), settings)
    # The server passes on the signal that ended it, and what began here must end too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if settings.workers > 1:
        engine.close()
        del engine
        with _indexing(photos, settings), share():
            serve_by_workers(settings)
        return
    with _indexing(photos, settings), closing(engine):
        engine.serve()
        uvicorn.run(create_app(settings, engine), host=settings.host, port=settings.port, **OPTIONS)


@app.command()
def migrate(data: Data = None) -> None:
    """Bring the tables of the database to the version that this Tessera needs.

    A new database and SQLite need no command; services on PostgreSQL are restarted afterwards.

    Example: `TESSERA_DATABASE=postgresql://tessera@db/tessera tessera migrate`
    """
    with plain_errors():
        before, now = database.migrate(settings_for(data=data).storage)
    typer.echo(f"version {now} already" if before == now else f"version {before} is now {now}")


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="What the photo shows.")],
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many photos.")] = 10,
    collection: Named = DEFAULT_COLLECTION,
    data: Data = None,
) -> None:
    """Find photos, with what each phrase gave to the score.

    Example: `tessera search "a black dog jumping over a log"`
    """
    with plain_errors():
        engine = Engine.load(settings_for(data=data))
        query = engine.models.query(text)
        hits = engine.search(collection, Request("images", query, limit=limit)).hits
    for note in query.notes:
        typer.echo(note, err=True)
    table = Table("probability", "score", "photo", "why")
    for hit in hits:
        phrases = alignment.phrases(hit.bag, query, hit.links)
        why = sorted(phrases, key=lambda phrase: -phrase.similarity)
        said = "  ".join(f"{_words(text, phrase.span)} {phrase.similarity:+.2f}" for phrase in why)
        told = "" if hit.probability is None else f"{hit.probability:.2f}"
        table.add_row(told, f"{hit.score:.2f}", escape(hit.item), escape(said))
    if hits:
        Console().print(table, *_doubts(hits, engine.models.weak_below))
    elif query.parts:
        Console().print("Nothing is indexed yet: tessera index FOLDER")


@app.command()
def describe(
    image: PhotoFile,
    beam: Annotated[int, typer.Option(min=1, max=20, help="Hypotheses followed.")] = 5,
    count: Annotated[int, typer.Option(min=1, max=20, help="How many sentences.")] = 1,
) -> None:
    """Say what a photo shows.

    Example: `tessera describe dog.jpg --count 3`
    """
    with plain_errors():
        settings = settings_for()
        engine = Engine.load(settings)
        photo = _photo(image, settings)
        captions = engine.models.describe(photo, beam=max(beam, count), count=count)
    for caption in captions:
        typer.echo(caption.text)


@app.command()
def align(
    image: PhotoFile,
    text: Annotated[str, typer.Argument(help="A sentence about it.")],
    out: Drawing = None,
    beta: Annotated[float, typer.Option(min=0, help="More makes longer phrases.")] = BETA,
) -> None:
    """Show which part of a photo answers which words.

    Example: `tessera align dog.jpg "a black dog" --out why.svg`
    """
    kind = _kind(out)
    with plain_errors():
        settings = settings_for()
        engine = Engine.load(settings)
        photo = _photo(image, settings)
        found = engine.models.align(
            engine.models.photo(photo), engine.models.query(text), beta=beta
        )
        if out and kind:
            out.write_bytes(draw_alignment(photo.pixels, text, found, kind))
    table = Table("words", "gave", "left, top, right, bottom")
    for phrase in found.phrases:
        box = None if phrase.region is None else found.image.places[phrase.region]
        where = _edges(box) if isinstance(box, Box) else "the whole photo"
        table.add_row(escape(_words(text, phrase.span)), f"{phrase.similarity:+.2f}", where)
    Console().print(table, f"score {found.score:.2f}")


@app.command()
def ground(
    image: PhotoFile,
    text: Annotated[str, typer.Argument(help="A sentence about it.")],
    phrase: Annotated[
        list[str] | None,
        typer.Option(help="Words of the text; may be given more than once. [default: all of it]"),
    ] = None,
    count: Annotated[int, typer.Option(min=1, max=20, help="Boxes a phrase.")] = 1,
    out: Drawing = None,
) -> None:
    """Find the boxes of a photo that phrases mean.

    Example: `tessera ground dog.jpg "a dog on a log" --phrase "a dog" --phrase "a log"`
    """
    kind = _kind(out)
    with plain_errors():
        settings = settings_for()
        engine = Engine.load(settings)
        photo = _photo(image, settings)
        found = engine.models.ground(photo, text, phrase or [text], count=count)
        if out and kind:
            out.write_bytes(draw_grounding(photo.pixels, text, found, kind))
    table = Table("phrase", "similarity", "left, top, right, bottom")
    for one in found:
        if not one.present:
            table.add_row(escape(_words(text, one.span)), "", "not in this photo")
        for box, similarity in one.boxes:
            table.add_row(escape(_words(text, one.span)), f"{similarity:+.2f}", _edges(box))
    Console().print(table)


@app.command()
def models() -> None:
    """List the models there are, and the checkpoints that ship or are set."""
    settings = settings_for()
    table = Table("kind", "model", "checkpoint", "fingerprint")
    for kind in registry.KINDS:
        for name in registry.names(kind):
            table.add_row(kind, name, "", "")
    chosen = [
        path
        for path in (settings.matcher, settings.captioner, settings.grounder)
        if path and path.is_file()
    ]
    for path in sorted({*PRETRAINED.glob("*.safetensors"), *chosen}):
        with plain_errors():
            loaded = checkpoint.load(path)
        table.add_row(loaded.kind, loaded.name, escape(str(path)), loaded.fingerprint)
    Console().print(table)


def _photo(file: Path, settings: Settings) -> Photo:
    """A photo as it would be stored."""
    return images.read(file.read_bytes(), **settings.photo_limits)


def _kind(out: Path | None) -> str | None:
    """The media type of a picture's file name, None without one."""
    if out is None:
        return None
    if kind := {".png": PNG, ".svg": SVG}.get(out.suffix.lower()):
        return kind
    raise typer.BadParameter("the picture's name ends in .png or .svg", param_hint="--out")


def _doubts(hits: Sequence[Hit], weak_below: float | None) -> list[str]:
    """A sentence about hits of which none is likely."""
    probable = [hit.probability for hit in hits if hit.probability is not None]
    if weak_below is None or not probable or max(probable) >= weak_below:
        return []
    return ["Nothing here looks like that; these are the nearest."]


def _words(text: str, span: Span) -> str:
    """The part of a text at a span."""
    return text[span.start : span.end]


def _edges(box: Box) -> str:
    """A box's edges as fractions of the photo."""
    return "  ".join(f"{edge:.2f}" for edge in (box.left, box.top, box.right, box.bottom))


@contextmanager
def _indexing(photos: Path | None, settings: Settings) -> Iterator[None]:
    """Index photos in a process of its own, politely, so that searches stay quick."""
    if photos is None:
        yield
        return
    command = ["-m", "tessera", "index", str(photos), "--data", str(settings.data)]
    child = subprocess.Popen([sys.executable, *command])  # noqa: S603 - our own command
    if hasattr(os, "setpriority"):
        os.setpriority(os.PRIO_PROCESS, child.pid, 10)
    try:
        yield
    finally:
        child.terminate()
        child.wait()
