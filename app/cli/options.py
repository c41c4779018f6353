"""Options of several commands, and short messages for mistakes."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app import torch_import
from app.unprintable import escape_unprintable
from models import header
from models.header import UnfitModel

if TYPE_CHECKING:
    from pydantic_settings import SettingsError

    from app.engine.engine import Engine
    from app.engine.inference import Models
    from app.settings import Settings
    from index.database.storage import Storage


Data = Annotated[Path | None, typer.Option(help="Data folder.", show_default=".tessera")]
OnCluster = Annotated[
    str | None, typer.Option("--cluster", help="Address of a Ray cluster: HOST:6379, or auto.")
]
Adopt = Annotated[
    bool,
    typer.Option(
        "--adopt-pictures",
        help="Take over a data folder and pictures that belong to another catalog.",
    ),
]
Named = Annotated[str, typer.Option(help="A named set of items.")]


def check_paths(paths: Iterable[str]) -> None:
    """Refuse a missing or unreachable path; addresses are not looked at."""
    for path in paths:
        shown = repr(escape_unprintable(path))
        try:
            if "://" not in path and not Path(path).exists():
                raise typer.BadParameter(f"Path {shown} does not exist.")
        except OSError as refused:  # a folder above it may not be entered
            raise typer.BadParameter(f"Path {shown}: {refused.strerror}.") from refused


def settings_for(**options: object) -> Settings:
    """Make the settings; options of the command line come before the environment.

    An invalid value is a usage error, and a misspelt name in the environment is a mistake.
    Settings with a former name are read with a warning, and an unknown name is one.
    """
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from app.settings import Settings
    from app.settings_names import check_names, list_warnings

    with plain_errors():
        check_names(Settings.model_fields)
    for warning in list_warnings(Settings.model_fields):
        typer.echo(f"warning: {escape_unprintable(warning)}", err=True)

    overrides: dict[str, Any] = {
        name: value for name, value in options.items() if value is not None
    }
    try:
        return Settings(**overrides)
    except OSError as unreadable:  # the data folder's chosen model
        raise typer.BadParameter(str(unreadable)) from unreadable
    except SettingsError as unread:
        raise _explain_json(unread, Settings) from unread
    except ValidationError as invalid:
        problem = invalid.errors()[0]
        if not problem["loc"]:  # of no setting alone, such as the chosen model's file
            raise typer.BadParameter(problem["msg"]) from invalid
        name, value = str(problem["loc"][0]), problem["input"]
        value = str(value) if isinstance(value, Path) else value
        source = f"--{name}" if name in overrides else f"TESSERA_{name.upper()}"
        raise typer.BadParameter(
            f"{value!r}: {problem['msg'].removeprefix('Value error, ')}", param_hint=source
        ) from invalid


def _explain_json(unread: SettingsError, settings: type[Settings]) -> typer.BadParameter:
    """Explain a setting without valid JSON, with an example."""
    named = re.search(r'field "(\w+)"', str(unread))
    field = settings.model_fields.get(named[1]) if named else None
    if named is None or field is None or not field.examples:
        return typer.BadParameter(f"{unread}: it is written as JSON: {unread.__cause__}")
    return typer.BadParameter(
        f"it is written as JSON, such as {json.dumps(field.examples[0])}: {unread.__cause__}",
        param_hint=f"TESSERA_{named[1].upper()}",
    )


@contextmanager
def plain_errors() -> Iterator[None]:
    """Print the caller's mistakes in a sentence and exit with code 1."""
    try:
        yield
    except (ValueError, LookupError, OSError, UnfitModel) as mistake:
        logging.getLogger("tessera").debug("refused", exc_info=True)
        message = "\n".join((str(mistake), *getattr(mistake, "__notes__", ())))
        lines = map(escape_unprintable, message.splitlines())  # which may quote a file's name
        typer.echo("error: " + "\n".join(lines), err=True)
        raise typer.Exit(1) from mistake


def load_models(settings: Settings) -> Models:
    """Load the models of the settings; errors are those of `check`."""
    check(settings)
    torch_import.import_torch(settings.device)
    from app.engine.inference import Models

    return Models.of(settings)


def check_data_folder(storage: Storage) -> None:
    """Raise LookupError for a missing, perhaps mistyped, data folder."""
    if not storage.database and not storage.folder.is_dir():
        raise LookupError(
            f"there is no data folder {storage.folder}: make one with `tessera index PHOTOS`, or "
            "name another by --data"
        )


def check_audit(file: Path | None) -> None:
    """Raise ValueError if no line of the audit could be written."""
    from app.telemetry import line_files

    if file is None:
        return
    try:
        line_files.append(file, [])
    except OSError as refused:
        raise ValueError(
            f"TESSERA_AUDIT: {file} cannot be written to: {refused.strerror}"
        ) from refused


def load_engine(settings: Settings, *, adopt: bool = False) -> Engine:
    """Load the engine of the settings.

    Errors are those of `check` and the catalog.

    With `adopt`, it takes over a data folder and pictures that belong to another catalog.
    """
    check(settings)
    torch_import.import_torch(settings.device)
    from app.engine.engine import Engine

    return Engine.load(settings, adopt=adopt)


def check(settings: Settings) -> None:
    """Read the headers of all checkpoints before anything is loaded.

    LookupError for a missing matcher, ValueError for a file that is no checkpoint of its kind.
    """
    check_kind(settings.matcher, "matchers")
    for kind, path in (
        ("captioners", settings.captioner),
        ("captioners", settings.region_captioner),
        ("grounders", settings.grounder),
    ):
        if path and path.is_file():
            check_kind(path, kind)


def check_kind(path: Path, kind: str) -> None:
    """Raise ValueError unless a file is a checkpoint of a kind."""
    actual = header.read(path).get("kind")
    if actual != kind:
        raise ValueError(f"{path} is one of the {actual}, not of the {kind}")
