"""Sections of the results page on phrases and their boxes, of `tessera evaluate --json`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from training.claims import RECALLS, TWO_BRANCH, Claim, Difference, pairs, verdict
from training.markdown import line, over_seeds, section, slashed

GROUNDING_SAY = (
    "Phrases of Flickr30K Entities. Matchers and weakly supervised grounders learn from sentences "
    "without boxes of phrases; the proposals learn from boxes without words. Localised: one of the "
    "best 1 / 5 / 10 boxes has IoU ≥ 0.5, in brackets the most that the proposed boxes allow. "
    "Pointed: the best box's centre is inside. mAP: mean average precision. Grounders: the mean "
    "over seeds, and of mAP the range. Published: table 3 of Wang et al. (2016), on the test split "
    "of Flickr30K Entities with 100 boxes of EdgeBoxes, for orientation."
)
GROUNDING_HEAD = ("system", "data", "seeds", "phrases", "localised", "pointed", "mAP",
                  "published", "published mAP")  # fmt: skip
CLAIMS_SAY = (
    "How much better the first preset of a grounder is, the mean over the seeds that both have, "
    "with Student's 95 % interval: phrases localised by the best box, and mAP. A claim holds where "
    "the interval of the first lies above zero, and does not hold where it lies below."
)
CLAIMS_HEAD = ("claim", "paper", "presets", "seeds", "localised at 1", "mAP", "here")
PUBLISHED = {  # R@1, R@5, R@10 and mAP of Wang et al. 2016, table 3
    "ranking": (35.83, 60.51, 66.70, 40.50),
    "ranking-phrases": (36.59, 60.44, 66.92, 40.85),
    "ranking-regions": (36.74, 60.35, 66.73, 41.22),
    "ranking-both": (36.72, 61.14, 67.21, 41.13),
    "supervised": (41.77, 63.01, 68.27, 46.55),
    "supervised-phrases": (43.77, 64.22, 68.84, 47.38),
    "supervised-regions": (42.88, 63.41, 68.47, 46.78),
    "supervised-both": (43.89, 64.46, 68.66, 47.72),
}
CLAIMS = (
    Claim("neighbouring phrases help", TWO_BRANCH, "ranking-phrases", "ranking"),
    Claim("neighbouring regions help", TWO_BRANCH, "ranking-regions", "ranking"),
    Claim("both help", TWO_BRANCH, "ranking-both", "ranking"),
    Claim("hard negatives help", TWO_BRANCH, "supervised", "ranking"),
    Claim("hard negatives help after both", TWO_BRANCH, "supervised-both", "ranking-both"),
    Claim("neighbouring phrases help before hard negatives", TWO_BRANCH, "supervised-phrases",
          "supervised"),
    Claim("neighbouring regions help before hard negatives", TWO_BRANCH, "supervised-regions",
          "supervised"),
    Claim("both help before hard negatives", TWO_BRANCH, "supervised-both", "supervised"),
)  # fmt: skip

Measurement = Mapping[str, Any]
Runs = Mapping[int, Measurement]  # what a preset localises, by seed


def sections(stored: Sequence[Measurement]) -> list[str]:
    """What every system localises, and what table 3 of Wang et al. claims; or nothing."""
    systems: dict[tuple[str, str], list[Measurement]] = defaultdict(list)
    for row in stored:
        if row.get("grounding"):
            systems[system(row)].append(row)
    by_data: dict[str, dict[str, Runs]] = defaultdict(dict)
    for (_, data), rows in systems.items():
        by_data[data][preset(rows[0])] = {row["seed"]: row["grounding"] for row in rows}
    return [
        *section("Grounding", GROUNDING_SAY, GROUNDING_HEAD, map(grounding_row, systems.values())),
        *(
            text
            for data, runs in by_data.items()
            for text in section(f"Claims of phrase localisation, on {data}", CLAIMS_SAY,
                                CLAIMS_HEAD, claim_rows(runs))
        ),
    ]  # fmt: skip


def system(row: Measurement) -> tuple[str, str]:
    """What seeds of a system share: a grounder its preset, a matcher its checkpoint; and data."""
    name = row["preset"]
    if row["name"] != "two_branch":
        name += f", seed {row['seed']}, {row['checkpoint']}"
    return name, f"{row['data']} {row['split']}"


def preset(row: Measurement) -> str:
    """The preset of a grounder, which `tessera evaluate` names after its architecture."""
    return str(row["preset"]).removeprefix("two_branch, ")


def grounding_row(rows: Sequence[Measurement]) -> str:
    """A system, the mean over its seeds, beside what was published.

    ValueError for two of the same seed: their mean would pass for two seeds'.
    """
    name, data = system(rows[0])
    if len({row["seed"] for row in rows}) < len(rows):
        raise ValueError(f"two files hold {name} on {data} with the same seed: delete one")
    measured = [row["grounding"] for row in rows]
    localised = slashed(mean(boxes[at] for boxes in measured) for at in RECALLS)
    pointed = mean(boxes["pointed"] for boxes in measured)
    precisions = over_seeds([boxes["mean_precision"] for boxes in measured])
    *recalls, precision = PUBLISHED.get(preset(rows[0]), (None,))
    published = (slashed(recalls), f"{precision:.1f}") if precision else ("–", "–")
    return line([name, data, len(rows), f"{measured[0]['phrases']:,}",
                 f"{localised} (of {measured[0]['bound']:.1f})", f"{pointed:.1f}", precisions,
                 *published])  # fmt: skip


def claim_rows(runs: Mapping[str, Runs]) -> Iterator[str]:
    """What the paper claims, and what grounders' seeds say of it, where both presets have some."""
    for claim in CLAIMS:
        if compared := pairs(claim, runs):
            first, precision = (
                Difference.of([better[at] - worse[at] for better, worse in compared])
                for at in ("recall_1", "mean_precision")
            )
            yield line([claim.says, claim.paper, f"{claim.better} − {claim.worse}", len(compared),
                        first, precision, verdict(first, len(compared))])  # fmt: skip
