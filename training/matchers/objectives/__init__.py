"""Objectives: a module in this folder is one, found by its name; their weighted sum is the loss.

An objective is a function called like its module. It takes a Match and options, by keyword with
defaults, and gives a scalar.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from training.matchers.match import Match

Objective = Callable[..., Tensor]  # of a Match and options


def list_names() -> list[str]:
    """The objectives there are, in alphabetical order."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def find(name: str) -> Objective:
    """An objective by its name; LookupError names the ones there are."""
    if name not in list_names():
        raise LookupError(f"no objective {name!r}; there are: {', '.join(list_names())}")
    objective: Objective = getattr(importlib.import_module(f"{__name__}.{name}"), name)
    return objective


def list_options(name: str) -> set[str]:
    """What can be set of an objective."""
    return set(find(name).__annotations__) - {"match", "return"}


@dataclass(frozen=True, slots=True)
class ObjectiveTerm:
    """One objective of a training, its weight, and the epochs (from 1, both included) it rules."""

    name: str
    weight: float = 1.0
    first: int = 1
    last: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def rules(self, epoch: int) -> bool:
        """Whether the objective counts in an epoch."""
        return self.first <= epoch and (self.last is None or epoch <= self.last)


def total(terms: Sequence[ObjectiveTerm], match: Match, epoch: int) -> Tensor:
    """The weighted sum of the objectives that rule in an epoch."""
    return sum(
        (term.weight * find(term.name)(match, **term.options)
         for term in terms if term.rules(epoch)),
        start=match.scores.new_zeros(()),
    )  # fmt: skip
