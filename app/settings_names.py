"""Former names of settings, read from the environment for one release."""

from __future__ import annotations

import os
from typing import Any

from pydantic import model_validator
from pydantic_settings import BaseSettings

FORMER_NAMES = {"engine": "inference"}


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
    return {name: values[f"tessera_{name}"] for name in FORMER_NAMES if f"tessera_{name}" in values}


def list_warnings() -> list[str]:
    """List a warning for each former name in the environment."""
    return [
        f"TESSERA_{name.upper()} is now TESSERA_{FORMER_NAMES[name].upper()}: rename it, "
        "the next release will not read the former name"
        for name in read_former_names()
    ]
