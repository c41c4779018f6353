"""Ranking objective: true pairs above false ones, by a margin."""

from __future__ import annotations

from torch import Tensor

from training.matchers.objectives import Match


def ranking(
    match: Match, margin: float = 1.0, images: float = 1.0, sentences: float = 1.0
) -> Tensor:
    """C = Σ_l [Σ_k' max(0, S_k'l − S_kl + Δ) + Σ_l' max(0, S_kl' − S_kl + Δ)], k the image of l.

    (Karpathy et al. 2014, eq. 7; Karpathy & Fei-Fei 2015, eq. 9, with the margin 1 as Δ.) Gives a
    scalar: the sum over false images k' and false sentences l'. `images` and `sentences` weigh
    the two directions. The papers' sums take the true pair in, which adds a constant and no
    gradient; without it a batch in perfect order costs 0.
    """
    scores, true = match.scores, match.true
    true_scores = scores.gather(0, match.owners[None, :])  # (1, L) the score of each true pair
    rank_images = (scores - true_scores + margin).clamp_min(0).masked_fill(true, 0).sum()
    if not sentences:
        return images * rank_images
    rivals = scores[match.owners]  # (L, L) what the image of each sentence gives to all
    rank_sentences = (
        (rivals - true_scores.T + margin).clamp_min(0).masked_fill(true[match.owners], 0).sum()
    )
    return images * rank_images + sentences * rank_sentences
