"""Canonical correlations of phrases and boxes, for linear branches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torchvision.ops import box_iou

from models.grounders.two_branch import Model
from models.layers import Branch
from models.scores.correlation import Correlation, directions, regularise
from training.grounders.objectives import RIGHT

MOST_PAIRS = 10  # boxes of the same words (Wang et al. 2016, section 3.3)

Pairs = Iterable[tuple[Tensor, Tensor]]  # regions (N, C) and their phrases (N, C')


@dataclass(slots=True)
class Moments:
    """Sums over pairs of regions x and phrases y, in double precision."""

    count: int = 0
    sums: dict[str, Tensor] = field(default_factory=dict)

    def add(self, x: Tensor, y: Tensor) -> None:
        """Add pairs, x (N, C) and y (N, C')."""
        x, y = x.double(), y.double()
        new = {"x": x.sum(0), "y": y.sum(0), "xx": x.T @ x, "yy": y.T @ y, "xy": x.T @ y}
        self.count += len(x)
        self.sums = {name: self.sums.get(name, 0) + value for name, value in new.items()}

    def mean(self, side: str) -> Tensor:
        """The mean of a side, (C,)."""
        return self.sums[side] / self.count

    def covariance(self, one: str, other: str) -> Tensor:
        """The covariance of two sides, (C, C')."""
        products = self.sums[one + other] / self.count
        return products - torch.outer(self.mean(one), self.mean(other))


@torch.no_grad()
def solve(model: Model, pairs: Pairs, options: Correlation) -> None:
    """Solve for both linear branches by canonical correlations.

    ValueError for a model with hidden layers, or without a pair.
    """
    if model.config.hidden:
        raise ValueError(f"hidden is {model.config.hidden}: correlations need linear branches, 0")
    moments = Moments()
    for x, y in pairs:
        moments.add(x, y)
    if not moments.count:
        raise ValueError("no phrase has a proposal on its box: there is nothing to correlate")
    xx, yy = (
        regularise(covariance, torch.eye(len(covariance)).to(covariance), options.ridge)
        for covariance in (moments.covariance("x", "x"), moments.covariance("y", "y"))
    )
    xy = moments.covariance("x", "y")
    a, b, correlations = directions(xx, yy, xy, model.config.embedding)
    scale = correlations**options.power
    project(model.regions, a * scale, moments.mean("x"))
    project(model.phrases, b * scale, moments.mean("y"))


def project(branch: Branch, axes: Tensor, centre: Tensor) -> None:
    """Give a linear branch its directions (C, D), of inputs around their centre (C,)."""
    linear = branch.layers[-1]
    assert isinstance(linear, nn.Linear)
    linear.weight.copy_(axes.T)
    linear.bias.copy_(-(centre.to(axes) @ axes))


def pair_boxes(
    boxes: Tensor, truth: Tensor, texts: Sequence[str], taken: Counter[str]
) -> tuple[list[int], list[int]]:
    """Pair a photo's phrases with the best proposals on their boxes.

    Shapes: boxes (R, 4), truth (P, 4). Gives places of proposals and of phrases; a phrase whose
    box no proposal covers has none, and the same words have MOST_PAIRS in all. `taken` counts
    the pairs of each text so far.
    """
    overlaps, places = box_iou(truth, boxes).max(dim=1)
    chosen = []
    for phrase, text in enumerate(texts):
        if overlaps[phrase] >= RIGHT and taken[text] < MOST_PAIRS:
            taken[text] += 1
            chosen.append(phrase)
    return places[chosen].tolist(), chosen
