"""The model of `tessera serve --model`: adopted, remembered, and changed while it serves."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from app import chosen_model
from app.chosen_model import FOLDER, SHIPPED, ChosenModel
from models import header, shipped
from models.rooms import PREFIX

if TYPE_CHECKING:
    from fastapi import FastAPI

    from app.engine.engine import Engine
    from app.settings import Settings
    from index.catalog.catalog import Catalog

REFERENCES = 2000  # photos of collections to estimate probabilities with, at most
PAGE = 200
LASTING = 60.0  # seconds that requests may go on with the former model

logger = logging.getLogger("tessera")


class Interrupted(ValueError):
    """The service ended before a command, or the command failed."""


class Commands:
    """Runs commands of Tessera as child processes."""

    def __init__(self) -> None:
        self.ended = Event()
        self._child: subprocess.Popen[str] | None = None
        self._lock = Lock()

    def run(self, *arguments: str, matcher: Path | None = None) -> str:
        """Run a command and return its output; Interrupted if it fails."""
        environment = os.environ | ({"TESSERA_MATCHER": str(matcher)} if matcher else {})
        command = [sys.executable, "-m", f"{PREFIX}tessera", *arguments]
        with self._lock:
            if self.ended.is_set():
                raise Interrupted("the service ends")
            self._child = subprocess.Popen(  # noqa: S603 - our own command
                command, stdout=subprocess.PIPE, text=True, env=environment
            )
        output, _ = self._child.communicate()
        if self._child.returncode:
            raise Interrupted(f"`tessera {arguments[0]}` did not succeed, see above")
        return output

    def end(self) -> None:
        """End the running command, and run none any more."""
        with self._lock:
            self.ended.set()
            if self._child is not None:
                self._child.terminate()


def choose(
    model: str, data: Path, commands: Commands, references: Path | None = None
) -> ChosenModel:
    """Adopt a model for a data folder.

    The commit of a hub's model that was chosen earlier stays, unless another is named.
    `references` is a folder of photos to estimate probabilities with. Interrupted where it cannot
    be adopted.
    """
    if model == SHIPPED:
        return ChosenModel(SHIPPED, str(shipped.MATCHER))
    (data / FOLDER).mkdir(parents=True, exist_ok=True)
    options = [] if references is None else ["--reference", str(references)]
    former = chosen_model.read(data)
    if former and former.model == model and former.revision:
        options += ["--revision", former.revision]
    output = commands.run("adopt", model, "--out", str(data / FOLDER), *options)
    file = Path(output.splitlines()[-1])
    described = header.read(file)
    revision = described["config"]["image"]["options"]["revision"]
    return ChosenModel(model, str(file.relative_to(data)), revision, described["facts"]["licence"])


def prepare(model: str, settings: Settings) -> tuple[Settings, str | None]:
    """Prepare the settings to start with, and the model to move to.

    Where a collection is the present matcher's, that one serves until all have moved. Otherwise the
    model is adopted first, and there is nothing to move.
    """
    from index.catalog.catalog import Catalog

    with closing(Catalog(settings.storage)) as catalog:
        made_by = {home.fingerprint for home in catalog.names.all() if catalog.count(home)}
    former = chosen_model.read(settings.data)
    is_adopted = settings.matcher.is_file() and header.fingerprint(settings.matcher) in made_by
    if is_adopted and not (former and former.model == model and made_by == {_print_of(settings)}):
        return settings, model
    chosen = choose(model, settings.data, Commands())
    settings = settings.model_copy(update={"matcher": settings.data / chosen.matcher})
    if made_by - {_print_of(settings)}:  # it is remembered once they have moved
        return settings, model
    chosen_model.write(settings.data, chosen if model != SHIPPED else None)
    return settings, None


def refuse_workers(model: str | None, workers: int) -> None:
    """Refuse to move collections under several processes."""
    if model is not None and workers > 1:
        raise ValueError(
            f"collections have to move to {model} first, which one process does: serve with "
            f"--workers 1 until the log says that {model} answers, then with {workers}"
        )


def _print_of(settings: Settings) -> str:
    return header.fingerprint(settings.matcher)


@contextmanager
def move_meanwhile(
    app: FastAPI, model: str | None, settings: Settings, on_move: Callable[[Path], None]
) -> Iterator[None]:
    """Move every collection to a model, and answer with it.

    `on_move` is called with the new matcher. The end of the block stops it, and what was embedded
    stays for the next start.
    """
    if model is None:
        yield
        return
    former, commands = app.state.engine, Commands()
    work = partial(_move, app, model, settings, commands, on_move)
    thread = Thread(target=work, name="move to another model")
    thread.start()
    try:
        yield
    finally:
        commands.end()
        thread.join()
        if app.state.engine is not former:  # which its maker closes
            app.state.engine.close()


def _move(
    app: FastAPI,
    model: str,
    settings: Settings,
    commands: Commands,
    on_move: Callable[[Path], None],
) -> None:
    engine: Engine = app.state.engine
    name = "the matcher that ships" if model == SHIPPED else model
    logger.warning(
        "%s is prepared, and the present model answers until the collections moved", name
    )
    try:
        with TemporaryDirectory(dir=settings.data) as folder:
            write_references(engine, Path(folder))
            chosen = choose(model, settings.data, commands, Path(folder))
        matcher = settings.data / chosen.matcher
        reembed(engine, matcher, settings.data, commands)
        chosen_model.write(settings.data, chosen if model != SHIPPED else None)
        if header.fingerprint(matcher) != engine.models.fingerprint:
            _replace(app, settings.model_copy(update={"matcher": matcher}))
        on_move(matcher)
        logger.warning("%s answers from now on", name)
        commands.ended.wait(LASTING)
        drop_former(engine.catalog, header.fingerprint(matcher))
    except (ValueError, LookupError, OSError) as failed:
        if not commands.ended.is_set():
            logger.error("%s was not taken, and the former model goes on: %s", name, failed)


def write_references(engine: Engine, folder: Path) -> None:
    """Write up to REFERENCES photos of all collections into a folder."""
    numbers = count()
    for home in engine.catalog.names.all():
        after = ""
        while page := engine.catalog.list_items(home, after=after, limit=PAGE, damaged=set()):
            after = page[-1].id
            for item in page:
                if not item.photos:
                    continue
                number = next(numbers)
                if number >= REFERENCES:
                    return
                with suppress(LookupError):  # it was lost or deleted meanwhile
                    picture = engine.catalog.picture(home, item.id)
                    (folder / f"{number}.jpg").write_bytes(picture.jpeg)


def reembed(engine: Engine, matcher: Path, data: Path, commands: Commands) -> None:
    """Re-embed every collection of another model, and keep the former ones."""
    new = header.fingerprint(matcher)
    former = list_former(engine.catalog, new)
    for home in engine.catalog.names.all():
        if home.fingerprint != new and home.name not in former:
            command = ("index", "--reembed", "--keep", "--collection", home.name)
            commands.run(*command, "--data", str(data), matcher=matcher)


def list_former(catalog: Catalog, fingerprint: str) -> list[str]:
    """List the kept collections, replaced by those of a model."""
    homes = catalog.names.all()
    others = {home.fingerprint for home in homes} - {fingerprint}
    pairs = [(home, other) for home in homes for other in others if home.fingerprint == fingerprint]
    former = (catalog.names.find_former(home, other) for home, other in pairs)
    return [home.name for home in former if home is not None]


def drop_former(catalog: Catalog, fingerprint: str) -> None:
    """Drop the kept collections, replaced by those of a model."""
    for name in list_former(catalog, fingerprint):
        catalog.names.drop(name)
    catalog.sweep_collections()


def _replace(app: FastAPI, settings: Settings) -> None:
    """Answer with an engine of other settings."""
    from app.engine.engine import Engine

    engine = Engine.load(settings)
    engine.serve()
    app.state.settings, app.state.engine = settings, engine
