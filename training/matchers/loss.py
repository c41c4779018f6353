"""The loss of a matcher: a weighted sum of objectives.

A module's name finds each.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_type_hints

from torch import Tensor

from training.matchers import objectives
from training.matchers.objectives import Match
from training.runs.loop import Loss

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


def option_types(name: str) -> dict[str, Any]:
    """Return the types of an objective's options by name."""
    types = get_type_hints(find(name))
    return {option: types[option] for option in list_options(name)}


@dataclass(frozen=True, slots=True)
class ObjectiveTerm:
    """One objective of a training, its weight, and its epochs (from 1, both included)."""

    name: str
    weight: float = 1.0
    first: int = 1
    last: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def rescale(self, before: int, after: int) -> ObjectiveTerm:
        """Keep the shares of all epochs with another number of them.

        Terms that follow each other still do; one that shrinks to nothing counts in no epoch.
        """
        first = (self.first - 1) * after // before + 1
        last = None if self.last is None else self.last * after // before
        return replace(self, first=first, last=last)

    def last_of(self, epochs: int) -> int:
        """Return the objective's last epoch, by default the training's."""
        return epochs if self.last is None else self.last

    def describe(self, epochs: int) -> str:
        """Describe the objective and its epochs in a training of so many.

        >>> ObjectiveTerm("ranking", first=2).describe(6)
        'ranking 2 to 6'
        """
        return f"{self.name} {self.first} to {self.last_of(epochs)}"

    def counts_in(self, epoch: int) -> bool:
        """Return whether the objective counts in an epoch."""
        return self.first <= epoch and (self.last is None or epoch <= self.last)


def weigh_terms(terms: Sequence[ObjectiveTerm], match: Match, epoch: int) -> Loss:
    """Sum the weighted objectives of an epoch."""
    total = match.scores.new_zeros(())
    values: dict[str, Tensor] = {}
    for term in terms:
        if term.counts_in(epoch):
            value = find(term.name)(match, **term.options)
            total = total + term.weight * value
            values[term.name] = values.get(term.name, 0) + value.detach()
    return Loss(total, values)
