"""Names of settings in the environment: former, misspelt and unknown ones."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

from pydantic import model_validator
from pydantic_settings import BaseSettings
from rapidfuzz import process
from rapidfuzz.distance import OSA

PREFIX = "tessera_"
FORMER_NAMES = {"engine": "inference"}
CLIENT_NAMES = {"key", "photos", "url"}  # of the TypeScript client's tests, perhaps in one shell
LONG = 10  # letters of a name from which on two of them may be wrong, else one
# How Kubernetes' TESSERA_X_PORT for a Service tessera-x begins.
LINK = ("tcp://", "udp://", "sctp://")


class RenamedSettings(BaseSettings):
    """Settings, also by their former names unless the new name is set."""

    @model_validator(mode="before")
    @classmethod
    def take_former_names(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Add the values of former names; others come first."""
        return {FORMER_NAMES[name]: value for name, value in read_former_names().items()} | values


def read_former_names() -> dict[str, str]:
    """Read the environment's values of former names, in any case."""
    values = {name.lower(): value for name, value in os.environ.items()}
    return {name: values[PREFIX + name] for name in FORMER_NAMES if PREFIX + name in values}


def check_names(settings: Collection[str]) -> None:
    """Raise ValueError for misspelt names of settings in the environment."""
    problems = []
    for name, value in _read_unknown_names(settings).items():
        if name in CLIENT_NAMES or value.startswith(LINK):
            continue
        if near := _find_near(name, settings):
            problems.append(f"{_variable(name)} is no setting; did you mean {_variable(near)}?")
    if problems:
        raise ValueError(f"{' '.join(problems)} Rename or remove it.")


def _find_near(name: str, settings: Collection[str]) -> str | None:
    """Find the setting of a misspelt or shortened name."""
    for setting in settings:
        if setting.startswith(f"{name}_"):
            return setting
    most = 2 if len(name) >= LONG else 1
    near = process.extractOne(name, list(settings), scorer=OSA.distance, score_cutoff=most)
    return None if near is None else near[0]


def list_warnings(settings: Collection[str]) -> list[str]:
    """List a warning for each former or unknown name in the environment."""
    renamed = [
        f"{_variable(name)} is now {_variable(FORMER_NAMES[name])}: rename it, "
        "the next release will not read the former name"
        for name in read_former_names()
    ]
    unknown = _read_unknown_names(settings)
    return [*renamed, *(f"{_variable(name)} is no setting, and is not read" for name in unknown)]


def _read_unknown_names(settings: Collection[str]) -> dict[str, str]:
    """Read the environment's values of no setting, by names without the prefix."""
    values = {name.lower(): value for name, value in sorted(os.environ.items())}
    prefixed = {
        name.removeprefix(PREFIX): value
        for name, value in values.items()
        if name.startswith(PREFIX)
    }
    return {
        name: value
        for name, value in prefixed.items()
        if name not in settings and name not in FORMER_NAMES
    }


def _variable(name: str) -> str:
    """Write a name as the environment has it."""
    return f"{PREFIX}{name:.100}".upper()
