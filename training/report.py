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


def report(measurements: Sequence[Mapping[str, Any]], captions: Sequence[Mapping[str, Any]]) -> str:
    """The page of results: a row a preset, the mean over its seeds and their range."""
    by_preset: dict[tuple[str, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for one in measurements:
        by_preset[one["preset"], one["data"], one["split"]].append(one)
    lines = [
        "# Results",
        "",
        "Written by `tessera report`; do not edit. Recall in percent at 1 / 5 / 10; a hit is any",
        "of a photo's sentences. Of several seeds, the mean, and the range of R@1.",
        "",
        "## Retrieval",
        "",
        "| preset | data | seeds | image → text | text → image | R@1 ranges |",
        "|---|---|---|---|---|---|",
        *(retrieval_row(*key, of) for key, of in sorted(by_preset.items())),
        "",
        "Published, on the test split and with other CNNs, for orientation:",
        "",
        "| system | image → text | text → image |",
        "|---|---|---|",
        *(f"| {name} | {slashed(a)} | {slashed(b)} |" for name, a, b in PUBLISHED),
        "",
        "## Grounding",
        "",
        "Phrases of Flickr30K Entities, learned from sentences alone. Localised: IoU ≥ 0.5, in",
        "brackets the most that the boxes on offer allow. Pointed: the box's centre lies inside.",
        "",
        "| preset | data | phrases | localised | pointed |",
        "|---|---|---|---|---|",
        *(grounding_row(*key, of) for key, of in sorted(by_preset.items()) if of[0]["grounding"]),
        "",
        *caption_lines(captions),
    ]
    return "\n".join(lines).rstrip() + "\n"


def retrieval_row(preset: str, data: str, split: str, seeds: Sequence[Mapping[str, Any]]) -> str:
    """One preset's recalls, both ways."""
    ways = ("annotation", "search")
    means = [[mean(one["retrieval"][way][at] for one in seeds) for at in RECALLS] for way in ways]
    ranges = [spread(one["retrieval"][way]["recall_1"] for one in seeds) for way in ways]
    shown = " | ".join(slashed(each) for each in means)
    return f"| {preset} | {data} {split} | {len(seeds)} | {shown} | {'; '.join(ranges)} |"


def grounding_row(preset: str, data: str, split: str, seeds: Sequence[Mapping[str, Any]]) -> str:
    """One preset's grounding."""
    localised, reachable, pointed = (
        mean(one["grounding"][what] for one in seeds)
        for what in ("localised", "reachable", "pointed")
    )
    phrases = f"{seeds[0]['grounding']['phrases']:,}"
    told = f"{localised:.1f} (of {reachable:.1f}) | {pointed:.1f}"
    return f"| {preset} | {data} {split} | {phrases} | {told} |"


def caption_lines(captions: Sequence[Mapping[str, Any]]) -> list[str]:
    """The captioners' section, none without a measurement."""
    if not captions:
        return []
    head = ["## Captions", "", "| captioner | data | BLEU-1 / 2 / 3 / 4 |", "|---|---|---|"]
    rows = [f"| {c['name']} | {c['data']} {c['split']} | {slashed(c['bleu'])} |" for c in captions]
    return [*head, *rows]


def slashed(values: Iterable[float]) -> str:
    """Numbers with one decimal, between slashes."""
    return " / ".join(f"{value:.1f}" for value in values)


def spread(values: Iterable[float]) -> str:
    """The range of a few numbers."""
    known = list(values)
    return f"{min(known):.1f}–{max(known):.1f}"


def read(folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A folder's measurements of matchers, and of captioners; LookupError if it has none."""
    found = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    if not found:
        raise LookupError(f"{folder} holds no .json that `tessera evaluate --json` wrote")
    return [one for one in found if "retrieval" in one], [one for one in found if "bleu" in one]
