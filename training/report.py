"""What the results table says: measurements in, Markdown out."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from training.claims import CLAIMS, Best, Claim, finding
from training.systems import SYSTEMS, System

RECALLS = ("recall_1", "recall_5", "recall_10")
WAYS = ("annotation", "search")

SYSTEMS_SAY = (
    "Ours: best epochs, as measured while training from cached features, the mean over seeds; in "
    "brackets the range of the sum of the six recalls. Published: the paper's own, on the test "
    "split of Flickr8K and with other CNNs and word vectors, so for orientation."
)
SYSTEMS_HEAD = ("system", "photo · sentence", "preset", "seeds", "image → text", "text → image",
                "sum", "published image → text", "published text → image", "paper")  # fmt: skip
CLAIMS_SAY = (
    "Differences in points of recall, the mean over the seeds that both presets have. A claim "
    "holds where the sum of the six recalls differs as the paper says in every seed, does not hold "
    "where it differs the other way in every seed, and is not clear where seeds disagree."
)
CLAIMS_HEAD = ("claim", "paper", "presets", "seeds", "sum", "R@1 image → text",
               "R@1 text → image", "here")  # fmt: skip
CHECKPOINTS_SAY = "Measured from the photos on, by the path that a service takes."
CHECKPOINTS_HEAD = ("checkpoint", "data", "image → text", "text → image", "median ranks")
GROUNDING_SAY = (
    "Phrases of Flickr30K Entities. Matchers learned from sentences alone; proposals know boxes. "
    "Localised: a box among the best 1 / 5 / 10 has IoU ≥ 0.5, in brackets the most that the boxes "
    "on offer allow. Pointed: the best one's centre is inside. mAP: mean average precision."
)
GROUNDING_HEAD = ("checkpoint", "data", "phrases", "localised", "pointed", "mAP")
PROPOSALS_SAY = (
    "The share of phrases that have a box with IoU ≥ 0.5 to all that they mean among the first 1 / "
    "5 / 10 / 20 boxes, the whole frame being the first."
)
PROPOSALS_HEAD = ("checkpoint", "data", "found")
CAPTIONS_SAY = "Corpus BLEU in percent against five sentences, beam of five."
CAPTIONS_HEAD = ("checkpoint", "data", "BLEU-1 / 2 / 3 / 4")

Runs = dict[str, dict[int, Best]]  # best epochs by preset and seed


def report(stored: Sequence[Mapping[str, Any]]) -> str:
    """The page of results, from what `tessera train` and `tessera evaluate --json` left behind."""
    matchers = [one for one in stored if "retrieval" in one]
    proposers = [one for one in stored if "recalls" in one]
    captioners = [one for one in stored if "bleu" in one]
    lines = [
        "# Results",
        "",
        "Written by `tessera reproduce` and `tessera report`; do not edit. Recall in percent at",
        "1 / 5 / 10; a hit is any of a photo's sentences.",
        "",
        *(line for data, runs in best_epochs(stored).items() for line in trainings(data, runs)),
        *section("Checkpoints", CHECKPOINTS_SAY, CHECKPOINTS_HEAD, map(checkpoint_row, matchers)),
        *section("Grounding", GROUNDING_SAY, GROUNDING_HEAD, grounding_rows(stored)),
        *section("Proposals", PROPOSALS_SAY, PROPOSALS_HEAD, map(proposals_row, proposers)),
        *section("Captions", CAPTIONS_SAY, CAPTIONS_HEAD, map(caption_row, captioners)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def best_epochs(stored: Iterable[Mapping[str, Any]]) -> dict[str, Runs]:
    """The best epoch of every run that has one, by data, preset and seed.

    ValueError for two files of the same: their mean would pass for two seeds'.
    """
    found: dict[str, Runs] = defaultdict(lambda: defaultdict(dict))
    for run in stored:
        if not run.get("epochs"):
            continue
        data, preset, seed = run["data"]["name"], run["preset"]["name"], run["seed"]
        if start := run.get("start"):
            preset = f"{preset} from {start}"  # it had more training than the preset says
        if seed in found[data][preset]:
            raise ValueError(f"two files hold {preset} on {data} with seed {seed}: delete one")
        found[data][preset][seed] = max(run["epochs"], key=lambda epoch: epoch["recall_sum"])
    return dict(sorted(found.items()))


def trainings(data: str, runs: Runs) -> list[str]:
    """The sections on what was trained on one corpus: every system, and the papers' claims."""
    known = [system for system in SYSTEMS if system.preset in runs]
    others = sorted(runs.keys() - {system.preset for system in SYSTEMS})
    known += [System(preset, "–", "–", "–", "–") for preset in others]
    systems = [system_row(system, list(runs[system.preset].values())) for system in known]
    told = any(finding(claim, runs) for claim in CLAIMS)
    claims = [claim_row(claim, runs) for claim in CLAIMS if told]
    return [
        *section(f"Every system, on {data} val", SYSTEMS_SAY, SYSTEMS_HEAD, systems),
        *section(f"Claims, on {data} val", CLAIMS_SAY, CLAIMS_HEAD, claims),
    ]


def section(title: str, says: str, head: Sequence[str], rows: Iterable[str]) -> list[str]:
    """A heading, what the table means, and the table; nothing without rows."""
    found = list(rows)
    ruler = "|" + "---|" * len(head)
    return [f"## {title}", "", says, "", line(head), ruler, *found, ""] if found else []


def system_row(system: System, seeds: Sequence[Best]) -> str:
    """A system here, the mean over seeds, beside what its paper published."""
    ours = [
        slashed(mean(seed["validation"][way][at] for seed in seeds) for at in RECALLS)
        for way in WAYS
    ]
    sums = [seed["recall_sum"] for seed in seeds]
    told = f"{mean(sums):.1f}" + (f" ({spread(sums)})" if len(sums) > 1 else "")
    published = system.published
    theirs = [slashed(one) for one in (published.annotation, published.search)] if published else []
    kind = "–" if system.photo == "–" else f"{system.photo} · {system.sentence}"
    return line([system.name, kind, system.preset, len(seeds), *ours, told,
                 *(theirs or ["–", "–"]), system.source])  # fmt: skip


def claim_row(claim: Claim, runs: Runs) -> str:
    """What a paper claims, and what the runs say of it."""
    found = finding(claim, runs)
    presets = f"{claim.better} − {claim.worse}"
    if not found:
        return line([claim.says, claim.paper, presets, 0, "–", "–", "–", "not measured"])
    differences = (found.recall_sum, found.annotation, found.search)
    return line([claim.says, claim.paper, presets, found.seeds,
                 *(f"{one:+.1f}" for one in differences), found.verdict])  # fmt: skip


def checkpoint_row(one: Mapping[str, Any]) -> str:
    """What `tessera evaluate` measured of one matcher's checkpoint."""
    recalls = [slashed(one["retrieval"][way][at] for at in RECALLS) for way in WAYS]
    medians = [f"{one['retrieval'][way]['median_rank']:.0f}" for way in WAYS]
    return line([named(one), f"{one['data']} {one['split']}", *recalls, ", ".join(medians)])


def grounding_rows(stored: Iterable[Mapping[str, Any]]) -> list[str]:
    """What `tessera evaluate` measured of links and grounders against true boxes."""
    return [
        line(
            [
                named(one),
                f"{one['data']} {one['split']}",
                f"{found['phrases']:,}",
                localised(found),
                f"{found['pointed']:.1f}",
                f"{found['mean_precision']:.1f}" if "mean_precision" in found else "–",
            ]
        )
        for one in stored
        if (found := one.get("grounding"))
    ]


def localised(found: Mapping[str, Any]) -> str:
    """Recalls of boxes and their bound; older measurements have the first recall alone."""
    if "localised" in found:
        return f"{found['localised']:.1f} (of {found['reachable']:.1f})"
    return f"{slashed(found[at] for at in RECALLS)} (of {found['bound']:.1f})"


def proposals_row(one: Mapping[str, Any]) -> str:
    """What `tessera evaluate` or benchmarks/proposal_recall.py measured of one way to propose."""
    return line([f"{one['name']} {one['checkpoint']}", f"{one['data']} {one['split']}",
                 slashed(one["recalls"].values())])  # fmt: skip


def caption_row(one: Mapping[str, Any]) -> str:
    """What `tessera evaluate` measured of one captioner's checkpoint."""
    return line([f"{one['name']} {one['checkpoint']}", f"{one['data']} {one['split']}",
                 slashed(one["bleu"])])  # fmt: skip


def named(one: Mapping[str, Any]) -> str:
    """A checkpoint's preset, seed and fingerprint."""
    return f"{one['preset']}, seed {one['seed']}, {one['checkpoint']}"


def line(cells: Iterable[object]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def slashed(values: Iterable[float]) -> str:
    """Numbers with one decimal, between slashes."""
    return " / ".join(f"{value:.1f}" for value in values)


def spread(values: Iterable[float]) -> str:
    """The range of a few numbers."""
    known = list(values)
    return f"{min(known):.1f}–{max(known):.1f}"


def read(folder: Path) -> list[dict[str, Any]]:
    """A folder's measurements and run files; LookupError if it has none."""
    found = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    if not found:
        raise LookupError(f"{folder} holds no run.json and nothing of `tessera evaluate --json`")
    return found
