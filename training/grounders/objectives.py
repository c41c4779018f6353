"""Objectives of phrases and regions: full or weak supervision."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision.ops import box_iou

from training.matchers.objectives.structure import violations

RIGHT = 0.5  # least IoU of a right proposal


@dataclass(frozen=True, slots=True)
class PhraseMatch:
    """K photos' regions (K, R, D), P phrases (P, D), and their truth.

    owners (P,) is the photo of each, words (P,) a number for its text, truth (P, 4) its box, and
    boxes (K, R, 4) the regions'.
    """

    regions: Tensor
    phrases: Tensor
    owners: Tensor
    words: Tensor
    truth: Tensor
    boxes: Tensor


def supervised_loss(
    match: PhraseMatch,
    margin: float,
    top: int,
    mining: float,
    lambda_1: float = 1.0,
    lambda_2: float = 0.0,
    lambda_3: float = 0.0,
) -> Tensor:
    """Compute eq. 5 for regions and phrases (Wang, Li & Lazebnik 2016, section 3.3).

    Gives a scalar. A phrase's pair is the proposal that overlaps its box most. Negatives are the
    pairs of other phrases, unless the words or the boxes are the same; the `top` most violated
    count, both ways; lambda_1 weighs those of a phrase's regions (eq. 2). Those of the same words
    or boxes are neighbours: lambda_2 weighs that regions of neighbours lie closer than others by
    the margin (eq. 3), lambda_3 that phrases do (eq. 4). With `mining`, the proposals of its own
    photo that lie nearer to it than any right one by the margin are its hard negatives, and
    neighbours do not count, as published.
    """
    photo_regions = match.regions[match.owners]  # (P, R, D)
    overlap = measure_overlaps(match)  # (P, R)
    best, place = overlap.max(dim=1)
    covered = best >= RIGHT
    phrases, regions = match.phrases[covered], photo_regions[covered, place[covered]]
    distances = torch.cdist(phrases, regions)  # (N, N)
    pairs = distances.diagonal()
    true = find_same(match, covered)
    loss = distances.new_zeros(())
    for weight, d in ((lambda_1, distances), (1.0, distances.T)):
        hinges = (margin + pairs[:, None] - d).clamp_min(0).masked_fill(true, 0)
        loss = loss + weight * hinges.topk(min(top, len(d)), dim=1).values.sum(1).mean()
    if mining:
        inside = torch.cdist(phrases[:, None], photo_regions[covered])[:, 0]  # (N, R)
        return loss + mining * hard_negatives(inside, overlap[covered] >= RIGHT, margin)
    for weight, vectors in ((lambda_2, regions), (lambda_3, phrases)):
        if weight:
            within = violations(torch.cdist(vectors, vectors), true, margin, top)
            loss = loss + weight * within / max(1, len(vectors))
    return loss


def hard_negatives(inside: Tensor, right: Tensor, margin: float) -> Tensor:
    """Add up wrong proposals' advantage over the nearest right one.

    Shapes: distances of proposals (N, R), right (N, R) bool; gives a scalar, a mean over phrases.
    """
    nearest = inside.masked_fill(~right, float("inf")).amin(dim=1, keepdim=True)
    hard = (margin + nearest - inside).clamp_min(0).masked_fill(right, 0)
    return hard.sum(1).mean()


def measure_overlaps(match: PhraseMatch) -> Tensor:
    """Measure the IoU (P, R) of each phrase's box and its photo's proposals."""
    pairs = zip(match.truth, match.boxes[match.owners], strict=True)
    return torch.stack([box_iou(true[None], boxes)[0] for true, boxes in pairs])


def find_same(match: PhraseMatch, covered: Tensor) -> Tensor:
    """Find pairs (N, N) of phrases with the same words, or the same boxes."""
    owners, words, truth = match.owners[covered], match.words[covered], match.truth[covered]
    boxes = (owners[:, None] == owners) & (box_iou(truth, truth) >= RIGHT)
    alike: Tensor = boxes | (words[:, None] == words)
    return alike


def weak_loss(
    match: PhraseMatch, preference: Tensor, temperature: float, sharpness: float
) -> Tensor:
    """Contrast photos under weak supervision, without phrases' boxes.

        a_pi = softmax_i((x_iᵀ y_p + preference_i) / temperature),  S_kp = Σ_i a_pi x_iᵀ y_p

    A phrase belongs to its own photo among the batch's, and a photo to its phrases.
    """
    K, R, D = match.regions.shape
    similarity = (match.phrases @ match.regions.view(K * R, D).T).view(-1, K, R)
    attention = ((similarity + preference) / temperature).softmax(dim=-1)
    scores = sharpness * (attention * similarity).sum(dim=-1)  # (P, K)
    photos = F.cross_entropy(scores, match.owners)
    phrases = scores.T.log_softmax(dim=1)[match.owners, torch.arange(len(scores))]  # (P,)
    return photos - 0.5 * phrases.mean()
