"""Extras of the package and their installation."""

from __future__ import annotations

DISTRIBUTION = "tessera-search"  # the package's name, as in pyproject.toml
# Modules that training imports wherever it needs them, and the extra that brings each.
MODULES = {"inflect": "train", "ir_measures": "train", "scipy": "train"}


def install(extra: str) -> str:
    """Return the command to add an extra to an installation."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def explain(absent: ModuleNotFoundError) -> str | None:
    """Name a missing module and the extra to install, if any.

    >>> explain(ModuleNotFoundError(name="scipy.stats"))
    "scipy is not installed: pip install 'tessera-search[train]'"
    """
    module = (absent.name or "").partition(".")[0]
    extra = MODULES.get(module)
    return extra and f"{module} is not installed: {install(extra)}"
