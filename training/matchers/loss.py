"""The loss of a matcher: a weighted sum of objectives.

A module's name finds each.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from training.matchers import objectives
from training.matchers.objectives import Match

Objective = Callable[..., Tensor]  # of a Match and options


def list_names() -> list[str]:
    """List the objectives in alphabetical order."""
    return sorted(module.name for module in pkgutil.iter_modules(objectives.__path__))


def find(name: str) -> Objective:
    """Find an objective by its name; LookupError names the ones there are."""
    if name not in list_names():
        raise LookupError(f"no objective {name!r}; there are: {', '.join(list_names())}")
    objective: Objective = getattr(importlib.import_module(f"{objectives.__name__}.{name}"), name)
    return objective


def list_options(name: str) -> set[str]:
    """List the options of an objective."""
    return set(find(name).__annotations__) - {"match", "return"}


@dataclass(frozen=True, slots=True)
class ObjectiveTerm:
    """One objective of a training, its weight, and its epochs (from 1, both included)."""

    name: str
    weight: float = 1.0
    first: int = 1
    last: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def rules(self, epoch: int) -> bool:
        """Return whether the objective counts in an epoch."""
        return self.first <= epoch and (self.last is None or epoch <= self.last)


def total(terms: Sequence[ObjectiveTerm], match: Match, epoch: int) -> Tensor:
    """Sum the weighted objectives of an epoch."""
    return sum(
        (term.weight * find(term.name)(match, **term.options)
         for term in terms if term.rules(epoch)),
        start=match.scores.new_zeros(()),
    )  # fmt: skip
