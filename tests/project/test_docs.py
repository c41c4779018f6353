"""The documents are complete, their links and examples right."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest
import typer

import app
import app.cli
import training.cli
from app.settings import Settings
from app.settings_page import write_page
from models import registry
from training.runs import presets as inheritance

ROOT = Path(__file__).parents[2]
SETTINGS, COMMANDS_PAGE, TRAINING = (
    (ROOT / "docs" / name).read_text("utf-8")
    for name in ("use/settings.md", "use/commands.md", "research/training.md")
)
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("client*/*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("models/pretrained/**/*.md"),
    ]
)
RECORDS = sorted(ROOT.glob("docs/decisions/*/0*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)

EXAMPLES = [
    ".".join(file.relative_to(ROOT).with_suffix("").parts)
    for room in ("app", "index", "models", "training")
    for file in sorted((ROOT / room).rglob("*.py"))
    if ">>> " in file.read_text("utf-8")
]


def commands(room: typer.Typer) -> set[str]:
    return set(typer.main.get_group(room).commands)


# commands.md has the commands of search, training.md those that train and measure.
COMMANDS = {
    COMMANDS_PAGE: commands(app.cli.app),
    TRAINING: commands(training.cli.app),
}


def test_the_page_of_settings_is_written_from_their_descriptions():
    assert write_page() == SETTINGS, "run `make settings`"


BLOCK = re.compile(r"^```(?:sh|bash|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NO_CODE = re.compile(r"'[^']*'|^#.*", re.MULTILINE)  # texts in quotes, and comments
OF_SHELLS = {"HOME", "PATH", "PWD"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_commands_of_a_document_run_as_they_are_written(document: Path):
    text = document.read_text("utf-8")
    code = NO_CODE.sub("''", "".join(BLOCK.findall(text)))
    used = set(re.findall(r"\$\{?([A-Za-z_]+)", code)) - OF_SHELLS
    # A loop's variable is set by `for`, the others by an assignment.
    assert used <= set(re.findall(r"(?:^|\s)(?:for )?([A-Za-z_]+)(?:=| in )", code))
    if re.search(r"^tessera ", code, re.MULTILINE):
        assert 'export PATH="$PWD/.venv/bin:$PATH"' in text


def test_no_document_names_a_setting_that_is_not_there():
    pages = "".join(file.read_text("utf-8") for file in DOCUMENTS if file.name != "notes.md")
    named = set(re.findall(r"TESSERA_([A-Z_]+[A-Z])\b", pages))
    assert named == {name.upper() for name in Settings.model_fields}


@pytest.mark.parametrize(("document", "names"), COMMANDS.items(), ids=["commands", "training"])
def test_each_document_has_a_row_for_every_command_of_its_room_and_no_other(
    document: str, names: set[str]
):
    assert set(re.findall(r"^\| `tessera ([a-z-]+)", document, re.MULTILINE)) == names


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in registry.KINDS for name in registry.names(kind)]
)
def test_every_model_has_a_row(kind: str, name: str):
    assert f"| {kind.removesuffix('s').replace('_', ' ')} `{name}` |" in TRAINING


@pytest.mark.parametrize("name", inheritance.list_names())
def test_every_preset_is_in_the_table_of_presets(name: str):
    table = TRAINING.partition("## Presets")[2].partition("\n## ")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert any(f"`{name}`" in cell for cell in first_cells)


@pytest.mark.parametrize("module", EXAMPLES)
def test_examples_in_docstrings_hold(module: str):
    results = doctest.testmod(importlib.import_module(module))
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(document: Path):
    links = [link for link in LINK.findall(document.read_text("utf-8")) if "://" not in link]
    assert [link for link in links if not leads_somewhere(document, link)] == []


def leads_somewhere(document: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = document.parent / path if path else document
    return target.exists() and (not anchor or anchor in anchors(target))


def anchors(document: Path) -> set[str]:
    """The anchors of headings at GitHub."""
    headings = HEADING.findall(document.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_records_lie_in_folders_by_part_and_each_number_once():
    assert list((ROOT / "docs" / "decisions").glob("0*.md")) == []
    numbers = [record.name[:4] for record in RECORDS]
    assert len(numbers) == len(set(numbers)) > 50


@pytest.mark.parametrize("record", RECORDS, ids=lambda file: file.name[:4])
def test_a_record_is_short_has_a_status_and_is_in_the_index(record: Path):
    text = record.read_text("utf-8")
    assert len(re.findall(r"\S*\w\S*", text)) <= 300
    assert re.search(r"^Status: (accepted|replaced by \d{4})", text, re.MULTILINE)
    title = HEADING.findall(text)[0].partition(". ")[2]
    index = (record.parents[1] / "README.md").read_text("utf-8")
    place = f"{record.parent.name}/{record.name}"
    assert f"| [{record.name[:4]}]({place}) | {title} |" in index


def test_version_is_the_newest_of_the_changelog():
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\]", changelog, re.MULTILINE)
    assert newest is not None
    assert newest.group(1) == app.__version__
