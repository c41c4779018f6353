"""Objectives: functions from a batch's Match to a scalar, and weighted sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from training.objectives.contrastive import contrastive
from training.objectives.distillation import distillation
from training.objectives.fragments import fragments
from training.objectives.match import Match
from training.objectives.ranking import ranking
from training.objectives.squared import squared
from training.objectives.structure import structure

OBJECTIVES: dict[str, Callable[..., Tensor]] = {
    "contrastive": contrastive,
    "distillation": distillation,
    "fragments": fragments,
    "ranking": ranking,
    "squared": squared,
    "structure": structure,
}


@dataclass(frozen=True, slots=True)
class Term:
    """One objective of a training, its weight, and the epochs (from 1, both included) it rules."""

    name: str
    weight: float = 1.0
    first: int = 1
    last: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def rules(self, epoch: int) -> bool:
        """Whether the objective counts in an epoch."""
        return self.first <= epoch and (self.last is None or epoch <= self.last)


def total(terms: Sequence[Term], match: Match, epoch: int) -> Tensor:
    """The weighted sum of the objectives that rule in an epoch."""
    return sum(
        (term.weight * OBJECTIVES[term.name](match, **term.options)
         for term in terms if term.rules(epoch)),
        start=match.scores.new_zeros(()),
    )  # fmt: skip
