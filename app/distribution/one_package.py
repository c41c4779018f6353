"""A build backend: setuptools, and wheels with all rooms in one package.

A package called `app` or `models` at the top of site-packages would overwrite another's, or be
hidden by the user's own. So the wheel has `tessera_search.app` and so on, with imports rewritten;
a checkout and an editable install keep the rooms at the top.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings = dict[str, str | list[str] | None] | None  # of a build's frontend
PACKAGE = "tessera_search"
ROOMS = ("app", "index", "models", "training")
COMMAND = "tessera"  # the module of the command line
FROM = re.compile(rf"^(\s*from )((?:{'|'.join(ROOMS)})\b[\w.]* import )", re.MULTILINE)
IMPORT = re.compile(rf"^(\s*)import ({'|'.join(ROOMS)})$", re.MULTILINE)
NOT_SHIPPED = shutil.ignore_patterns("__pycache__", "distribution")
# What pyproject.toml says of a checkout, and what holds in the wheel.
PROJECT = {
    f'"{COMMAND}:main"': f'"{PACKAGE}.{COMMAND}:main"',
    f'py-modules = ["{COMMAND}"]': "py-modules = []",
    'include = ["app*", "index*", "models*", "training*"]': f'include = ["{PACKAGE}*"]',
    'attr = "app.__version__"': f'attr = "{PACKAGE}.app.__version__"',
    'build-backend = "one_package"\nbackend-path = ["app/distribution"]': (
        'build-backend = "setuptools.build_meta"'
    ),
}


def build_wheel(
    wheel_directory: str,
    config_settings: Settings = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel from a copy of the project in one package."""
    target = str(Path(wheel_directory).resolve())
    metadata = metadata_directory and str(Path(metadata_directory).resolve())
    with _work_in_copy():
        name: str = build_meta.build_wheel(target, config_settings, metadata)
    return name


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: Settings = None
) -> str:
    """Write the wheel's metadata."""
    target = str(Path(metadata_directory).resolve())
    with _work_in_copy():
        name: str = build_meta.prepare_metadata_for_build_wheel(target, config_settings)
    return name


def rewrite(source: str) -> str:
    """Rewrite imports of rooms as imports from the package.

    ValueError for other forms.

    >>> rewrite("from index.items import Item\\nimport models")
    'from tessera_search.index.items import Item\\nfrom tessera_search import models'
    """
    rewritten = FROM.sub(rf"\1{PACKAGE}.\2", source)
    rewritten = IMPORT.sub(rf"\1from {PACKAGE} import \2", rewritten)
    for node in ast.walk(ast.parse(rewritten)):
        names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            if name.partition(".")[0] in ROOMS:
                raise ValueError(f"import {name} cannot be rewritten; use from {name} import …")
    return rewritten


@contextmanager
def _work_in_copy() -> Iterator[None]:
    """Within the context, work in a copy of the project."""
    project = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        _copy_package(project, copy / PACKAGE)
        for name in ("README.md", "LICENSE"):
            shutil.copy(project / name, copy)
        (copy / "pyproject.toml").write_text(_edit_project(project), "utf-8")
        os.chdir(copy)
        try:
            yield
        finally:
            os.chdir(project)


def _copy_package(project: Path, package: Path) -> None:
    for room in ROOMS:
        shutil.copytree(project / room, package / room, ignore=NOT_SHIPPED)
    shutil.copy(project / f"{COMMAND}.py", package)
    (package / "__init__.py").write_text('"""Tessera: see its folders."""\n', "utf-8")
    for file in package.rglob("*.py"):
        file.write_text(rewrite(file.read_text("utf-8")), "utf-8")


def _edit_project(project: Path) -> str:
    text = (project / "pyproject.toml").read_text("utf-8")
    for before, after in PROJECT.items():
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text
