"""Models and engines for commands, loaded after quick checks of the files that they need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from app import lean
from app.settings import Settings
from models import header

if TYPE_CHECKING:
    from app.engine.engine import Engine
    from app.engine.inference import Models


def load_models(settings: Settings) -> Models:
    """The models that the settings name; errors are those of `check`."""
    check(settings)
    lean.import_torch(settings.device)
    from app.engine.inference import Models

    return Models.of(settings)


def load_engine(settings: Settings, *, adopt: bool = False) -> Engine:
    """The engine that the settings describe; errors are those of `check` and of the catalog.

    With `adopt`, it takes over a data folder and pictures that belong to another catalog.
    """
    check(settings)
    lean.import_torch(settings.device)
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
    """ValueError unless a file is a checkpoint of a kind."""
    actual = header.read(path).get("kind")
    if actual != kind:
        raise ValueError(f"{path} is one of the {actual}, not of the {kind}")
