"""Extras of the package and their installation."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]  # of a checkout or an editable installation, as of the package
DISTRIBUTION = "tessera-search"  # the package's name, as in pyproject.toml
# Modules that training imports wherever it needs them, and the extra that brings each.
MODULES = {"inflect": "train", "ir_measures": "train", "scipy": "train"}


def install(extra: str) -> str:
    """Return the command to add an extra to this installation.

    In a checkout, pip would leave the pinned versions.
    """
    if all((ROOT / file).is_file() for file in ("Makefile", "pyproject.toml")):
        return f"make install EXTRAS={extra}"
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def explain(absent: ModuleNotFoundError) -> str | None:
    """Name a missing module and the extra to install, if any.

    >>> explain(ModuleNotFoundError(name="scipy.stats"))
    'scipy is not installed: make install EXTRAS=train'
    """
    module = (absent.name or "").partition(".")[0]
    extra = MODULES.get(module)
    return extra and f"{module} is not installed: {install(extra)}"
