"""The page of settings, docs/use/settings.md, written from the settings' descriptions."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pydantic.fields import FieldInfo

from app.settings import Settings
from app.settings_limits import LimitSettings
from app.settings_users import UserSettings
from models import shipped

PAGE = Path(__file__).parent.parent / "docs" / "use" / "settings.md"
HEAD = """# Settings

Environment variables; options of the command line come first. `make settings` writes this page.
A misspelt name is refused at start; another unknown name with `TESSERA_` is only warned of.

| variable | default | meaning |
|---|---|---|
"""
FOOT = """
PostgreSQL, several hosts, object stores and migrations: [operations.md](operations.md).
"""
UNSET = re.compile(r"(?P<meaning>.*); (?P<default>[^;]*) if not set")
DOCUMENT = re.compile(r"\((\w+\.md)(#[\w-]+)?\)")  # named in a description


def write_page() -> str:
    """Write the page, with settings of limits and users last."""
    fields, parts = Settings.model_fields.items(), (UserSettings, LimitSettings)
    ordered = sorted(fields, key=lambda field: [field[0] in part.model_fields for part in parts])
    rows = (write_row(name, field) for name, field in ordered)
    return HEAD + "".join(rows) + FOOT


def write_row(name: str, field: FieldInfo) -> str:
    """Write the row of a setting.

    Its description may end with "; … if not set".
    """
    meaning = (field.description or "").removesuffix(".")
    if unset := UNSET.fullmatch(meaning):
        meaning, default = unset["meaning"], unset["default"]
    else:
        default = describe_default(field.default)
    meaning = DOCUMENT.sub(r"([\1](\1\2))", meaning)
    return f"| `TESSERA_{name.upper()}` | {default} | {meaning} |\n"


def describe_default(default: object) -> str:
    """Describe a default value as the environment would have it."""
    if isinstance(default, Path) and default.is_relative_to(shipped.PRETRAINED):
        return "the one that ships"
    if isinstance(default, dict):
        return f"`{json.dumps(default)}`"
    if default is None or default == "":
        return "none"
    if isinstance(default, bool):
        return f"`{default}`".lower()
    return "`[]`" if default == () else f"`{default}`"


if __name__ == "__main__":
    PAGE.write_text(write_page(), "utf-8")
