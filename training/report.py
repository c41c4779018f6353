"""What the results table says: measurements in, Markdown out."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

# Flickr8K test, from the papers' own tables and from Wang et al. 2016; theirs, not ours.
PUBLISHED = (
    ("DeFrag (Karpathy et al. 2014)", (12.6, 32.9, 44.0), (9.7, 29.6, 42.5)),
    ("DVSA, BRNN (Karpathy & Fei-Fei 2015)", (16.5, 40.6, 54.2), (11.8, 32.1, 44.7)),
    ("two-branch, VGG-19 + HGLMM (Wang et al. 2016)", (30.1, 60.4, 73.7), (23.0, 51.3, 64.8)),
)
RECALLS = ("recall_1", "recall_5", "recall_10")
WAYS = ("annotation", "search")

RUNS_SAY = (
    "Best epochs on val, as measured while training from cached features; of several seeds the "
    "mean, and the range of R@1."
)
RUNS_HEAD = ("preset", "data", "seeds", "image → text", "text → image", "R@1 ranges")
CHECKPOINTS_SAY = "Measured from the photos on, by the path that a service takes."
CHECKPOINTS_HEAD = ("checkpoint", "data", "image → text", "text → image", "median ranks")
GROUNDING_SAY = (
    "Phrases of Flickr30K Entities, learned from sentences alone. Localised: the box chosen has "
    "IoU ≥ 0.5, in brackets the most that the boxes on offer allow. Pointed: its centre is inside."
)
GROUNDING_HEAD = ("checkpoint", "data", "phrases", "localised", "pointed")
CAPTIONS_SAY = "Corpus BLEU in percent against five sentences, beam of five."
CAPTIONS_HEAD = ("checkpoint", "data", "BLEU-1 / 2 / 3 / 4")
PUBLISHED_SAY = "On the test split of Flickr8K and with other CNNs: for orientation, not ours."
PUBLISHED_HEAD = ("system", "image → text", "text → image")


def report(stored: Sequence[Mapping[str, Any]]) -> str:
    """The page of results, from what `tessera train` and `tessera evaluate --json` left behind."""
    runs = [one for one in stored if "epochs" in one]
    matchers = [one for one in stored if "retrieval" in one]
    captioners = [one for one in stored if "bleu" in one]
    lines = [
        "# Results",
        "",
        "Written by `tessera report`; do not edit. Recall in percent at 1 / 5 / 10; a hit is any",
        "of a photo's sentences.",
        "",
        *section("Trainings", RUNS_SAY, RUNS_HEAD, run_rows(runs)),
        *section("Checkpoints", CHECKPOINTS_SAY, CHECKPOINTS_HEAD, map(checkpoint_row, matchers)),
        *section("Grounding", GROUNDING_SAY, GROUNDING_HEAD, grounding_rows(matchers)),
        *section("Captions", CAPTIONS_SAY, CAPTIONS_HEAD, map(caption_row, captioners)),
        *section("Published", PUBLISHED_SAY, PUBLISHED_HEAD, map(published_row, PUBLISHED)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def section(title: str, says: str, head: Sequence[str], rows: Iterable[str]) -> list[str]:
    """A heading, what the table means, and the table; nothing without rows."""
    found = list(rows)
    ruler = "|" + "---|" * len(head)
    return [f"## {title}", "", says, "", line(head), ruler, *found, ""] if found else []


def run_rows(runs: Iterable[Mapping[str, Any]]) -> list[str]:
    """A row a preset: the means over its seeds of each one's best epoch, and the ranges of R@1."""
    by_preset: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for run in runs:
        best = max(run["epochs"], key=lambda epoch: epoch["recall_sum"])
        by_preset[run["preset"]["name"], run["data"]["name"]].append(best["validation"])
    rows = []
    for (preset, data), seeds in sorted(by_preset.items()):
        means = [slashed(mean(seed[way][at] for seed in seeds) for at in RECALLS) for way in WAYS]
        ranges = "; ".join(spread(seed[way]["recall_1"] for seed in seeds) for way in WAYS)
        rows.append(line([preset, f"{data} val", len(seeds), *means, ranges]))
    return rows


def checkpoint_row(one: Mapping[str, Any]) -> str:
    """What `tessera evaluate` measured of one matcher's checkpoint."""
    recalls = [slashed(one["retrieval"][way][at] for at in RECALLS) for way in WAYS]
    medians = [f"{one['retrieval'][way]['median_rank']:.0f}" for way in WAYS]
    return line([named(one), f"{one['data']} {one['split']}", *recalls, ", ".join(medians)])


def grounding_rows(matchers: Iterable[Mapping[str, Any]]) -> list[str]:
    """What `tessera evaluate` measured of links against true boxes, where there were any."""
    return [
        line(
            [
                named(one),
                f"{one['data']} {one['split']}",
                f"{found['phrases']:,}",
                f"{found['localised']:.1f} (of {found['reachable']:.1f})",
                f"{found['pointed']:.1f}",
            ]
        )
        for one in matchers
        if (found := one["grounding"])
    ]


def caption_row(one: Mapping[str, Any]) -> str:
    """What `tessera evaluate` measured of one captioner's checkpoint."""
    return line([f"{one['name']} {one['checkpoint']}", f"{one['data']} {one['split']}",
                 slashed(one["bleu"])])  # fmt: skip


def published_row(row: tuple[str, Sequence[float], Sequence[float]]) -> str:
    """What a paper says of its own system."""
    name, annotation, search = row
    return line([name, slashed(annotation), slashed(search)])


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
