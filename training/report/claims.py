"""Checks of the papers' claims: two presets' difference over seeds.

With an interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
    """A paper's finding, its preset, and the preset to beat."""

    says: str
    paper: str
    better: str
    worse: str

    @property
    def by_rank(self) -> bool:
        """Whether the paper compares mean ranks (Socher et al. 2014) instead of recalls."""
        return self.paper == DTRNN


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

    seeds: the number of common seeds, 0 where neither preset depends on one.
    """

    seeds: int
    recall_sum: Difference
    ranks: Difference
    verdict: str


SOLVED = -1  # the seed of a preset without epochs
DEFRAG, DTRNN = "Karpathy et al. 2014", "Socher et al. 2014"
DVSA, TWO_BRANCH = "Karpathy & Fei-Fei 2015", "Wang et al. 2016"

CLAIMS = (
    Claim("fragment + global beats fragment alone", DEFRAG, "defrag-dense", "defrag-fragments"),
    Claim("fragment + global beats global alone", DEFRAG, "defrag-dense", "defrag-global"),
    Claim("MIL helps", DEFRAG, "defrag", "defrag-dense"),
    Claim("fragments beat the full frame", DEFRAG, "defrag-dense", "defrag-frame"),
    Claim("dependency edges beat words", DEFRAG, "defrag-dense", "defrag-words"),
    Claim("dependency edges beat bigrams", DEFRAG, "defrag-dense", "defrag-bigrams"),
    Claim("DeFrag beats SDT-RNN", DEFRAG, "defrag", "sdtrnn-regions"),
    Claim("DeFrag beats DeViSE", DEFRAG, "defrag", "devise"),
    Claim("SDT-RNN beats BoW", DTRNN, "sdtrnn", "bow"),
    Claim("SDT-RNN beats the recurrent network", DTRNN, "sdtrnn", "rnn"),
    Claim("SDT-RNN beats CT-RNN", DTRNN, "sdtrnn", "ctrnn"),
    Claim("SDT-RNN beats DT-RNN", DTRNN, "sdtrnn", "dtrnn"),
    Claim("SDT-RNN beats kernel CCA", DTRNN, "sdtrnn", "kcca"),
    *(
        Claim(f"the ranking loss beats the squared loss, {name}", DTRNN, preset,
              f"{preset}-squared")
        for preset, name in (("sdtrnn", "SDT-RNN"), ("dtrnn", "DT-RNN"), ("ctrnn", "CT-RNN"),
                             ("rnn", "recurrent network"), ("bow", "BoW"))
    ),
    Claim("bi-directional beats one-directional", TWO_BRANCH, "two-branch-both-ways",
          "two-branch-one-way"),
    Claim("bi-directional beats one-directional, linear", TWO_BRANCH,
          "two-branch-linear-both-ways", "two-branch-linear-one-way"),
    Claim("structure helps", TWO_BRANCH, "two-branch", "two-branch-both-ways"),
    Claim("structure helps beyond a second sentence", TWO_BRANCH, "two-branch",
          "two-branch-two-sentences"),
    Claim("structure helps, linear", TWO_BRANCH, "two-branch-linear",
          "two-branch-linear-both-ways"),
    Claim("structure helps beyond a second sentence, linear", TWO_BRANCH, "two-branch-linear",
          "two-branch-linear-two-sentences"),
    Claim("structure helps, mean vectors", TWO_BRANCH, "two-branch-mean",
          "two-branch-mean-both-ways"),
    Claim("structure helps, tf-idf", TWO_BRANCH, "two-branch-tfidf",
          "two-branch-tfidf-both-ways"),
    Claim("non-linear beats linear", TWO_BRANCH, "two-branch", "two-branch-linear"),
    Claim("non-linear beats linear CCA", TWO_BRANCH, "two-branch", "cca-hglmm"),
    Claim("linear CCA is not beaten by linear with structure", TWO_BRANCH, "cca-hglmm",
          "two-branch-linear"),
    Claim("Fisher vectors beat mean vectors", TWO_BRANCH, "two-branch", "two-branch-mean"),
    Claim("Fisher vectors beat tf-idf", TWO_BRANCH, "two-branch", "two-branch-tfidf"),
    Claim("BRNN beats dependency edges", DVSA, "dvsa", "dvsa-edges"),
    Claim("the simpler objective beats DeFrag's", DVSA, "dvsa-edges", "defrag"),
    Claim("two teachers are worth their time", "ours", "tessera-taught", "tessera"),
)  # fmt: skip


def check_claim(claim: Claim, runs: Mapping[str, Mapping[int, Result]]) -> ClaimResult | None:
    """Check a claim by presets' results; None without a pair."""
    compared = pair_results(claim, runs)
    if not compared:
        return None
    recalls = Difference.of([recall_sum(better) - recall_sum(worse) for better, worse in compared])
    ranks = Difference.of([mean_ranks(worse) - mean_ranks(better) for better, worse in compared])
    solved = all(set(runs[preset]) == {SOLVED} for preset in (claim.better, claim.worse))
    seeds = 0 if solved else len(compared)
    return ClaimResult(seeds, recalls, ranks, verdict(ranks if claim.by_rank else recalls, seeds))


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
