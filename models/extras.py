"""Extras of the package, and commands that install them."""

from __future__ import annotations

DISTRIBUTION = "tessera-search"  # the package's name, as in pyproject.toml
# Modules that training imports wherever it needs them, and the extra that brings each.
MODULES = {"inflect": "train", "ir_measures": "train", "scipy": "train"}


def install(extra: str) -> str:
    """Return the command to add an extra where Tessera is installed."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def explain(absent: ModuleNotFoundError) -> str | None:
    """Return how to install a missing module of an extra, or None.

    >>> explain(ModuleNotFoundError(name="scipy.stats"))
    "scipy is not installed: pip install 'tessera-search[train]'"
    """
    module = (absent.name or "").partition(".")[0]
    extra = MODULES.get(module)
    return extra and f"{module} is not installed: {install(extra)}"
