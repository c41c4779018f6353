"""A release has the changelog's notes, and its workflow pinned actions."""

from __future__ import annotations

import json
import re
import runpy
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import app

ROOT = Path(__file__).parent.parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CHANGELOG = "# Changes\n\n## [0.2.0] - 2026-12-01\n\n- New.\n\n## [0.1.0] - Unreleased\n\n- Old.\n"


@pytest.fixture
def find_section() -> Callable[[str, str | None], str]:
    found: Callable[[str, str | None], str] = runpy.run_path(
        str(ROOT / "deploy" / "write_notes.py")
    )["find_section"]
    return found


def test_notes_are_the_section_of_the_version(
    find_section: Callable[[str, str | None], str],
) -> None:
    assert find_section(CHANGELOG, "0.1.0") == "- Old.\n"
    assert find_section(CHANGELOG, None) == "- New.\n"
    with pytest.raises(LookupError, match=r"no section of 1\.0\.0, but of 0\.2\.0, 0\.1\.0"):
        find_section(CHANGELOG, "1.0.0")
    assert find_section((ROOT / "CHANGELOG.md").read_text("utf-8"), app.__version__).strip()


def test_packages_have_the_version_of_the_service() -> None:
    client = tomllib.loads((ROOT / "client" / "pyproject.toml").read_text("utf-8"))["project"]
    typescript = json.loads((ROOT / "client-ts" / "package.json").read_text("utf-8"))
    assert {client["version"], typescript["version"]} == {app.__version__}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.name)
def test_actions_are_pinned_by_hash_and_make_targets_exist(workflow: Path) -> None:
    text = workflow.read_text("utf-8")
    used = re.findall(r"uses: (\S+)", text)
    assert [each for each in used if not re.search(r"^\./|@[0-9a-f]{40}$", each)] == []
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert set(re.findall(r"run: make ([a-z-]+)", text)) <= targets
