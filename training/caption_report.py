"""Sections of the results page on captioners, beside what papers published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from training.markdown import line, one_decimal, section, slashed

USUAL_BEAM = 5
CAPTIONS_SAY = (
    "A caption of each photo, by a beam of five where no other is named, against its sentences; "
    "ranked by the matcher: the best of the beam for captioner and matcher together, as a service "
    "answers. Nearest photo of "
    "train: its first sentence (Karpathy & Fei-Fei 2015, section 4.2). ‡ By photos' features as "
    "training keeps them. CIDEr-D takes the document "
    "frequencies of the split's own sentences. Ours are of val, published ones of the official "
    "test split and with other CNNs, so for orientation; of published METEOR no version is "
    "stated, ours is 1.5. A number beside a dash was not published or not measured."
)
CAPTIONS_HEAD = ("captioner", "data", "BLEU-1 / 2 / 3 / 4", "METEOR", "ROUGE-L",
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
CONTENT_HEAD = ("captioner", "data", "nouns", "invented nouns", "captions with one",
                "invented persons", "grounded: attention, matcher", "copied", "words used",
                "words a caption")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Published:
    """A paper's captioner on Flickr8K's test split."""

    name: str
    bleu: tuple[float, ...]
    meteor: float
    cider: float | None


PUBLISHED = (
    Published("Karpathy & Fei-Fei 2015, table 2", (57.9, 38.3, 24.5, 16.0), 16.7, 31.8),
    Published("Xu et al. 2015, hard attention", (67.0, 45.7, 31.4, 21.3), 20.3, None),
)


def sections(measured: Sequence[Mapping[str, Any]]) -> list[str]:
    """Captions against sentences, and what they say; nothing where no captioner was measured."""
    published = map(published_row, PUBLISHED if measured else ())
    rows = [*map(caption_row, measured), *published]
    contents = [content_row(row) for row in measured if row["hallucination"]]
    return [
        *section("Captions", CAPTIONS_SAY, CAPTIONS_HEAD, rows),
        *section("What captions say", CONTENT_SAY, CONTENT_HEAD, contents),
    ]


def caption_row(row: Mapping[str, Any]) -> str:
    """What `tessera evaluate` measured against sentences."""
    scores = (one_decimal(row[metric]) for metric in ("meteor", "rouge", "cider"))
    return line([*about(row), slashed(row["bleu"]), *scores])


def published_row(paper: Published) -> str:
    """What a paper measured."""
    scores = (paper.meteor, None, paper.cider)
    return line([paper.name, "Flickr8K test", slashed(paper.bleu), *map(one_decimal, scores)])


def content_row(row: Mapping[str, Any]) -> str:
    """What `tessera evaluate` measured of nouns and of variety."""
    nouns = row["hallucination"]
    shares = (nouns[of] for of in ("hallucinated", "captions", "persons"))
    grounded = ", ".join(one_decimal(nouns.get(of)) for of in ("grounded", "linked"))
    return line([*about(row), f"{nouns['nouns']:,}", *map(one_decimal, shares), grounded,
                 one_decimal(row["copied"]), f"{row['vocabulary']:,}",
                 one_decimal(row["length"])])  # fmt: skip


def about(row: Mapping[str, Any]) -> tuple[str, str]:
    """A captioner with its options and its checkpoint, and its data."""
    options = (f"{key} {value}" for key, value in sorted(row.get("options", {}).items()))
    ranked = ["ranked by the matcher"] if "ranked_by" in row else []
    beam = row.get("beam", USUAL_BEAM)
    ranked += [f"a beam of {beam}"] if beam != USUAL_BEAM else []
    frozen = " ‡" if row.get("frozen") else ""
    name = f"{', '.join((row['name'], *options))} {row['checkpoint']}"
    return ", ".join((name, *ranked)), f"{row['data']} {row['split']}{frozen}"
