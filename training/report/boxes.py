"""Sections of the results page on phrases and their boxes, of `tessera evaluate --json`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean

from training.markdown import line, over_seeds, section, slashed
from training.report.claims import (
    RECALLS,
    Claim,
    ClaimResult,
    Difference,
    pair_results,
    verdict,
)
from training.report.measurements import (
    Measurement,
    name_data,
    refuse_mixed_data,
    refuse_same_seed,
)
from training.report.papers import TWO_BRANCH

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
    "the interval of phrases localised lies above zero, does not hold where it lies below, and is "
    "not clear where zero is in it. One seed has no interval: it is ahead or behind."
)
CLAIMS_HEAD = ("claim", "presets", "seeds", "localised at 1", "mAP", "verdict")
PUBLISHED = {  # R@1, R@5, R@10 and mAP of Wang et al. 2016, table 3
    "cca": (40.11, 61.52, 67.17, 41.96),
    "ranking": (35.83, 60.51, 66.70, 40.50),
    "ranking-phrases": (36.59, 60.44, 66.92, 40.85),
    "ranking-regions": (36.74, 60.35, 66.73, 41.22),
    "ranking-both": (36.72, 61.14, 67.21, 41.13),
    "mined": (41.77, 63.01, 68.27, 46.55),
    "mined-phrases": (43.77, 64.22, 68.84, 47.38),
    "mined-regions": (42.88, 63.41, 68.47, 46.78),
    "mined-both": (43.89, 64.46, 68.66, 47.72),
}
CLAIMS = (
    Claim("the ranking alone is behind CCA", TWO_BRANCH, "cca", "ranking"),
    Claim("hard negatives beat CCA", TWO_BRANCH, "mined-both", "cca"),
    Claim("neighbouring phrases help", TWO_BRANCH, "ranking-phrases", "ranking"),
    Claim("neighbouring regions help", TWO_BRANCH, "ranking-regions", "ranking"),
    Claim("neighbouring phrases and regions help", TWO_BRANCH, "ranking-both", "ranking"),
    Claim("hard negatives help", TWO_BRANCH, "mined", "ranking"),
    Claim("hard negatives help after neighbours", TWO_BRANCH, "mined-both", "ranking-both"),
    Claim("neighbouring phrases help, with hard negatives after", TWO_BRANCH, "mined-phrases",
          "mined"),
    Claim("neighbouring regions help, with hard negatives after", TWO_BRANCH, "mined-regions",
          "mined"),
    Claim("neighbouring phrases and regions help, with hard negatives after", TWO_BRANCH,
          "mined-both", "mined"),
)  # fmt: skip
GROUNDER = "two_branch"  # the architecture with presets and seeds

Runs = Mapping[int, Measurement]  # a preset's localisation, by seed


def sections(stored: Sequence[Measurement]) -> list[str]:
    """Write the systems' localisation, and the claims of Wang et al.'s table 3.

    ValueError for different data of one name.
    """
    measured = [row for row in stored if is_localised(row)]
    refuse_mixed_data(measured)
    grounders: dict[tuple[str, str], list[Measurement]] = defaultdict(list)
    for row in measured:
        if row["name"] == GROUNDER:
            grounders[name_preset(row), name_data(row)].append(row)
    systems = [grounder_row(rows) for rows in grounders.values()]
    systems += [matcher_row(row) for row in measured if row["name"] != GROUNDER]
    return [
        *section("Phrases and their boxes", GROUNDING_SAY, GROUNDING_HEAD, systems),
        *(
            text
            for measured_on, runs in group_grounders(stored).items()
            for text in section(f"Claims on phrases, on {measured_on}", CLAIMS_SAY, CLAIMS_HEAD,
                                claim_rows(runs))
        ),
    ]  # fmt: skip


def is_localised(row: Measurement) -> bool:
    """Return whether a measurement has phrases' boxes."""
    return "recall_1" in (row.get("grounding") or {})


def group_grounders(stored: Sequence[Measurement]) -> dict[str, dict[str, Runs]]:
    """Group grounders' localisation by data, preset and seed."""
    by_data: dict[str, dict[str, dict[int, Measurement]]] = defaultdict(lambda: defaultdict(dict))
    for row in stored:
        if is_localised(row) and row["name"] == GROUNDER:
            by_data[name_data(row)][name_preset(row)][row["seed"]] = row["grounding"]
    return {data: dict(runs) for data, runs in by_data.items()}


def name_preset(row: Measurement) -> str:
    """Name a grounder's preset, and its training data if they are others."""
    name = str(row["preset"]).removeprefix(f"{GROUNDER}, ")  # as `tessera evaluate` names it
    elsewhere = row.get("trained_on") not in (None, row["data"])
    return f"{name}, trained on {row['trained_on']}" if elsewhere else name


def grounder_row(rows: Sequence[Measurement]) -> str:
    """Write a grounder's mean over seeds, next to published numbers.

    ValueError for two rows of the same seed.
    """
    name = name_preset(rows[0])
    refuse_same_seed(rows, f"{name} on {name_data(rows[0])}")
    published = ("–", "–")
    if name in PUBLISHED:
        *recalls, precision = PUBLISHED[name]
        published = slashed(recalls), f"{precision:.1f}"
    boxes = [row["grounding"] for row in rows]
    return line([f"{GROUNDER}, {name}", name_data(rows[0]), len(rows), *numbers(boxes), *published])


def matcher_row(row: Measurement) -> str:
    """Write a matcher's checkpoint, without published numbers."""
    name = f"{row['preset']}, seed {row['seed']}, {row['checkpoint']}"
    return line([name, name_data(row), "–", *numbers([row["grounding"]]), "–", "–"])


def numbers(boxes: Sequence[Measurement]) -> tuple[str, ...]:
    """Format measurements, the mean over seeds."""
    localised = slashed(mean(phrases[at] for phrases in boxes) for at in RECALLS)
    return (
        f"{boxes[0]['phrases']:,}",
        f"{localised} (of {boxes[0]['bound']:.1f})",
        f"{mean(phrases['pointed'] for phrases in boxes):.1f}",
        over_seeds([phrases["mean_precision"] for phrases in boxes]),
    )


def claim_rows(runs: Mapping[str, Runs]) -> list[str]:
    """Write the paper's measured claims and the seeds' verdicts."""
    judged = list(judge(runs))
    return [claim_row(claim, result) for claim, result in judged if any(dict(judged).values())]


def claim_row(claim: Claim, result: ClaimResult | None) -> str:
    """Write a claim and its verdict."""
    presets = f"{claim.better} − {claim.worse}"
    if result is None:
        return line([claim.says, presets, 0, "–", "–", "not measured"])
    return line([claim.says, presets, result.seeds, result.recall_sum, result.ranks,
                 result.verdict])  # fmt: skip


def judge_claims(
    data: str, stored: Sequence[Measurement]
) -> Iterator[tuple[Claim, ClaimResult | None]]:
    """Judge the claims of table 3 on some data; nothing without grounders there."""
    if runs := group_grounders(stored).get(data):
        yield from judge(runs)


def judge(runs: Mapping[str, Runs]) -> Iterator[tuple[Claim, ClaimResult | None]]:
    """Judge each claim by localised phrases; None without a pair."""
    for claim in CLAIMS:
        compared = pair_results(claim, runs)
        if not compared:
            yield claim, None
            continue
        first, precision = compare(compared, "recall_1"), compare(compared, "mean_precision")
        judged = verdict(first, len(compared))
        yield claim, ClaimResult(len(compared), first, precision, judged)


def compare(pairs: Sequence[tuple[Measurement, Measurement]], measure: str) -> Difference:
    """Compare pairs of results by a measure."""
    return Difference.of([better[measure] - worse[measure] for better, worse in pairs])
