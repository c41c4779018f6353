"""Names, dependencies and extras of the package."""

from __future__ import annotations

import ast
import hashlib
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from models import extras

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "pyproject.toml").read_text("utf-8")
PROJECT = tomllib.loads(TEXT)["project"]
CLIENT = tomllib.loads((ROOT / "client" / "pyproject.toml").read_text("utf-8"))["project"]
LOCKED = (ROOT / "requirements.lock").read_text("utf-8")
OPTIONAL: dict[str, list[str]] = PROJECT["optional-dependencies"]
ROOMS = ("app", "index", "models", "training")
NAMING = sorted(
    file
    for pattern in ("*.md", "docs/**/*.md", "client/**/*", *(f"{room}/**/*.py" for room in ROOMS))
    for file in ROOT.glob(pattern)
    if file.suffix in (".md", ".py", ".toml") and file.name != "CHANGELOG.md"
)
EXTRA = re.compile(r"\b(tessera[a-z-]*)\[([a-z]+)\]")
INSTALLED = re.compile(r"\bpip install(?: --?[\w-]+(?: cpu| other)?)* '?([^\s'`\")]+)")


def name_of(requirement: str) -> str:
    name = re.match(r"[\w.-]+", requirement)
    assert name is not None
    return name.group().lower().replace("_", "-")


BASE = set(map(name_of, PROJECT["dependencies"]))


def list_absent() -> set[str]:
    """List the modules of extras alone."""
    ours = {name_of(line) for lines in OPTIONAL.values() for line in lines} - BASE - {"srsly"}
    brought = packages_distributions().items()
    return {module for module, by in brought if {name_of(name) for name in by} & ours}


def test_names_are_the_same_everywhere() -> None:
    assert PROJECT["name"] == extras.DISTRIBUTION
    assert CLIENT["name"] == f"{extras.DISTRIBUTION}-client"
    assert CLIENT["optional-dependencies"]["local"] == [extras.DISTRIBUTION]
    assert set(extras.MODULES.values()) <= OPTIONAL.keys()


def test_no_document_or_message_names_another_project_or_an_absent_extra() -> None:
    assert {file.name for file in NAMING} >= {"README.md", "install.md", "extras.py"}
    for file in NAMING:
        text = file.read_text("utf-8")
        for name, extra in EXTRA.findall(text):
            assert name == extras.DISTRIBUTION, file
            assert extra in OPTIONAL, file
        for installed in INSTALLED.findall(text):
            # A folder or wheel of ours, our name, or what a message fills in.
            ours = (".", "dist/", extras.DISTRIBUTION, "{DISTRIBUTION}")
            assert installed.startswith(ours), file
        assert set(re.findall(r"extras\.install\(\W(\w+)", text)) <= OPTIONAL.keys(), file
        for listed in re.findall(r"EXTRAS=([\w,]+)", text):
            assert set(listed.split(",")) <= OPTIONAL.keys(), file


def test_every_dependency_says_in_a_line_why_it_is_there() -> None:
    block = TEXT.partition("dependencies = [\n")[2].partition("\n]")[0]
    assert len(block.splitlines()) == len(PROJECT["dependencies"])
    assert [line for line in block.splitlines() if not re.search(r'",\s*# \w+', line)] == []


@pytest.mark.parametrize(
    "name",
    sorted({name_of(line) for lines in [*OPTIONAL.values()] for line in lines} | BASE),
)
def test_every_dependency_is_pinned(name: str) -> None:
    pinned = re.search(rf"^{re.escape(name)}==\S+", LOCKED, re.MULTILINE)
    assert pinned or name == "pycocoevalcap"  # its Java is not tested


def test_what_the_package_of_weights_asks_for_is_not_pinned() -> None:
    assert not re.search(r"^(sentence-transformers|scikit-learn|joblib)==", LOCKED, re.MULTILINE)
    assert "--index" not in LOCKED
    assert "://" not in LOCKED


def import_at_start(body: list[ast.stmt]) -> Iterator[str]:
    """List modules of the imports at a module's start."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Try | ast.With):
            yield from import_at_start(node.body)


def test_what_serves_starts_without_any_extra() -> None:
    absent = list_absent()
    assert {"av", "matplotlib", "ray", "transformers"} <= absent
    starting = [ROOT / "tessera.py", *(ROOT / "training" / "cli").glob("*.py")]
    starting += [
        file for room in ("app", "index", "models") for file in (ROOT / room).rglob("*.py")
    ]
    # What is of clusters is imported where there is one, see the contract on Ray.
    starting = [file for file in starting if "cluster" not in (*file.parts, file.stem)]
    imported = {
        (file.name, module.partition(".")[0])
        for file in starting
        for module in import_at_start(ast.parse(file.read_text("utf-8")).body)
    }
    assert {pair for pair in imported if pair[1] in absent} == set()


def test_the_files_of_swagger_ui_are_those_of_its_package() -> None:
    folder = ROOT / "app" / "swagger_ui"
    rows = re.findall(r"^\| `(\S+)` \| (\w{64}) \|", (folder / "README.md").read_text(), re.M)
    assert {name for name, _ in rows} == {"swagger-ui-bundle.js", "swagger-ui.css"}
    for name, digest in rows:
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
