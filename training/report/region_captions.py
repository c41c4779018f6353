"""Section of the results page on captions of regions, of `tessera evaluate-regions --json`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import mean

from training.markdown import line, over_seeds, section, slashed, slashed_over_seeds
from training.report.measurements import (
    Measurement,
    name_data,
    name_with_options,
    refuse_mixed_data,
    refuse_same_seed,
)

REGIONS_SAY = (
    "What is said of the true boxes of Flickr30K Entities, by the features in a box alone: corpus "
    "BLEU, METEOR, ROUGE-L and CIDEr-D in percent against the phrases that name the box, beam of "
    "five, the mean over seeds and in brackets the range, of BLEU that of BLEU-4. CIDEr-D takes "
    "the document frequencies of these phrases. "
    "Captioners learned from whole photos with their sentences, or from regions with the snippets "
    "that the matcher aligns with them. Nearest: the snippet of train that the matcher finds most "
    "compatible with the box. Published: table 3 of Karpathy & Fei-Fei (2015), on boxes that "
    "people drew in COCO's photos, so for orientation."
)
REGIONS_HEAD = ("system", "learned from", "data", "seeds", "boxes", "words a box",
                "BLEU-1 / 2 / 3 / 4", "METEOR", "ROUGE-L", "CIDEr-D")  # fmt: skip
PUBLISHED = (
    ("human agreement", "–", (61.5, 45.2, 30.1, 22.0)),
    ("nearest neighbour", "regions", (22.9, 10.5, 0.0, 0.0)),
    ("multimodal RNN", "whole photos", (14.2, 6.0, 2.2, 0.0)),
    ("multimodal RNN", "regions", (35.2, 23.0, 16.1, 14.8)),
)


def sections(stored: Sequence[Measurement]) -> list[str]:
    """Write the section, published rows last; nothing without measurements.

    ValueError for different data of one name, and for two rows of the same seed.
    """
    measured = [row for row in stored if "region_bleu" in row]
    refuse_mixed_data(measured)
    systems: dict[tuple[str, ...], list[Measurement]] = defaultdict(list)
    for row in measured:
        systems[name_system(row)].append(row)
    ours = [ours_row(key, seeds) for key, seeds in sorted(systems.items())]
    theirs = [
        line([f"published: {name}", learned_from, "COCO", *"–––", slashed(scores), *"–––"])
        for name, learned_from, scores in PUBLISHED
    ]
    return section("Captions of regions", REGIONS_SAY, REGIONS_HEAD, ours + theirs if ours else [])


def name_system(row: Measurement) -> tuple[str, ...]:
    """Name a system's shared parts over seeds: options, sources, data."""
    return name_with_options(row), row["learned_from"], name_data(row)


def ours_row(key: tuple[str, ...], seeds: Sequence[Measurement]) -> str:
    """A system, its mean over seeds."""
    name, learned_from, data = key
    refuse_same_seed(seeds, f"{name}, learned from {learned_from}, on {data}")
    scores = slashed_over_seeds([measurement["region_bleu"] for measurement in seeds])
    words = mean(measurement["words"] for measurement in seeds)
    others = (over_seeds([row.get(of) for row in seeds]) for of in ("meteor", "rouge", "cider"))
    return line([name, learned_from, data, len(seeds), f"{seeds[0]['regions']:,}", f"{words:.1f}",
                 scores, *others])  # fmt: skip
