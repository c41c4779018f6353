"""Sections of the results page on presets, by paper."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from statistics import mean
from typing import Any

from training.markdown import line, over_seeds, section, slashed
from training.matchers import preset
from training.report import mean_ranks
from training.report.claims import (
    RECALLS,
    SOLVED,
    WAYS,
    Claim,
    ClaimResult,
    Result,
    check_claim,
    recall_sum,
)
from training.report.measurements import Measurement, refuse_mixed_data
from training.report.papers import CLAIMS, OURS, Paper
from training.report.systems import SYSTEMS, System
from training.runs import presets as inheritance
from training.runs.folder import VAL
from training.runs.optimization import Optimizer, Schedule

SYSTEMS_HEAD = ("system", "photo · sentence", "preset", "seeds", "image → text", "text → image",
                "sum", "median ranks", "mean ranks", "published image → text",
                "published text → image", "source")  # fmt: skip
CLAIMS_HEAD = ("claim", "presets", "seeds", "sum of recalls", "mean rank", "verdict",
               "condition")  # fmt: skip
TERMS_SAY = (
    "The terms of the loss before their weights, by epoch, the mean over seeds. The fragment "
    "objective is 2.0 where all scores are zero."
)
EARLIER = "§"
PART = ", learned from "  # so many photos of train, in the name of data

Runs = Mapping[str, Mapping[int, Result]]  # results of runs on val, by preset and seed


def group_results(stored: Iterable[Measurement]) -> dict[str, Runs]:
    """Group the results of runs by data, preset and seed.

    ValueError for two runs of the same seed, whose mean would pass for two seeds', and for runs on
    different data of one name.
    """
    runs = [run for run in stored if run.get("epochs")]
    refuse_mixed_data(runs)
    by_data: dict[str, dict[str, dict[int, Result]]] = defaultdict(lambda: defaultdict(dict))
    for run in runs:
        data, name, seed = name_data(run), name_preset(run), run["seed"]
        if not run["preset"]["schedule"]["epochs"]:
            seed = SOLVED
        if seed in by_data[data][name]:
            seed_note = "" if seed == SOLVED else f" with seed {seed}"
            raise ValueError(f"two lines hold {name} on {data}{seed_note}: delete one")
        by_data[data][name][seed] = read_result(run)
    return dict(sorted(by_data.items()))


def name_data(run: Measurement) -> str:
    """Name a run's data, and its number of photos if limited."""
    photos = run["preset"].get("photos")
    return f"{run['data']['name']} val{f'{PART}{photos:,} photos' if photos else ''}"


def name_preset(run: Measurement) -> str:
    """Name a run's preset and its starting checkpoint."""
    name = str(run["preset"]["name"]).removesuffix(f"-{run['preset'].get('photos')}-photos")
    start = run.get("start")
    return f"{name} from {start}" if start else name  # it had more training than the preset says


def read_result(run: Measurement) -> Result:
    """Read a run's last results on val, its objectives and their curves."""
    measured = run.get(VAL) or run["epochs"][-1]["validation"]
    objectives = [term["name"] for term in run["preset"].get("objectives", ())]
    return {**measured, "objectives": objectives, "curve": run.get("curve", [])}


def find_outdated(stored: Iterable[Measurement]) -> set[str]:
    """Find shipped presets with a run of other options.

    The model of a preset for adopted encoders is that of the encoder, so none of its runs is.
    """
    runs = [run["preset"] for run in stored if run.get("epochs")]
    recorded = {run["name"] for run in runs}
    shipped = {
        name
        for name in recorded.intersection(inheritance.list_names())
        if not inheritance.needs_adopted(name)
    }
    return {
        run["name"]
        for run in runs
        if run["name"] in shipped and differ(run, preset.read(run["name"]).describe())
    }


def differ(run: Measurement, shipped: Measurement) -> bool:
    """Return whether a run's preset differs from the shipped one."""
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


def sections(
    paper: Paper, data: str, runs: Runs, stored: Sequence[Measurement], outdated: Collection[str]
) -> list[str]:
    """Write a paper's systems, claims, terms and mean ranks on some data."""
    systems = list(choose_systems(paper, runs))
    if not any(belongs(system, paper) for system in systems):
        return []
    if PART in data:
        outdated = ()  # shorter on purpose
    claims = [claim for claim, _ in judge_claims(data, runs) if claim.paper == paper.name]
    measured = any(check_claim(claim, runs) for claim in claims)
    rows = [claim_row(claim, runs, outdated) for claim in claims if measured]
    return [
        *section(f"Systems, on {data}", "", SYSTEMS_HEAD,
                 (system_row(system, runs[system.preset], outdated) for system in systems)),
        *section(f"Claims, on {data}", "", CLAIMS_HEAD, rows),
        *terms_section(data, runs, systems),
        *mean_ranks.sections(paper, data, runs, stored),
    ]  # fmt: skip


def choose_systems(paper: Paper, runs: Runs) -> Iterator[System]:
    """Choose a paper's measured systems and those in its claims.

    Presets of no paper come with Tessera's own; published numbers are the paper's alone.
    """
    compared = {
        name
        for claim in CLAIMS
        if claim.paper == paper.name
        for name in (claim.better, claim.worse)
    }
    for system in SYSTEMS:
        its = belongs(system, paper)
        if system.preset in runs and (its or system.preset in compared):
            yield system if its else replace(system, published=None)
    if paper.name == OURS:
        listed = {system.preset for system in SYSTEMS}
        yield from (System(name, name, "–", "–", "–") for name in sorted(runs.keys() - listed))


def belongs(system: System, paper: Paper) -> bool:
    """Return whether a system belongs to a paper, or to Tessera."""
    return system.source.startswith(paper.name) or (system.source == "–" and paper.name == OURS)


def terms_section(data: str, runs: Runs, systems: Iterable[System]) -> list[str]:
    """Write the stored terms of losses by epoch."""
    rows = []
    for system in systems:
        results = [run for run in runs[system.preset].values() if has_terms(run)]
        for term in dict.fromkeys(name for run in results for name in run["curve"][0]["terms"]):
            epochs = zip(*(
                [epoch["terms"][term] for epoch in run["curve"]] for run in results
            ), strict=False)  # fmt: skip
            values = " → ".join(round_term(mean(values)) for values in epochs)
            rows.append(line([system.name, system.preset, len(results), term, values]))
    head = ("system", "preset", "seeds", "term", "by epoch")
    return section(f"Terms of the loss, on {data}", TERMS_SAY, head, rows)


def round_term(value: float) -> str:
    """Round a term to three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def has_terms(run: Result) -> bool:
    """Return whether a run stores several objectives, or fragments' own."""
    curve = run["curve"]
    return bool(curve) and "fragments" in (curve[0].get("terms") or ())


def mark_outdated(name: str, outdated: Collection[str]) -> str:
    """Mark a preset's name if its runs had other options."""
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
    """Write a paper's claim, the runs' verdict, and its condition."""
    result = check_claim(claim, runs)
    presets = " − ".join(mark_outdated(name, outdated) for name in (claim.better, claim.worse))
    if not result:
        return line([claim.says, presets, 0, "–", "–", "not measured", claim.condition or "–"])
    return line([claim.says, presets, result.seeds or "–", result.recall_sum, result.ranks,
                 result.verdict, result.condition or "–"])  # fmt: skip


def judge_claims(data: str, runs: Runs) -> Iterator[tuple[Claim, ClaimResult | None]]:
    """Judge the measured claims."""
    if any(system.preset in runs for system in SYSTEMS):
        for claim in CLAIMS:
            result = check_claim(claim, runs)
            if result or PART not in data:
                yield claim, result
