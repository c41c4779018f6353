"""Searches by label: presence, things, negation and weak hits.

Photos have complete labels, so every hit is known to be right or wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from random import Random
from statistics import mean

import numpy as np
import torch
from numpy.typing import NDArray

from index.search import query as query_parts
from index.search.query import SentenceRole
from models.registry import Matcher
from models.scores.calibration import Calibration, find_weak_line
from models.scores.presence import judge_photo
from models.scores.scoring import score_named
from models.text import query_drafts
from models.text.queries import Query
from models.types import FragmentBag
from training.evaluation.average_precision import average_precision, precision_at

Truth = NDArray[np.bool_]  # of photos (K,)
LEAST = 5  # photos that answer a query
LACKING, SHARE = 8, 0.25  # photos of a with no b, and the share of those of a that have b
PAIRS = 40  # drawn of all pairs of a negation
FIRST = 5
ROLE = SentenceRole.QUERY_IS_SENTENCE


@dataclass(frozen=True, slots=True)
class LabelRanking:
    """Precision at 5 and average precision over queries, as fractions.

    by_text: the average precision of each text.
    """

    queries: int
    precision_5: float
    mean_precision: float
    by_text: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PresenceShares:
    """Shares of present and of absent things said to be there.

    false_by_frequency: the latter if frequent things count more. worst: the largest share of one
    absent thing, which is `worst_of`.
    """

    there: float
    false: float
    false_by_frequency: float
    worst: float
    worst_of: str


@dataclass(frozen=True, slots=True)
class WeakLine:
    """Hits above the line of weak ones, and the right share.

    precision is the mean over queries with such hits, recall over all; empty are queries without.
    """

    hits: int
    right: float
    precision: float
    recall: float
    empty: int


@dataclass(frozen=True, slots=True)
class LabelSearches:
    """Measurements of one matcher on photos with complete labels.

    negation: precision at 5 of "a, no b" for PAIRS pairs; of_persons the same for "a, no person".
    behind: the share of queries in which no photo that is said to show b comes before another one.
    """

    photos: int
    labels: int
    presence: PresenceShares | None
    single: LabelRanking
    pairs: LabelRanking
    negation: LabelRanking
    of_persons: LabelRanking
    behind: float
    weak: WeakLine | None


@dataclass(frozen=True, slots=True)
class LabelWorld:
    """Photos with complete labels: bags, and truth (K, N) of N labels."""

    matcher: Matcher
    calibration: Calibration | None
    bags: Sequence[FragmentBag]
    labels: Sequence[str]
    truth: NDArray[np.bool_]

    def ask(self, texts: Sequence[str]) -> list[Query]:
        """Texts as a service asks photos for them."""
        words = self.calibration.words if self.calibration else ()
        judge = self.calibration.presence if self.calibration else None
        return query_drafts.of_several(
            self.matcher, [[(text, 1.0)] for text in texts], words, judge
        )

    def score(self, query: Query) -> NDArray[np.float32]:
        """The scores (P, K) of a query's parts."""
        vectors = [bag.vectors.numpy() for bag in self.bags]
        score = score_named(self.matcher.score)
        terms = query_parts.terms_of(query, ROLE)
        return np.stack([query_parts.exact(score, vectors, term, ROLE) for term in terms])

    def has(self, label: str) -> Truth:
        """The truth of one thing."""
        shown: Truth = self.truth[:, self.labels.index(label)]
        return shown

    def rank(self, texts: Sequence[str], answers: Sequence[Truth]) -> LabelRanking:
        """Rank all photos for each text."""
        rows = []
        for query, right in zip(self.ask(texts), answers, strict=True):
            total = query_parts.totals(self.score(query), query_parts.terms_of(query, ROLE))
            scores, relevant = torch.from_numpy(total), torch.from_numpy(right)
            rows.append(
                (precision_at(FIRST, scores, relevant), average_precision(scores, relevant))
            )
        precisions, averages = zip(*rows, strict=True) if rows else ([0.0], [0.0])
        by_text = dict(zip(texts, averages, strict=True)) if rows else {}
        return LabelRanking(len(rows), mean(precisions), mean(averages), by_text)


def measure(world: LabelWorld) -> LabelSearches:
    """Measure all of a world; ValueError for too few common labels."""
    answered = [label for label in world.labels if world.has(label).sum() >= LEAST]
    pairs = [
        (a, b) for a, b in combinations(answered, 2) if (world.has(a) & world.has(b)).sum() >= LEAST
    ]
    denied = find_denials(world, answered)
    if not pairs or not denied:
        raise ValueError("too few photos share labels: give some hundreds, with complete labels")
    drawn = Random(0).sample(denied, min(PAIRS, len(denied)))  # noqa: S311 - no secret
    persons = [pair for pair in denied if pair[1] == "person"]
    return LabelSearches(
        len(world.bags),
        len(world.labels),
        measure_presence(world),
        world.rank(answered, [world.has(label) for label in answered]),
        world.rank(
            [f"a {a} and a {b}" for a, b in pairs],
            [world.has(a) & world.has(b) for a, b in pairs],
        ),
        rank_denials(world, drawn),
        rank_denials(world, persons),
        measure_behind(world, drawn),
        measure_weak_line(world, answered),
    )


def find_denials(world: LabelWorld, labels: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of labels to ask for one without the other.

    LACKING photos have a without b, and SHARE of those of a have b.
    """
    return [
        (a, b)
        for a, b in permutations(labels, 2)
        if (world.has(a) & ~world.has(b)).sum() >= LACKING
        and world.has(b)[world.has(a)].mean() >= SHARE
    ]


def deny(a: str, b: str) -> str:
    """The text of a pair."""
    return f"a {a}, no {b}"


def rank_denials(world: LabelWorld, pairs: Sequence[tuple[str, str]]) -> LabelRanking:
    """Rank photos for things without others."""
    return world.rank(
        [deny(a, b) for a, b in pairs], [world.has(a) & ~world.has(b) for a, b in pairs]
    )


def measure_behind(world: LabelWorld, pairs: Sequence[tuple[str, str]]) -> float:
    """The share of queries with all photos of denied things last."""
    judge = world.calibration.presence if world.calibration else None
    if judge is None:
        return 0.0
    right = []
    denied = query_drafts.of_things(world.matcher, [b for _, b in pairs], (), judge)
    asked = world.ask([deny(a, b) for a, b in pairs])
    for thing, query in zip(denied, asked, strict=True):
        total = query_parts.totals(world.score(query), query_parts.terms_of(query, ROLE))
        verdicts = [judge_photo(bag, thing, world.matcher.score) for bag in world.bags]
        shown = np.array([verdict.there for verdict in verdicts])[np.argsort(-total, kind="stable")]
        right.append(bool((np.diff(shown.astype(int)) >= 0).all()))
    return mean(right)


def measure_presence(world: LabelWorld) -> PresenceShares | None:
    """Shares over all labels and photos; None without a presence."""
    judge = world.calibration.presence if world.calibration else None
    if judge is None:
        return None
    asked = query_drafts.of_things(world.matcher, world.labels, (), judge)
    score = world.matcher.score
    claimed = np.array(
        [[judge_photo(bag, query, score).there for query in asked] for bag in world.bags]
    )  # (K, N)
    truth = world.truth
    by_label = [float(claimed[~truth[:, n], n].mean()) for n in range(len(world.labels))]
    frequencies = truth.mean(axis=0)
    worst = int(np.argmax(by_label))
    return PresenceShares(
        float(claimed[truth].mean()),
        float(claimed[~truth].mean()),
        float(np.average(by_label, weights=frequencies * (1 - frequencies))),
        by_label[worst],
        world.labels[worst],
    )


def measure_weak_line(world: LabelWorld, labels: Sequence[str]) -> WeakLine | None:
    """The hits above the line of weak ones; None without probabilities."""
    if world.calibration is None:
        return None
    shown, right, precisions, recalls = 0, 0, [], []
    for label, query in zip(labels, world.ask(labels), strict=True):
        probable = world.calibration.of_query(query, world.score(query), True)
        above, truth = probable >= find_weak_line(probable), world.has(label)
        hits = int((above & truth).sum())
        shown, right = shown + int(above.sum()), right + hits
        recalls.append(hits / int(truth.sum()))
        precisions += [hits / int(above.sum())] if above.any() else []
    empty = len(labels) - len(precisions)
    return WeakLine(shown, right / max(shown, 1), mean(precisions or [0.0]), mean(recalls), empty)
