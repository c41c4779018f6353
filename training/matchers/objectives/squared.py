"""Squared distance of an image's vector from its own sentences' vectors."""

from __future__ import annotations

from torch import Tensor

from training.matchers.objectives import Match

SLACK = 1e-3  # rounding error of a negative distance, as a share of the largest
SIDES = ("both", "images", "sentences")


def squared(match: Match, moves: str = "both") -> Tensor:
    """J = Σ_{(i,j) ∈ P} ‖v_i − y_j‖²        (Socher et al. 2014, section 5; table 2).

    Gives a scalar, the mean over the true pairs P of a batch. It is for matchers of one vector a
    side whose scores are −‖v − y‖². `moves` says which side is learned ("images", "sentences" or
    "both"): the paper's alternating minimisation trains one while the other is fixed.

    Raises ValueError for scores that are no negative squared distances, or an unknown side.
    """
    if moves not in SIDES:
        raise ValueError(f"squared moves one of {', '.join(SIDES)}, not {moves!r}")
    if match.scores.max() > SLACK * match.scores.abs().max():
        raise ValueError("squared wants scores −‖v − y‖²: give the model euclidean = true")
    images, sentences = match.images.vectors[:, 0], match.sentences.vectors[:, 0]
    if moves == "sentences":
        images = images.detach()
    if moves == "images":
        sentences = sentences.detach()
    return -(images[match.owners] * sentences).sum(1).mean()
