"""Checks of the papers' claims: the sign of the difference of two presets, seed by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

Best = Mapping[str, Any]  # the best epoch of a run, as run.json tells it


@dataclass(frozen=True, slots=True)
class Claim:
    """What a paper found, the preset that has it, and the one that it should beat."""

    says: str
    paper: str
    better: str
    worse: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Means over common seeds of better minus worse, in points of recall, and what follows."""

    seeds: int
    recall_sum: float
    annotation: float  # R@1, image → text
    search: float  # R@1, text → image
    verdict: str


DEFRAG, DTRNN = "Karpathy et al. 2014", "Socher et al. 2014"
DVSA, TWO_BRANCH = "Karpathy & Fei-Fei 2015", "Wang et al. 2016"

CLAIMS = (
    Claim("fragment + global beats fragment alone", DEFRAG, "defrag-dense", "defrag-fragments"),
    Claim("fragment + global beats global alone", DEFRAG, "defrag-dense", "defrag-global"),
    Claim("MIL helps", DEFRAG, "defrag", "defrag-dense"),
    Claim("fragments beat the full frame", DEFRAG, "defrag-dense", "defrag-frame"),
    Claim("dependency edges beat words", DEFRAG, "defrag-dense", "defrag-words"),
    Claim("dependency edges beat bigrams", DEFRAG, "defrag-dense", "defrag-bigrams"),
    Claim("DeFrag beats SDT-RNN", DEFRAG, "defrag", "sdtrnn"),
    Claim("DeFrag beats DeViSE", DEFRAG, "defrag", "devise"),
    Claim("SDT-RNN beats BoW", DTRNN, "sdtrnn", "bow"),
    Claim("SDT-RNN beats the recurrent network", DTRNN, "sdtrnn", "rnn"),
    Claim("SDT-RNN beats CT-RNN", DTRNN, "sdtrnn", "ctrnn"),
    Claim("SDT-RNN beats DT-RNN", DTRNN, "sdtrnn", "dtrnn"),
    Claim("SDT-RNN beats kernel CCA", DTRNN, "sdtrnn", "kcca"),
    Claim("the ranking loss beats the squared loss", DTRNN, "sdtrnn", "sdtrnn-squared"),
    Claim("bi-directional beats one-directional", TWO_BRANCH, "two-branch-both-ways",
          "two-branch-one-way"),
    Claim("bi-directional beats one-directional, linear", TWO_BRANCH,
          "two-branch-linear-both-ways", "two-branch-linear-one-way"),
    Claim("structure helps", TWO_BRANCH, "two-branch", "two-branch-both-ways"),
    Claim("structure helps, linear", TWO_BRANCH, "two-branch-linear",
          "two-branch-linear-both-ways"),
    Claim("non-linear beats linear", TWO_BRANCH, "two-branch", "two-branch-linear"),
    Claim("non-linear beats linear CCA", TWO_BRANCH, "two-branch", "cca"),
    Claim("Fisher vectors beat mean vectors", TWO_BRANCH, "two-branch", "two-branch-mean"),
    Claim("Fisher vectors beat tf-idf", TWO_BRANCH, "two-branch", "two-branch-tfidf"),
    Claim("BRNN beats dependency edges", DVSA, "dvsa", "dvsa-edges"),
    Claim("the simpler objective beats DeFrag's", DVSA, "dvsa-edges", "defrag"),
    Claim("two teachers are worth their time", "ours", "tessera-taught", "tessera"),
)  # fmt: skip


def finding(claim: Claim, runs: Mapping[str, Mapping[int, Best]]) -> Finding | None:
    """What runs, by preset and seed, say of a claim; None without a seed that both presets have."""
    better, worse = runs.get(claim.better, {}), runs.get(claim.worse, {})
    pairs = [(better[seed], worse[seed]) for seed in sorted(better.keys() & worse.keys())]
    if not pairs:
        return None
    sums = [one["recall_sum"] - other["recall_sum"] for one, other in pairs]
    first = {
        way: mean(
            one["validation"][way]["recall_1"] - other["validation"][way]["recall_1"]
            for one, other in pairs
        )
        for way in ("annotation", "search")
    }
    return Finding(len(pairs), mean(sums), **first, verdict=verdict(sums))


def verdict(differences: Sequence[float]) -> str:
    """Whether every seed's difference has the claimed sign, the opposite one, or neither."""
    if all(one > 0 for one in differences):
        found = "holds"
    elif all(one < 0 for one in differences):
        found = "does not hold"
    else:
        return "not clear"
    return found if len(differences) > 1 else f"{found} (one seed)"
