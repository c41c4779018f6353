"""The documentation site has every page, and is built without a warning."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tessera_client import Client

ROOT = Path(__file__).parents[2]
CONFIGURATION = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]
PAGES = [ROOT / "README.md", *ROOT.glob("docs/use/*.md"), *ROOT.glob("docs/research/*.md")]
SMALL = '[project]\nsite_name = "small"\nnav = ["index.md"]\n'


def names(nav: Any) -> Iterator[str]:
    """The pages of a navigation."""
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from names(part)


def build(*command: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own commands
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_navigation_has_every_page_of_use_and_research() -> None:
    listed = list(names(CONFIGURATION["nav"]))
    assert len(listed) == len(set(listed))
    assert {str(page.relative_to(ROOT)) for page in PAGES} <= set(listed)
    assert [name for name in listed if not (ROOT / name).exists()] == []


@pytest.mark.system
@pytest.mark.timeout(600)
def test_the_site_is_built_whole_and_loads_nothing_from_elsewhere() -> None:
    built = build(sys.executable, "docs/make_site.py", folder=ROOT)
    assert built.returncode == 0, built.stdout + built.stderr
    site = ROOT / CONFIGURATION["site_dir"]
    for name in names(CONFIGURATION["nav"]):
        page = (site / name).with_suffix(".html")
        html = page.with_stem("index" if page.stem == "README" else page.stem).read_text("utf-8")
        assert re.findall(r'<(?:script|img|link)[^>]*(?:src|href)="(?:https?:)?//', html) == []
    reference = (site / "docs" / "use" / "python.html").read_text("utf-8")
    methods = {name for name in vars(Client) if not name.startswith("_")}
    assert {name for name in methods if f"Client.{name}" not in reference} == set()
    assert "calls.searches.search_images" in reference


@pytest.mark.system
@pytest.mark.timeout(600)
@pytest.mark.parametrize("link", ["absent.md", "index.md#absent"])
def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path, link: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Small\n\n[A link]({link}).\n", "utf-8")
    (tmp_path / "zensical.toml").write_text(SMALL, "utf-8")
    zensical = Path(sys.executable).parent / "zensical"
    built = build(zensical, "build", "--strict", folder=tmp_path)
    assert built.returncode != 0, built.stdout
