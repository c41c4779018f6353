"""Search by the terms of a catalogue, before and after learning them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from models.matcher import TwoTowerMatcher
from models.scores.calibration import Calibration, PairKind
from models.types import FragmentBag
from training.data.corpus import Example
from training.evaluation.categories import LEAST, CategorySearch, category_search
from training.evaluation.embedding import embed
from training.evaluation.reliability import Reliability
from training.evaluation.retrieval import Floats
from training.evaluation.score_matrix import score_matrix
from training.matchers.probabilities.calibration import make_pairs
from training.matchers.probabilities.strengths import choose_texts, first_and_random, weights_of
from training.runs.progress import Progress, silent

FIELD = "terms"


@dataclass(frozen=True, slots=True)
class TermSearch:
    """Frequent terms as queries, before and after learning, and the reliability.

    `reliability` is for texts with at least one term: their first hits, and random ones.
    """

    before: CategorySearch
    after: CategorySearch
    reliability: Reliability


def term_search(
    matcher: TwoTowerMatcher,
    calibration: Calibration,
    examples: Sequence[Example],
    bags: Sequence[Tensor],
    progress: Progress = silent,
) -> TermSearch | None:
    """Search bags (R_k, D) with terms for all terms.

    None if none has LEAST.
    """
    assert matcher.terms is not None
    terms = [forms[0] for forms in matcher.config.terms]
    true = weights_of(examples, terms) > 0
    common = (true.sum(0) >= LEAST).nonzero()[:, 0].tolist()
    if not common:
        return None
    term_bags = embed(matcher.embed_sentences, [terms[i] for i in common], progress, "terms")
    members = [true[:, i].nonzero()[:, 0].tolist() for i in common]
    before, after = (
        category_search(
            FIELD, score_texts(matcher, bags, term_bags, D), members, len(terms) - len(common)
        )
        for D in (matcher.general, matcher.dimension)
    )
    return TermSearch(
        before, after, measure_reliability(matcher, calibration, examples, bags, progress)
    )


def measure_reliability(
    matcher: TwoTowerMatcher,
    calibration: Calibration,
    examples: Sequence[Example],
    bags: Sequence[Tensor],
    progress: Progress = silent,
) -> Reliability:
    """Measure the probabilities of texts with terms: first hits, and random ones."""
    assert matcher.terms is not None
    texts = choose_texts(examples, matcher.terms, 1)
    text_bags = embed(matcher.embed_sentences, texts, progress, "texts")
    scores = score_texts(matcher, bags, text_bags, matcher.dimension)
    chosen = torch.stack(first_and_random(torch.from_numpy(scores)), 1).numpy()
    true = (weights_of(examples, texts) > 0).numpy()
    short = np.ones(len(texts), np.bool_)
    pairs = make_pairs(calibration, PairKind.TEXT_IN_PHOTO, text_bags, scores, true, short, chosen)
    return pairs.measure(calibration)


def score_texts(
    matcher: TwoTowerMatcher, bags: Sequence[Tensor], queries: Sequence[FragmentBag], D: int
) -> Floats:
    """Score photos for texts (K, L) by the first D numbers of their fragments."""
    vectors = [bag.vectors[:, :D] for bag in queries]
    return score_matrix([bag[:, :D] for bag in bags], vectors, matcher.score)
