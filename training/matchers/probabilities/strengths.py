"""Strengths of a catalogue's terms: their worth next to the general score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from models.matcher import TwoTowerMatcher
from models.scores.calibration import Calibration, PairKind
from models.scores.terms import CatalogueTerms, words_of
from training.data.corpus import Example
from training.evaluation.embedding import embed
from training.evaluation.score_matrix import score_matrix
from training.matchers.probabilities.calibration import FIRST, RANDOM
from training.matchers.regression import logistic
from training.runs.progress import Progress, silent

TEXTS, PHOTOS = 400, 3000  # the most texts of several terms, and photos, that measure strengths
SEVERAL = 5  # products of a measured text, at least
SEED = 0
Item = TypeVar("Item")


def weights_of(examples: Sequence[Example], texts: Sequence[str]) -> Tensor:
    """The weights (K, L) of texts for examples; 0 is not true."""
    numbers = {text: number for number, text in enumerate(texts)}
    weights = torch.zeros(len(examples), len(texts))
    for row, example in zip(weights, examples, strict=True):
        for text, weight in example.weighted:
            if text in numbers:
                row[numbers[text]] = weight
    return weights


@dataclass(frozen=True, slots=True)
class ProductPhotos:
    """Photos of products, bags without terms, and evidence of terms (K, V + 1)."""

    examples: Sequence[Example]
    bags: Sequence[Tensor]
    evidence: Tensor

    def select(self, count: int) -> ProductPhotos:
        """At most so many, evenly spread."""
        places = spread(range(len(self.bags)), count)
        examples, bags = [self.examples[i] for i in places], [self.bags[i] for i in places]
        return ProductPhotos(examples, bags, self.evidence[places])


def choose_texts(examples: Sequence[Example], terms: CatalogueTerms, least: int) -> list[str]:
    """Choose texts of terms alone with `least` examples.

    All texts of one term come first, then some of several. A title with further words is left out:
    it may fit other products.
    """
    counts = Counter(text for example in examples for text in example.sentences)
    single, several = list[str](), list[str]()
    for text in (text for text, count in counts.most_common() if count >= least):
        words = words_of(text)
        occurrences = terms.find(words)
        if occurrences and sum(end - start for start, end, _ in occurrences) == len(words):
            (several if len(occurrences) > 1 else single).append(text)
    return single + spread(several, TEXTS)


def learn_strengths(
    matcher: TwoTowerMatcher,
    calibration: Calibration,
    shown: ProductPhotos,
    progress: Progress = silent,
) -> None:
    """Learn the worth of terms next to the general score.

    So that probabilities are right.

    A logistic regression of the truth on Σ_v n_lv z_kv, g_k and g_k Σ_v n_lv, on top of the
    calibration without terms. Its slope turns probabilities' logits back into scores.
    """
    assert matcher.terms is not None
    terms, shown = matcher.terms, shown.select(PHOTOS)
    texts = choose_texts(shown.examples, terms, SEVERAL)
    scores = score_without_terms(matcher, calibration, shown.bags, texts, progress)
    counts = count_terms(terms, texts)
    sums = shown.evidence[:, :-1] @ counts.T  # (K, L)
    ours, number = shown.evidence[:, -1:], counts.sum(1)
    true = weights_of(shown.examples, texts) > 0
    row, column = first_and_random(sums)
    x = torch.stack([sums[row, column], ours[row, 0], (ours * number)[row, column]], 1)
    coefficients = logistic(
        x.double(), true[row, column].double(), scores[row, column].double(), penalty=1e-4
    )
    slope = calibration.coefficients[PairKind.TEXT_IN_PHOTO.value, 0]
    terms.strengths.copy_(coefficients.float() / slope)


def count_terms(terms: CatalogueTerms, texts: Sequence[str]) -> Tensor:
    """Count each text's mentions of each term, (L, V)."""
    counts = torch.zeros(len(texts), len(terms))
    for row, text in zip(counts, texts, strict=True):
        for _, _, number in terms.find(words_of(text)):
            row[number] += 1
    return counts


def first_and_random(sums: Tensor) -> tuple[Tensor, Tensor]:
    """Choose first hits and random ones of each text, of sums (K, L)."""
    random, pairs = Random(SEED), list[tuple[int, int]]()  # noqa: S311 - a sample, no secret
    for column, order in enumerate(sums.T.argsort(dim=1, descending=True, stable=True).tolist()):
        later = random.sample(order[FIRST:], min(RANDOM, len(order[FIRST:])))
        pairs += [(row, column) for row in order[:FIRST] + later]
    row, column = torch.tensor(pairs).T
    return row, column


def score_without_terms(
    matcher: TwoTowerMatcher,
    calibration: Calibration,
    bags: Sequence[Tensor],
    texts: Sequence[str],
    progress: Progress = silent,
) -> Tensor:
    """Compute the calibration's logits (K, L) of photos and texts without terms."""
    D = matcher.general
    text_bags = embed(matcher.embed_sentences, list(texts), progress, "texts")
    vectors = [bag.vectors[:, :D] for bag in text_bags]
    scores = score_matrix([bag[:, :D] for bag in bags], vectors, matcher.score)
    sums = torch.stack([fragments.sum(0) for fragments in vectors]).numpy()  # (L, D)
    sizes = np.array([len(fragments) for fragments in vectors])
    general_calibration = replace(calibration, photos=calibration.photos[:, :D])
    logits = [
        general_calibration.features(PairKind.TEXT_IN_PHOTO, column, total[None], size[None])
        @ general_calibration.coefficients[PairKind.TEXT_IN_PHOTO.value].numpy()
        for column, total, size in zip(scores.T, sums, sizes, strict=True)
    ]
    return torch.from_numpy(np.stack(logits, 1))


def spread(items: Sequence[Item], count: int) -> list[Item]:
    """At most `count` items, evenly spread over all."""
    return list(items[:: max(1, -(-len(items) // count))])
