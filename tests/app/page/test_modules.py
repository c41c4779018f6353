"""The modules of the page and their imports."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from pathlib import Path

import app

PAGE = Path(app.__file__).parent / "page"
IMPORT = re.compile(r'^(?:import|export)\b[^;]*?"(\.[^"]+)";$', re.MULTILINE)


def test_modules_import_each_other_in_no_circle() -> None:
    modules = {file: IMPORT.findall(file.read_text("utf-8")) for file in PAGE.rglob("*.js")}
    imports = {
        file: [(file.parent / name).resolve() for name in names] for file, names in modules.items()
    }
    assert all(module in imports for names in imports.values() for module in names)
    assert [*TopologicalSorter(imports).static_order()][-1].name == "main.js"
