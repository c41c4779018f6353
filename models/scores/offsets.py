"""Offsets: a sentence's average score with photos, and a photo's with texts, are subtracted."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from models.types import PaddedBags

WEIGHTS = 0.7, 0.4  # λ of sentences' offsets, and of photos', if a matcher has no others
TEMPERATURE, PHOTO_TEMPERATURE = 2.0, 1.0  # τ in units of the score

# ε and δ. Photos are compared with photos, too, and sentences with sentences: there an offset must
# be small compared with the rest. A smaller δ helps texts among texts, a larger one
# photos among photos.
SCALE = 0.1
PHOTO_SCALE = 0.15


class Offsets(nn.Module):
    """S_kl + b_l + c_k: sentences and photos with high scores everywhere lose.

    b_l = −λ τ log mean_j exp(r_jᵀ Σ_t s_t / τ), r_j the whole-photo vectors of reference photos;
    c_k = −λ τ log mean_j exp((f_kᵀ q_j + b_j) / τ) − c̄, f_k the vector of the whole photo, q_j the
    summed words of reference sentences with their own offsets b_j, and c̄ the mean over the
    reference photos. Each side has its own λ and τ. This is the inverted softmax (Smith et al.
    2017): it divides by a query's sum over many answers, and by an answer's sum over many queries.
    References stand for them, so that it needs nothing of the searched collection.

    An offset is shared out over fragments: every image fragment has 1 / ε and c_k / δ as further
    numbers, and each of T sentence fragments ε b_l / T and δ / T. Without reference sentences there
    is no c_k and none of its numbers.
    """

    references: Tensor
    sentence_references: Tensor
    level: Tensor

    def __init__(
        self,
        photos: int,
        sentences: int,
        dimension: int,
        weights: tuple[float, float] = WEIGHTS,
    ) -> None:
        super().__init__()
        self.weight, self.photo_weight = weights
        self.register_buffer("references", torch.zeros(photos, dimension))
        self.of_photos = bool(sentences)
        if self.of_photos:
            self.register_buffer("sentence_references", torch.zeros(sentences, dimension + 1))
            self.register_buffer("level", torch.zeros(()))

    @property
    def numbers_added(self) -> int:
        """The count of further numbers in every vector."""
        return 1 + self.of_photos

    def refer(self, photos: Tensor) -> None:
        """Take the whole-photo vectors (N, D) of the reference photos."""
        self.references.copy_(photos)

    def refer_sentences(self, sums: Tensor) -> None:
        """Take the summed fragments (M, D + 1) of the reference sentences, offsets among them."""
        self.sentence_references.copy_(sums)
        self.level.zero_()
        photos = self.references
        ones = torch.full_like(photos[:, :1], 1 / SCALE)
        self.level.copy_(self.of_whole(torch.cat([photos, ones], -1)).mean())

    def of(self, sums: Tensor) -> Tensor:
        """The offsets b (L,) of sentences with the sums of fragments (L, D)."""
        return -self.weight * measure_strength(sums, self.references, TEMPERATURE)

    def of_whole(self, photos: Tensor) -> Tensor:
        """The offsets c (K,) of photos with the whole-photo vectors (K, D + 1)."""
        strength = measure_strength(photos, self.sentence_references, PHOTO_TEMPERATURE)
        return -self.photo_weight * strength - self.level

    def images(self, bags: PaddedBags) -> PaddedBags:
        """Bags (K, R, D) with the counterparts of offsets, (K, R, D + 1 or 2)."""
        ones = torch.full_like(bags.vectors[..., :1], 1 / SCALE)
        vectors = torch.cat([bags.vectors, ones], -1)
        if self.of_photos:
            whole = vectors[:, 0]
            offsets = torch.zeros_like(whole[:, 0]) if self.training else self.of_whole(whole)
            shares = (offsets / PHOTO_SCALE)[:, None, None].expand(-1, vectors.shape[1], 1)
            vectors = torch.cat([vectors, shares.to(vectors)], -1)
        return PaddedBags(vectors, bags.mask)

    def sentences(self, bags: PaddedBags) -> PaddedBags:
        """Bags (L, T, D) with their offsets, which are zero while training."""
        sizes = bags.mask.sum(1)
        sums = (bags.vectors * bags.mask[..., None]).sum(1)  # (L, D)
        offsets = torch.zeros_like(sums[:, 0]) if self.training else self.of(sums)
        added = [SCALE * offsets / sizes]
        if self.of_photos:
            added.append(PHOTO_SCALE / sizes)
        shares = torch.stack(added, -1)[:, None].expand(-1, bags.mask.shape[1], -1)
        return PaddedBags(torch.cat([bags.vectors, shares.to(bags.vectors)], -1), bags.mask)


def measure_strength(vectors: Tensor, references: Tensor, temperature: float) -> Tensor:
    """τ log mean_j exp(v_iᵀ r_j / τ), (N,): strength of v (N, D) at references (M, D)."""
    logits = vectors.float() @ references.T.float() / temperature  # (N, M)
    mean = torch.logsumexp(logits, 1) - math.log(len(references))
    return temperature * mean
