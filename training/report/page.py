"""The results page: measurements in, Markdown out."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import mean
from typing import Any

from training.markdown import line, over_seeds, section, slashed
from training.matchers import preset
from training.report import checkpoints as checkpoint_report
from training.report import measurements
from training.report.claims import (
    CLAIMS,
    RECALLS,
    SOLVED,
    WAYS,
    Claim,
    Result,
    check_claim,
    recall_sum,
)
from training.report.measurements import Measurement
from training.report.systems import SYSTEMS, System
from training.runs import presets as inheritance
from training.runs.folder import VAL
from training.runs.optimization import Optimizer, Schedule

INTRODUCTION = """# Results

Written by `tessera reproduce` and `tessera report`; do not edit. Recall in percent at
1 / 5 / 10; a hit is any of a photo's sentences.

No model was trained on a photo of a split that it is measured on. The sentences are another
matter: all systems but `two-branch-tfidf` read words with the packaged MiniLM. Its training data
include the captions of Flickr30K and COCO, as its own model card says. Of the 5,000 sentences of
Flickr8k's val, 4,845 (97 %) are sentences of Flickr30K word for word, and the same must be
expected of its test split. So the sentence side has seen the wording. This concerns all retrieval
on Flickr8k, and most of all text → text (†), in which no photo takes part. `two-branch-tfidf` has
learned its words from train alone; `two-branch-mean` differs from it by MiniLM's word vectors.
"""

SYSTEMS_SAY = (
    "Ours: from cached features, the mean over seeds; in brackets the range of the sum of the six "
    "recalls. Val chooses no epoch: it is the last, or in presets with `hold_out` the best on "
    "photos of train that were not learned. Ranks are those of image → text and text → image, "
    "over 5,000 sentences and 1,000 photos. § Trained by an earlier form of the preset, whose run "
    "in benchmarks/measurements.jsonl says how. Published: the paper's own, on the test split of "
    "Flickr8K and with other CNNs and word vectors, so for orientation."
)
SYSTEMS_HEAD = ("system", "photo · sentence", "preset", "seeds", "image → text", "text → image",
                "sum", "median ranks", "mean ranks", "published image → text",
                "published text → image", "paper")  # fmt: skip
CLAIMS_SAY = (
    "How much better the first preset is, the mean over the seeds that both have, with Student's "
    "95 % interval: the sum of the six recalls, and places of the mean rank. A claim holds where "
    "the interval of the paper's own measure lies above zero (recalls; mean ranks in Socher et "
    "al.), does not hold where it lies below, and is not clear where zero is in it. One seed has "
    "no interval: it is ahead or behind. The interval tells of seeds, not of other photos. CCA is "
    "solved for and has no seed."
)
EARLIER = "§"
CLAIMS_HEAD = ("claim", "paper", "presets", "seeds", "sum of recalls", "mean rank",
               "here")  # fmt: skip

Runs = dict[str, dict[int, Result]]  # results of runs on val, by preset and seed


def write_page(stored: Sequence[Measurement]) -> str:
    """Write the page of results from measurements of training and evaluation."""
    outdated = find_outdated(stored)
    lines = [
        INTRODUCTION,
        *(
            text
            for data, runs in group_results(stored).items()
            for text in training_sections(data, runs, outdated)
        ),
        *checkpoint_report.sections(stored),
    ]
    return "\n".join(lines).rstrip() + "\n"


def group_results(stored: Iterable[Measurement]) -> dict[str, Runs]:
    """Group the last results of runs by data, preset and seed.

    ValueError for two runs of the same seed, whose mean would pass for two seeds'.
    """
    by_corpus: dict[str, Runs] = defaultdict(lambda: defaultdict(dict))
    for run in stored:
        if not run.get("epochs"):
            continue
        data, preset, seed = run["data"]["name"], run["preset"]["name"], run["seed"]
        if not run["preset"]["schedule"]["epochs"]:
            seed = SOLVED
        if start := run.get("start"):
            preset = f"{preset} from {start}"  # it had more training than the preset says
        if seed in by_corpus[data][preset]:
            seed_note = "" if seed == SOLVED else f" with seed {seed}"
            raise ValueError(f"two lines hold {preset} on {data}{seed_note}: delete one")
        by_corpus[data][preset][seed] = run.get(VAL) or run["epochs"][-1]["validation"]
    return dict(sorted(by_corpus.items()))


def find_outdated(stored: Iterable[Measurement]) -> set[str]:
    """Find shipped presets with a run of an earlier form."""
    shipped = set(inheritance.list_names())
    runs = [run["preset"] for run in stored if run.get("epochs")]
    return {
        run["name"]
        for run in runs
        if run["name"] in shipped and differ(run, preset.read(run["name"]).describe())
    }


def differ(run: Measurement, shipped: Measurement) -> bool:
    """Return whether a run trains or models unlike the shipped."""
    models = run.get("model"), json.loads(json.dumps(shipped["model"]))  # as run files have it
    return list_settings(run) != list_settings(shipped) or not agree(*models)


def agree(ours: Any, theirs: Any) -> bool:
    """Return whether two models agree in common options, except learned ones.

    The models of the first run files are only names, which say nothing.
    """
    if not (isinstance(ours, dict) and isinstance(theirs, dict)):
        return isinstance(theirs, dict) or ours == theirs
    shared = (ours.keys() & theirs.keys()) - {"words", "relations", "parser"}
    return all(agree(ours[name], theirs[name]) for name in shared)


def list_settings(described: Measurement) -> list[Any]:
    """List the settings of a preset's training, without the model."""
    return [
        [[term["name"], term["weight"], term["first"], term["last"], term["options"]]
         for term in described["objectives"]],
        asdict(Optimizer(**described["optimizer"])),
        asdict(Schedule(**described["schedule"])),
        described.get("hold_out"),
    ]  # fmt: skip


def training_sections(data: str, runs: Runs, outdated: Collection[str]) -> list[str]:
    """Write the sections on one corpus: every system, and the papers' claims."""
    rows = [system for system in SYSTEMS if system.preset in runs]
    unlisted = sorted(runs.keys() - {system.preset for system in SYSTEMS})
    rows += [System(preset, "–", "–", "–", "–") for preset in unlisted]
    systems = [system_row(system, runs[system.preset], outdated) for system in rows]
    measured = any(check_claim(claim, runs) for claim in CLAIMS)
    claims = [claim_row(claim, runs, outdated) for claim in CLAIMS if measured]
    return [
        *section(f"Every system, on {data} val", SYSTEMS_SAY, SYSTEMS_HEAD, systems),
        *section(f"Claims, on {data} val", CLAIMS_SAY, CLAIMS_HEAD, claims),
    ]


def mark_outdated(name: str, outdated: Collection[str]) -> str:
    """Mark a preset's name if its runs were of an earlier form."""
    return f"{name} {EARLIER}" if name in outdated else name


def system_row(system: System, runs: Mapping[int, Result], outdated: Collection[str]) -> str:
    """Write a system's mean over seeds, next to its paper's numbers."""
    seeds, solved = list(runs.values()), SOLVED in runs
    ours = [slashed(mean(seed[way][at] for seed in seeds) for at in RECALLS) for way in WAYS]
    ranks = [
        ", ".join(f"{mean(seed[way][rank] for seed in seeds):.{digits}f}" for way in WAYS)
        for rank, digits in (("median_rank", 0), ("mean_rank", 1))
    ]
    total = over_seeds([recall_sum(seed) for seed in seeds])
    theirs = ["–", "–"]
    if published := system.published:
        theirs = [slashed(published.annotation), slashed(published.search)]
    kind = "–" if system.photo == "–" else f"{system.photo} · {system.sentence}"
    name = mark_outdated(system.preset, outdated)
    count = "–" if solved else len(seeds)
    return line([system.name, kind, name, count, *ours, total, *ranks, *theirs,
                 system.source])  # fmt: skip


def claim_row(claim: Claim, runs: Runs, outdated: Collection[str]) -> str:
    """Write a paper's claim, and the runs' verdict."""
    result = check_claim(claim, runs)
    presets = " − ".join(mark_outdated(name, outdated) for name in (claim.better, claim.worse))
    if not result:
        return line([claim.says, claim.paper, presets, 0, "–", "–", "not measured"])
    seeds = result.seeds or "–"
    return line([claim.says, claim.paper, presets, seeds, result.recall_sum, result.ranks,
                 result.verdict])  # fmt: skip


def read(file: Path) -> list[dict[str, Any]]:
    """Read a file's measurements; LookupError if there are none."""
    rows = list(measurements.read(file).values())
    if not rows:
        raise LookupError(
            f"{file} holds no measurement: --add run.json, or a file of `tessera evaluate --json`"
        )
    return rows
