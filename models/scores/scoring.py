"""Scores of an image and a sentence: value, links, kernel and summaries, one class a score.

A score compares the fragments v_i of an image with the fragments s_t of a sentence. Everything that
depends on the score is a method of its class: a new score is one more class in SCORES. Imports
torch only where it computes, see models.types.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from models.scores.kernels import SMOOTHING, Floats, means_of_positives, sums_of_maxima
from models.types import WHOLE_PHOTO, FragmentBag, Link, PaddedBags

if TYPE_CHECKING:
    from torch import Tensor


def products(images: PaddedBags, sentences: PaddedBags) -> Tensor:
    """v_iᵀ s_t of the N real fragments of sentences with images: (N, K, R).

    Only real words are multiplied: half of the places in a batch are padding.
    """
    from models.scores.reductions import DotProducts

    K, R, D = images.vectors.shape
    words = sentences.vectors[sentences.mask]  # (N, D)
    flat: Tensor = DotProducts.apply(words, images.vectors.reshape(K * R, D))
    return flat.view(-1, K, R)


@dataclass(frozen=True, slots=True)
class ProductErrors:
    """The largest errors of products, rows @ query: (B, E) and (E, T), not negative.

    B rows have `sizes` (B,) fragments each, and the query has T.
    """

    rows: Floats
    query: Floats
    sizes: NDArray[np.int64]
    rows_are_images: bool


class Score(ABC):
    """A score of an image and a sentence.

    `kernel` is compiled. It writes the scores (B,) of stored rows and a query of T fragments, from
    parts of their products. The product of fragment f of row b with fragment t of the query is
    scales[b] · (dots[f, t] · query_scales[t] + fragment_shifts[f]) + row_shifts[b, t]; row b has
    the fragments offsets[b : b + 2]. Columns of dots from T on do not count. If rows are images,
    fragment_shifts are zeros. If the query is floored, no maximum counts less than `least`.
    """

    name: ClassVar[str]
    kernel: ClassVar[Callable[..., None]]
    reduction: ClassVar[Literal["maxima", "positives"] | None] = (
        None  # what a GPU's kernel adds up, see models.scores.cuda; None for torch alone
    )
    adds_shifts: ClassVar[bool] = (
        False  # whether a common part of all products is a constant of the score
    )
    whole_first: ClassVar[bool] = True  # whether an image's first fragment is no region of it
    ranked_by_summaries: ClassVar[bool] = True  # whether rows are left out by their summaries
    ranked_by_pooling: ClassVar[bool] = False  # whether by the scores of pooled fragments instead
    linear_alone: ClassVar[bool] = (
        False  # whether an image of one fragment scores its product with the sentence's summary
    )

    def __call__(self, images: PaddedBags, sentences: PaddedBags) -> Tensor:
        """Scores (K, L) of images (K, R, D) and sentences (L, T, D)."""
        return self.combine(products(images, sentences), images.mask, sentences.mask)

    @abstractmethod
    def combine(self, products: Tensor, images: Tensor, sentences: Tensor) -> Tensor:
        """Scores (K, L) of `products` (N, K, R) and both sides' masks, (K, R) and (L, T)."""

    @abstractmethod
    def links(self, image: FragmentBag, sentence: FragmentBag) -> tuple[Link, ...]:
        """The terms of a pair's score; they add up to it."""

    @abstractmethod
    def without(
        self, others: Tensor, fragments: Tensor, links: Sequence[Link], region: int
    ) -> float:
        """The score without one region, by the links; others (R - 1, D), fragments (T, D)."""

    def floor(self, images: PaddedBags) -> PaddedBags:
        """Images (K, R, D) with a floor of 0 for each sentence fragment."""
        return images

    @abstractmethod
    def image_summary(self, vectors: Floats, starts: NDArray[np.int64]) -> Floats:
        """One vector m an image, (B, D), of fragments (N, D) from `starts` (B,).

        m · g with the sentence's summary g is close to the score, and ranks like it.
        """

    @abstractmethod
    def sentence_summary(self, vectors: Floats, starts: NDArray[np.int64]) -> Floats:
        """One vector g a sentence, (B, D), of fragments (N, D) from `starts` (B,)."""

    @abstractmethod
    def error(self, errors: ProductErrors) -> Floats:
        """The largest errors of scores (B,), from the errors of their products."""


class SumOfMax(Score):
    """S_kl = Σ_{t ∈ g_l} max_{i ∈ g_k} v_iᵀ s_t    (Karpathy & Fei-Fei 2015, eq. 8).

    With f the image's first fragment, the whole photo, S = fᵀ Σ_t s_t + Σ_t max_i (v_i − f)ᵀ s_t;
    the first term is most of it.
    """

    name = "sum_of_max"
    adds_shifts = linear_alone = True
    kernel = staticmethod(sums_of_maxima)
    reduction = "maxima"

    def combine(self, products: Tensor, images: Tensor, sentences: Tensor) -> Tensor:
        """The sum over a sentence's words of their best regions."""
        from models.scores.reductions import maxima

        best = maxima(products, images)  # (N, K)
        owners = sentences.nonzero()[:, 0]  # (N,) the sentence of each word
        return best.new_zeros(len(sentences), best.shape[1]).index_add(0, owners, best).T

    def links(self, image: FragmentBag, sentence: FragmentBag) -> tuple[Link, ...]:
        """Every sentence fragment's best region."""
        # Not by torch: its threads wake for a product, and wait for the next one at full speed.
        fragments, image_fragments = sentence.vectors, image.vectors
        similarity = fragments.numpy(force=True) @ image_fragments.numpy(force=True).T  # (T, R)
        regions = similarity.argmax(axis=1).tolist()  # (T,) the first of equals: the whole photo
        shares = similarity.max(axis=1).tolist()
        wholes = similarity[:, 0].tolist() if has_whole(image) else [None] * len(shares)
        return tuple(map(Link, range(len(shares)), regions, shares, wholes))

    def without(
        self, others: Tensor, fragments: Tensor, links: Sequence[Link], region: int
    ) -> float:
        """S' = S − Σ links + Σ second-best, over the region's linked fragments."""
        staying = sum(link.similarity for link in links if link.region != region)
        switching = [link.fragment for link in links if link.region == region]
        return staying + float((fragments[switching] @ others.T).amax(dim=1).sum())

    def floor(self, images: PaddedBags) -> PaddedBags:
        """With one more fragment, of zeros."""
        import torch

        nothing = torch.zeros_like(images.vectors[:, :1])
        mask = torch.ones_like(images.mask[:, :1])
        vectors = torch.cat([images.vectors, nothing], 1)
        return PaddedBags(vectors, torch.cat([images.mask, mask], 1))

    def image_summary(self, vectors: Floats, starts: NDArray[np.int64]) -> Floats:
        """The first fragment f."""
        first: Floats = vectors[starts]
        return first

    def sentence_summary(self, vectors: Floats, starts: NDArray[np.int64]) -> Floats:
        """Σ_t s_t."""
        sums: Floats = np.add.reduceat(vectors, starts, axis=0)
        return sums

    def error(self, errors: ProductErrors) -> Floats:
        """The error of a maximum is at most the largest error of a product."""
        if errors.rows_are_images:
            total: Floats = errors.rows @ errors.query.sum(axis=1)
            return total
        most: Floats = (errors.rows @ errors.query).max(axis=1)
        return most * errors.sizes.astype(np.float32)


class MaxSim(SumOfMax):
    """S_kl = Σ_{t ∈ g_l} max_{i ∈ g_k} v_iᵀ s_t, without a whole photo.

    (Khattab & Zaharia 2020, section 3.4.) With m the mean of the v_i it is mᵀ Σ_t s_t + Σ_t max_i
    (v_i − m)ᵀ s_t, of which the first term is little. So rows are ranked by their score with a few
    means of like v_i instead (index.segments.pooled).
    """

    name = "max_sim"
    whole_first = ranked_by_summaries = False
    ranked_by_pooling = True

    def image_summary(self, vectors: Floats, starts: NDArray[np.int64]) -> Floats:
        """The mean of the fragments."""
        return means_of(vectors, starts)


class MeanOfPositive(Score):
    """S_kl = 1 / (|g_k| (|g_l| + n)) Σ_{i ∈ g_k} Σ_{t ∈ g_l} max(0, v_iᵀ s_t), n = 5.

    (Karpathy et al. 2014, eq. 6.)
    """

    name = "mean_of_positive"
    kernel = staticmethod(means_of_positives)
    reduction = "positives"

    def combine(self, products: Tensor, images: Tensor, sentences: Tensor) -> Tensor:
        """The mean of positive products over both sides' fragments."""
        from models.scores.reductions import sum_positive

        positive = sum_positive(products, images)  # (N, K)
        owners = sentences.nonzero()[:, 0]  # (N,) the sentence of each fragment
        totals = positive.new_zeros(len(sentences), positive.shape[1]).index_add(
            0, owners, positive
        )
        return totals.T / images.sum(1)[:, None] / (sentences.sum(1) + SMOOTHING)[None, :]

    def links(self, image: FragmentBag, sentence: FragmentBag) -> tuple[Link, ...]:
        """Every pair of fragments with a positive product."""
        similarity = sentence.vectors @ image.vectors.T  # (T, R)
        pairs = (similarity > 0).nonzero().tolist()  # (N, 2)
        shares = similarity[similarity > 0] / (len(image) * (len(sentence) + SMOOTHING))
        return tuple(
            Link(fragment, region, share)
            for (fragment, region), share in zip(pairs, shares.tolist(), strict=True)
        )

    def without(
        self,
        others: Tensor,
        fragments: Tensor,  # noqa: ARG002 - no fragment turns to another region
        links: Sequence[Link],
        region: int,
    ) -> float:
        """S' = (S − Σ links) · R / (R − 1): the mean over the other regions."""
        staying = sum(link.similarity for link in links if link.region != region)
        return staying * (len(others) + 1) / len(others)

    def image_summary(self, vectors: Floats, starts: NDArray[np.int64]) -> Floats:
        """The mean of the fragments."""
        return means_of(vectors, starts)

    def sentence_summary(self, vectors: Floats, starts: NDArray[np.int64]) -> Floats:
        """Σ_t s_t / (T + n)."""
        sizes: Floats = np.diff(starts, append=len(vectors)).astype(np.float32)
        sums = np.add.reduceat(vectors, starts, axis=0) / (sizes + SMOOTHING)[:, None]
        return sums.astype(np.float32)

    def error(self, errors: ProductErrors) -> Floats:
        """The error of a mean is at most the mean of its terms' errors."""
        sizes, T = errors.sizes, errors.query.shape[1]
        terms = np.full(len(sizes), T) if errors.rows_are_images else sizes
        mean = errors.rows @ errors.query.mean(axis=1)
        shares = terms / (terms + SMOOTHING)
        scaled: Floats = (mean * shares).astype(np.float32)
        return scaled


def means_of(vectors: Floats, starts: NDArray[np.int64]) -> Floats:
    """The means (B, D) of fragments (N, D) from `starts` (B,)."""
    sizes: Floats = np.diff(starts, append=len(vectors)).astype(np.float32)
    means = np.add.reduceat(vectors, starts, axis=0) / sizes[:, None]
    return means.astype(np.float32)


def has_whole(image: FragmentBag) -> bool:
    """Return whether the first fragment stands for the whole photo."""
    return image.labels[0] == WHOLE_PHOTO


SCORES: dict[str, Score] = {score.name: score for score in (SumOfMax(), MeanOfPositive(), MaxSim())}


def score_named(name: str) -> Score:
    """The score of a name; LookupError names the ones there are."""
    if name not in SCORES:
        raise LookupError(f"no score {name!r}; there are: {', '.join(SCORES)}")
    return SCORES[name]
