"""Checks of the papers' claims: two presets' difference over seeds.

With an interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from scipy.stats import t as students_t

CONFIDENCE = 0.95
RECALLS = ("recall_1", "recall_5", "recall_10")
WAYS = ("annotation", "search")
Result = Mapping[str, Any]  # both ways' metrics of a run on val


@dataclass(frozen=True, slots=True)
class Claim:
    """A paper's finding, its preset, and the preset to beat.

    measure: what the paper compares, recalls, mean ranks, or the rank of sentences of one photo.
    condition: what to know next to the verdict. unlike: why the presets differ from what the paper
    compares, so that there is no verdict. needs: the objective that both must have minimised, if
    they have it.
    """

    says: str
    paper: str
    better: str
    worse: str
    measure: str = "recalls"
    condition: str = ""
    unlike: str = ""
    needs: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean difference over seeds, and half of its 95 % interval.

    A single seed has no interval.
    """

    mean: float
    half: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Difference:
        """Compute Student's interval, with the seeds as a sample of all seeds."""
        if len(values) < 2:
            return cls(mean(values), None)
        quantile = float(students_t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
        return cls(mean(values), quantile * stdev(values) / math.sqrt(len(values)))

    def __str__(self) -> str:
        """Format the mean, and half of the interval."""
        half = "" if self.half is None else f" ± {self.half:.1f}"
        return f"{self.mean:+.1f}{half}"


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """The result of common seeds: recalls and ranks gained, and the verdict.

    seeds: the number of common seeds, 0 where neither preset depends on one. ranks: of photos and
    sentences, or of sentences by sentences where the paper compares these.
    """

    seeds: int
    recall_sum: Difference
    ranks: Difference
    verdict: str
    condition: str = ""


SOLVED = -1  # the seed of a preset without epochs
RECALL_SUM, RANKS, SIMILARITY = "recalls", "ranks", "similarity"  # what a paper compares
NOT_JUDGED = "not judged"
AT_ZERO_SCORES = 2.0  # the balanced fragment objective, where all products are zero


def check_claim(claim: Claim, runs: Mapping[str, Mapping[int, Result]]) -> ClaimResult | None:
    """Check a claim by presets and seeds; None without a pair."""
    ranks_of = mean_similarity if claim.measure == SIMILARITY else mean_ranks
    compared = [
        (better, worse)
        for better, worse in pair_results(claim, runs)
        if claim.measure != SIMILARITY or (better.get(SIMILARITY) and worse.get(SIMILARITY))
    ]
    if not compared:
        return None
    recalls = Difference.of([recall_sum(better) - recall_sum(worse) for better, worse in compared])
    ranks = Difference.of([ranks_of(worse) - ranks_of(better) for better, worse in compared])
    solved = all(set(runs[preset]) == {SOLVED} for preset in (claim.better, claim.worse))
    seeds = 0 if solved else len(compared)
    judged = verdict(recalls if claim.measure == RECALL_SUM else ranks, seeds)
    if unlike := explain_unlike(claim, compared):
        return ClaimResult(seeds, recalls, ranks, NOT_JUDGED, unlike)
    return ClaimResult(seeds, recalls, ranks, judged, claim.condition)


def explain_unlike(claim: Claim, compared: Iterable[tuple[Result, Result]]) -> str:
    """Explain the difference of runs from a paper's; empty without one."""
    if claim.unlike:
        return claim.unlike
    results = [result for pair in compared for result in pair]
    if claim.needs and not all(is_minimised(result, claim.needs) for result in results):
        return f"the term {claim.needs} was not minimised"
    return ""


def is_minimised(result: Result, term: str) -> bool:
    """Return whether a term is absent or fell below zero scores."""
    if term not in result.get("objectives", ()):
        return True
    values = [epoch["terms"][term] for epoch in result.get("curve", ()) if epoch.get("terms")]
    return bool(values) and values[-1] < min(values[0], AT_ZERO_SCORES)


def pair_results(
    claim: Claim, runs: Mapping[str, Mapping[int, Result]]
) -> list[tuple[Result, Result]]:
    """Pair the results of a claim's two presets by their common seeds.

    A preset without epochs has one result for all seeds, and is compared with every seed of the
    other.
    """
    better, worse = runs.get(claim.better, {}), runs.get(claim.worse, {})
    alone = [set(results) == {SOLVED} for results in (better, worse)]
    if alone[0] and not alone[1]:
        better = dict.fromkeys(worse, better[SOLVED])
    if alone[1] and not alone[0]:
        worse = dict.fromkeys(better, worse[SOLVED])
    return [(better[seed], worse[seed]) for seed in sorted(better.keys() & worse.keys())]


def recall_sum(result: Result) -> float:
    """All six recalls, at most 600."""
    return float(sum(result[way][at] for way in WAYS for at in RECALLS))


def mean_ranks(result: Result) -> float:
    """The mean of both ways' mean ranks."""
    return mean(float(result[way]["mean_rank"]) for way in WAYS)


def mean_similarity(result: Result) -> float:
    """The mean rank of the nearest sentence of the same photo."""
    return float(result[SIMILARITY]["mean_rank"])


def verdict(difference: Difference, seeds: int) -> str:
    """Return whether the interval lies above zero, below it, or contains it.

    One seed is ahead or behind.
    """
    outcome = "holds" if difference.mean > 0 else "does not hold"
    if not difference.mean:
        return "not clear"
    if difference.half is None and seeds:
        return "ahead (one seed)" if difference.mean > 0 else "behind (one seed)"
    if difference.half is None:
        return outcome
    return outcome if abs(difference.mean) > difference.half else "not clear"
