"""The model of a data folder, remembered between starts."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = "model.json"
FOLDER = "models"  # of adopted checkpoints
SHIPPED = "shipped"  # the name of the matcher that ships


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """A hub's id or a folder, and its checkpoint in the data folder.

    `revision` is the hub's commit, empty for a folder; `licence` as it was stated.
    """

    model: str
    matcher: str
    revision: str = ""
    licence: str = ""


def read(data: Path) -> ChosenModel | None:
    """Read the chosen model of a data folder; None without one.

    ValueError for a damaged file.
    """
    try:
        text = (data / FILE).read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return ChosenModel(**json.loads(text))
    except (ValueError, TypeError) as damaged:
        raise ValueError(
            f"{data / FILE} cannot be read ({damaged}): run `tessera serve --model` again, or "
            "delete it for the matcher that ships"
        ) from damaged


def write(data: Path, chosen: ChosenModel | None) -> None:
    """Remember a model, whole or not at all; None forgets it."""
    file = data / FILE
    if chosen is None:
        file.unlink(missing_ok=True)
        return
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(asdict(chosen), indent=1) + "\n", "utf-8")
    partial.replace(file)
