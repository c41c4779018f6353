"""Inheritance of presets: tables over extended presets."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

PRESETS = Path(__file__).parent.parent / "presets"
MATCHERS = "matchers"

# What to give for an option of a plain type; others are left to those who read them.
PLAIN: Mapping[object, tuple[tuple[type, ...], str]] = {
    float: ((int, float), "a number"),
    int: ((int,), "a whole number"),
    bool: ((bool,), "true or false"),
    str: ((str,), "a text"),
}

Preset = TypeVar("Preset")
Options = TypeVar("Options")


def list_names(part: str = MATCHERS) -> list[str]:
    """List the shipped presets of a folder, matchers by default."""
    return sorted(_list_files(part))


def _list_files(part: str) -> dict[str, Path]:
    """The shipped presets in and below a folder by name."""
    return {path.stem: path for path in (PRESETS / part).rglob("*.toml")}


def read(part: str, preset: str, parse: Callable[[str, Mapping[str, Any]], Preset]) -> Preset:
    """Read a part's preset and `parse` its name and tables.

    It ships in the part's folder, or is a path that ends in .toml. LookupError for an absent one;
    other mistakes are raised with the file's name.
    """
    path = locate(preset, part=part)
    try:
        return parse(path.stem, resolve(path))
    except (ValueError, LookupError) as wrong:
        raise ValueError(f"{path}: {wrong}") from wrong


def locate(preset: str, folder: Path = Path(), part: str = MATCHERS) -> Path:
    """Find a shipped preset, or a .toml path.

    The path is relative to a folder. LookupError for an absent preset.
    """
    if preset.endswith(".toml"):
        path = folder / preset
    else:  # a name, or one in the folder of another part
        path = _list_files(part).get(preset) or PRESETS / f"{preset}.toml"
    if not path.is_file():
        raise LookupError(
            f"no preset {preset!r}; there are: {', '.join(list_names(part))}, "
            "or give a path to a .toml"
        )
    return path


def needs_adopted(preset: str) -> bool:
    """Return whether a matcher's preset needs an adopted encoder by --start."""
    tables = resolve(locate(preset))
    return bool(tables.get("start", {}).get("adopted"))


def resolve(file: Path, heirs: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Read a preset's tables over its ancestors'.

    The result has no `extends`. `heirs` are the files that extend it. ValueError for a file that
    extends itself.
    """
    tables = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    taught = tables.get("teachers", {}).get("preset", "")
    if str(taught).endswith(".toml"):  # it starts at this file's folder, not at an heir's
        tables["teachers"]["preset"] = str((file.parent / taught).absolute())
    extended = tables.pop("extends", None)
    if extended is None:
        return tables
    if not isinstance(extended, str):
        raise ValueError(f"extends is {extended!r}: give one preset, by its name or its path")
    line = (*heirs, file.resolve())
    parent = locate(extended, file.parent)
    if parent.resolve() in line:
        raise ValueError(f"{extended!r} extends itself in the end: extend another preset")
    return merge(resolve(parent, line), tables)


def merge(inherited: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Overriding values over inherited ones, table by table.

    Lists are replaced whole, and so is a table with another `name`, whose options belong to another
    tower.

    >>> merge({"image": {"name": "regions", "sizes": [224]}}, {"image": {"sizes": [64]}})
    {'image': {'name': 'regions', 'sizes': [64]}}
    >>> merge({"text": {"name": "brnn", "hidden": 64}}, {"text": {"name": "pairs"}})
    {'text': {'name': 'pairs'}}
    """
    tables = dict(inherited)
    for key, value in overrides.items():
        before = tables.get(key)
        if isinstance(before, dict) and isinstance(value, dict) and is_same_part(before, value):
            tables[key] = merge(before, value)
        else:
            tables[key] = value
    return tables


def is_same_part(inherited: Mapping[str, object], overrides: Mapping[str, object]) -> bool:
    """Return whether two tables are options of the same thing."""
    return "name" not in overrides or overrides["name"] == inherited.get("name")


def make_options(kind: type[Options], options: Mapping[str, Any], where: str) -> Options:
    """An options dataclass of a preset's table."""
    refuse_unknown(options, {field.name for field in fields(kind)}, where)  # type: ignore[arg-type]
    refuse_bad_values(options, get_type_hints(kind))
    return kind(**options)


def refuse_unknown(options: Mapping[str, Any], allowed: set[str], where: str) -> None:
    """Raise ValueError for an unknown option; it names the known ones."""
    unknown = sorted(options.keys() - allowed)
    if unknown:
        raise ValueError(f"{where} does not know {unknown}; it knows {sorted(allowed)}")


def refuse_bad_values(options: Mapping[str, Any], types: Mapping[str, Any]) -> None:
    """Raise ValueError for a value of another type, or no finite number."""
    for name, value in options.items():
        kind = next((plain for plain in PLAIN if types.get(name) in (plain, plain | None)), None)  # type: ignore[operator]
        if kind is None:
            continue
        accepted, advice = PLAIN[kind]
        fits = isinstance(value, accepted) and isinstance(value, bool) == (kind is bool)
        if not fits or (isinstance(value, float) and not math.isfinite(value)):
            raise ValueError(f"{name} is {value!r:.60}: give {advice}")
