"""Names of settings in the environment: former, misspelt and unknown ones."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

from pydantic import model_validator
from pydantic_settings import BaseSettings

from app.nearest import nearest_name

PREFIX = "tessera_"
FORMER_NAMES = {"engine": "inference"}
CLIENT_NAMES = {"key", "photos", "url"}  # of the TypeScript client's tests, perhaps in one shell
# The least share of letters of a misspelt name that agree with a setting's. Kubernetes' variables
# for a Service of the name, such as TESSERA_SERVICE_HOST, are at most at 0.5.
NEAR = 0.62
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
        if near := nearest_name(name, settings, NEAR):
            problems.append(f"{_variable(name)} is no setting; did you mean {_variable(near)}?")
    if problems:
        raise ValueError(" ".join(problems))


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
