"""Sections of the results page on captioners, next to published numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from training.markdown import (
    line,
    one_decimal,
    over_seeds,
    section,
    slashed,
    slashed_over_seeds,
)
from training.report.measurements import (
    Measurement,
    name_data,
    name_with_options,
    refuse_mixed_data,
    refuse_same_seed,
)

USUAL_BEAM = 5
CAPTIONS_SAY = (
    "A caption of each photo, by a beam of five where no other is named, against its sentences: "
    "the mean over seeds, and in brackets the range, of BLEU that of BLEU-4; a captioner of one "
    "seed by its fingerprint; "
    "ranked by the matcher: the best of the beam for captioner and matcher together, as a service "
    "answers. Nearest photo of "
    "train: its first sentence (Karpathy & Fei-Fei 2015, section 4.2). ‡ By photos' features as "
    "training keeps them. CIDEr-D takes the document "
    "frequencies of the split's own sentences. Ours are of val, published ones of the official "
    "test split and with other CNNs, so for orientation; of published METEOR no version is "
    "stated, ours is 1.5. A dash stands for a number that was not published or not measured."
)
CAPTIONS_HEAD = ("captioner", "data", "seeds", "BLEU-1 / 2 / 3 / 4", "METEOR", "ROUGE-L",
                 "CIDEr-D")  # fmt: skip
CONTENT_SAY = (
    "Invented nouns: nouns of things that no sentence of the photo names, by this or another name, "
    "in percent of nouns; and the captions with such a noun (after CHAIR, Rohrbach et al. 2018). "
    "Sentences leave out much of what a photo shows, so this compares captioners and is no share "
    "of errors. Invented persons: captions that name a person where no sentence does. Grounded: "
    "of the nouns with a box and a true box, those with IoU ≥ 0.5, by the box that the captioner "
    "attends to most and by the matcher's, which has one for fewer nouns. Copied: captions that "
    "are a sentence of train word for word; a dash where the data have no split train."
)
CONTENT_HEAD = ("captioner", "data", "seeds", "nouns", "invented nouns", "captions with one",
                "invented persons", "grounded: attention, matcher", "copied", "words used",
                "words a caption")  # fmt: skip


@dataclass(frozen=True, slots=True)
class PublishedCaptions:
    """A paper's captioner on Flickr8K's test split."""

    name: str
    bleu: tuple[float, ...]
    meteor: float
    cider: float | None


PUBLISHED = (
    PublishedCaptions("Karpathy & Fei-Fei 2015, table 2", (57.9, 38.3, 24.5, 16.0), 16.7, 31.8),
    PublishedCaptions("Xu et al. 2015, hard attention", (67.0, 45.7, 31.4, 21.3), 20.3, None),
)


def sections(stored: Sequence[Measurement]) -> list[str]:
    """Write captions against sentences, and their content; nothing without captioners.

    ValueError for different data of one name.
    """
    measured = [row for row in stored if "bleu" in row]
    refuse_mixed_data(measured)
    systems: dict[tuple[str, ...], list[Measurement]] = defaultdict(list)
    for row in measured:
        systems[name_system(row)].append(row)
    published = map(published_row, PUBLISHED if measured else ())
    rows = [*map(caption_row, systems.values()), *published]
    contents = [
        content_row(seeds)
        for seeds in systems.values()
        if all(row["hallucination"] for row in seeds)
    ]
    return [
        *section("Captions", CAPTIONS_SAY, CAPTIONS_HEAD, rows),
        *section("What captions say", CONTENT_SAY, CONTENT_HEAD, contents),
    ]


def name_system(row: Measurement) -> tuple[str, ...]:
    """Name a captioner's shared parts over seeds: options, generation, data."""
    ranked = ["ranked by the matcher"] if "ranked_by" in row else []
    beam = row.get("beam", USUAL_BEAM)
    ranked += [f"a beam of {beam}"] if beam != USUAL_BEAM else []
    return name_with_options(row), ", ".join(ranked), name_data(row)


def caption_row(seeds: Sequence[Measurement]) -> str:
    """Write the measurements of `tessera evaluate` against sentences."""
    scores = (over_seeds([row[metric] for row in seeds]) for metric in ("meteor", "rouge", "cider"))
    return line([*name_rows(seeds), slashed_over_seeds([row["bleu"] for row in seeds]), *scores])


def published_row(paper: PublishedCaptions) -> str:
    """Write a paper's measurements."""
    scores = (paper.meteor, None, paper.cider)
    cells = (slashed(paper.bleu), *map(one_decimal, scores))
    return line([paper.name, "Flickr8K test", "–", *cells])


def content_row(seeds: Sequence[Measurement]) -> str:
    """Write the measurements of `tessera evaluate` of nouns and variety."""
    nouns = [row["hallucination"] for row in seeds]
    shares, grounded = (
        [over_seeds([row.get(of) for row in nouns]) for of in names]
        for names in (("hallucinated", "captions", "persons"), ("grounded", "linked"))
    )
    counted, vocabulary = (
        f"{mean(values):,.0f}"
        for values in ([row["nouns"] for row in nouns], [row["vocabulary"] for row in seeds])
    )
    copied, length = (over_seeds([row[of] for row in seeds]) for of in ("copied", "length"))
    return line([*name_rows(seeds), counted, *shares, ", ".join(grounded), copied, vocabulary,
                 length])  # fmt: skip


def name_rows(seeds: Sequence[Measurement]) -> tuple[str, str, str]:
    """Name a captioner, its data, and its number of seeds.

    ValueError for two rows of the same seed.
    """
    name, asked, data = name_system(seeds[0])
    refuse_same_seed(seeds, f"{name} on {data}")
    fingerprints = [row["checkpoint"] for row in seeds if len(seeds) == 1]
    captioner = " ".join((name, *fingerprints))
    return (
        ", ".join(filter(None, (captioner, asked))),
        data,
        "–" if any(row.get("seed") is None for row in seeds) else str(len(seeds)),
    )
