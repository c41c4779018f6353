"""Do the documents name what there is, and do their links lead somewhere?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

import app.cli
import training.cli
from app.settings import Settings
from models import registry
from training import preset

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")

COMMANDS = {
    name
    for commands in (app.cli.app, training.cli.app)
    for name in typer.main.get_group(commands).commands
}


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_readme_names_every_setting(name: str):
    assert f"| `TESSERA_{name.upper()}` |" in README


def test_readme_names_no_setting_that_is_not_there():
    named = set(re.findall(r"TESSERA_([A-Z_]+)", README))
    assert named == {name.upper() for name in Settings.model_fields}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_readme_names_every_command(name: str):
    assert re.search(rf"^\| `tessera {name}[ `]", README, re.MULTILINE)


def test_readme_names_no_command_that_is_not_there():
    assert set(re.findall(r"^\| `tessera ([a-z-]+)", README, re.MULTILINE)) == COMMANDS


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in registry.KINDS for name in registry.names(kind)]
)
def test_readme_names_every_model(kind: str, name: str):
    assert f"| {kind.removesuffix('s').replace('_', ' ')} `{name}` |" in README


@pytest.mark.parametrize("name", preset.names())
def test_readme_names_every_preset(name: str):
    rows = [line for line in README.splitlines() if line.startswith("| matcher ")]
    assert any(f"`{name}`" in row.split("|")[2] for row in rows)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(document: Path):
    links = [link.partition("#")[0] for link in LINK.findall(document.read_text("utf-8"))]
    relative = [link for link in links if link and "://" not in link]
    assert [link for link in relative if not (document.parent / link).exists()] == []
