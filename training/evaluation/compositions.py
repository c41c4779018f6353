"""Norms of composition matrices: what a sentence's tree counts for most (TACL, section 6.7)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from models.text_towers import composed
from models.text.trees import DependencyEncoder

OTHERS = "others"  # the kinds that share a matrix


@dataclass(frozen=True, slots=True)
class Composition:
    """A kind of edge, a relation or a position, and the Frobenius norm of its matrix."""

    kind: str
    norm: float


def compositions(tower: nn.Module) -> list[Composition]:
    """‖W_kind‖_F of every kind of edge, the largest first   (Socher et al. 2014, section 6.7).

    Matrices start as the identity plus noise, whose norm is about √H. ValueError for a text tower
    that does not compose along dependency trees.
    """
    if not isinstance(tower, composed.Model) or not isinstance(tower.compose, DependencyEncoder):
        raise ValueError("no matrix a relation or position: give an SDT-RNN or DT-RNN")
    config: composed.Config = tower.config
    if config.composition == "relation":
        kinds = [OTHERS, *config.relations]
    else:
        numbers = range(1, config.reach + 1)
        kinds = [OTHERS, *(f"left {n}" for n in numbers), *(f"right {n}" for n in numbers)]
    norms = tower.compose.compose.flatten(1).norm(dim=1).tolist()
    matrices = [Composition(kind, norm) for kind, norm in zip(kinds, norms, strict=True)]
    return sorted(matrices, key=lambda composition: (-composition.norm, composition.kind))
