"""Sections of the results page on checkpoints, as `tessera evaluate --json` measured them."""

from __future__ import annotations

from collections.abc import Sequence

from training.markdown import coefficient, line, section, slashed
from training.report.claims import RECALLS, WAYS
from training.report.measurements import Measurement, name_data, refuse_mixed_data

CHECKPOINTS_SAY = (
    "Measured from the photos on, by the path that a service takes. Ranks are those of image → "
    "text and text → image. † Recall of another sentence of the same photo, which MiniLM's "
    "training on such captions makes easier. ‡ By photos' features as training keeps them."
)
RETRIEVAL_HEAD = ("checkpoint", "data", "image → text", "text → image", "median ranks",
                  "mean ranks", "text → text †")  # fmt: skip
ELSEWHERE_SAY = (
    "The same for photos of other data than the checkpoint was trained on: pascal_part has 329 "
    "photos of Pascal1K, mostly of animals and aeroplanes; 4 of its 1,644 sentences are in "
    "Flickr30K. Checkpoints of the preset products are tessera with terms of a catalogue, and are "
    "asked here what they forgot."
)
CATEGORIES_SAY = (
    "Each value of a field, in lower case, is a query over all photos. Checkpoints of the preset "
    "products learned the terms of the same data from photos of train, others no photo of these "
    "data. In brackets: values with fewer than five photos, which are no queries and whose "
    "photos stay among the answers. By chance: the precision of a random order."
)
CATEGORIES_HEAD = ("checkpoint", "data", "field", "photos", "categories", "mAP", "P@1", "P@5",
                   "by chance")  # fmt: skip
QUERIES_SAY = "Each text has one right photo: the percentage of texts that find it."
QUERIES_HEAD = ("checkpoint", "data", "queries", "photos", "right at 1", "right at 5")
LINKS_SAY = (
    "A link is what the whole photo gives to a word plus what its region adds. One region of each "
    "sampled photo, with the words of the first sentence that link to it: the mean of these links, "
    "of it what the region adds, and what is lost without the region. Its vector is taken out of "
    "the bag, or its pixels are grey and the photo is embedded again; in brackets the loss as a "
    "share of what the region adds, and the correlation r of both over regions. Control: a box of "
    "the same size in the farthest corner is grey instead. Most linked: the share of the links of "
    "a pair's most linked region, whole photo included, that is lost without its vector."
)
LINKS_HEAD = ("checkpoint", "data", "regions", "links", "added", "vector removed", "pixels grey",
              "control", "most linked")  # fmt: skip
PROPOSALS_SAY = (
    "The share of phrases that have a box with IoU ≥ 0.5 to all that they mean among the first 1 / "
    "5 / 10 / 20 boxes, the whole frame being the first."
)
PROPOSALS_HEAD = ("checkpoint", "data", "recall")
COMPOSITIONS_SAY = (
    "The relations with the largest matrices, by the Frobenius norm, and those with the smallest "
    "(Socher et al. 2014, section 6.7, names nominal subject, possession, passive auxiliary and "
    "prepositions as the largest, by the Stanford parser's collapsed relations)."
)
MAGNITUDES_SAY = (
    "The words with the largest and the smallest vectors |s|, the mean over their occurrences "
    "(Karpathy & Fei-Fei 2015, table 4, which names visual words such as kayaking as the largest, "
    "and words such as now as the smallest)."
)
MAGNITUDES_HEAD = ("checkpoint", "data", "words", "largest", "smallest")
COMPOSITIONS_HEAD = ("checkpoint", "largest", "smallest")
NAMED = 8  # kinds of edges, or words, at either end of a list


def sections(stored: Sequence[Measurement]) -> list[str]:
    """Write the sections on Tessera's own matchers and proposals."""
    proposers = [row for row in stored if "recalls" in row]
    return [
        *matcher_sections(stored),
        *section("Proposals", PROPOSALS_SAY, PROPOSALS_HEAD, map(proposals_row, proposers)),
    ]


def composition_sections(stored: Sequence[Measurement]) -> list[str]:
    """Write the norms of an SDT-RNN's matrices."""
    rows = (compositions_row(row) for row in stored if "compositions" in row)
    return section("Compositions", COMPOSITIONS_SAY, COMPOSITIONS_HEAD, rows)


def magnitude_sections(stored: Sequence[Measurement]) -> list[str]:
    """Write the words with the largest and smallest vectors."""
    rows = (magnitudes_row(row) for row in stored if "smallest" in row)
    return section("Words by weight", MAGNITUDES_SAY, MAGNITUDES_HEAD, rows)


def matcher_sections(stored: Sequence[Measurement]) -> list[str]:
    """Write the sections on matchers: retrieval, open world, links.

    ValueError for different data of one name.
    """
    measured = [row for row in stored if "retrieval" in row]
    same_data = [row for row in measured if row.get("trained_on") in (None, row["data"])]
    other_data = [row for row in measured if row not in same_data]
    searches = [row for row in stored if "categories" in row]
    occluded = [row for row in measured if row.get("occlusion")]
    refuse_mixed_data(measured)
    refuse_mixed_data(searches)  # read without sentences, so the same file has another digest
    return [
        *section("Checkpoints", CHECKPOINTS_SAY, RETRIEVAL_HEAD, map(retrieval_row, same_data)),
        *section("Open world: photos and sentences", ELSEWHERE_SAY, RETRIEVAL_HEAD,
                 map(retrieval_row, other_data)),
        *section("Open world: categories", CATEGORIES_SAY, CATEGORIES_HEAD,
                 (line for row in searches for line in category_rows(row))),
        *section("Open world: queries", QUERIES_SAY, QUERIES_HEAD,
                 (queries_row(row) for row in searches if row["queries"])),
        *section("Links", LINKS_SAY, LINKS_HEAD, map(links_row, occluded)),
    ]  # fmt: skip


def retrieval_row(row: Measurement) -> str:
    """Write a matcher's retrieval, as `tessera evaluate` measured it."""
    directions = [row["retrieval"][way] for way in WAYS]
    recalls = [slashed(direction[at] for at in RECALLS) for direction in directions]
    medians = ", ".join(f"{direction['median_rank']:g}" for direction in directions)
    means = ", ".join(f"{direction['mean_rank']:.1f}" for direction in directions)
    similarity = row.get("similarity")
    texts = slashed(similarity[at] for at in RECALLS) if similarity else "–"
    return line([*name_row(row), *recalls, medians, means, texts])


def category_rows(row: Measurement) -> list[str]:
    """Write the results of `tessera evaluate --field`, a line a field."""
    return [
        line([*name_row(row), search["field"], f"{search['photos']:,}",
              f"{search['categories']} ({search['rare']})",
              *(f"{search[at]:.1f}"
                for at in ("mean_precision", "precision_1", "precision_5", "chance"))])
        for search in row["categories"]
    ]  # fmt: skip


def compositions_row(row: Measurement) -> str:
    """Write both ends of the list of `tessera compositions`."""
    named = [
        f"{composition['kind']} {composition['norm']:.2f}" for composition in row["compositions"]
    ]
    ends = named[:NAMED], named[-NAMED:]
    return line([f"{row['preset']}, seed {row['seed']}", *(", ".join(end) for end in ends)])


def magnitudes_row(row: Measurement) -> str:
    """Write both ends of the list of `tessera magnitudes`."""
    ends = (
        ", ".join(f"{word['word']} {word['mean']:.2f}" for word in words[:NAMED])
        for words in (row["largest"], row["smallest"][::-1])
    )
    return line([*name_row(row), f"{row['words']:,}", *ends])


def queries_row(row: Measurement) -> str:
    """Write the results of `tessera evaluate --queries`."""
    search = row["queries"]
    shares = (f"{search[at]:.1f}" for at in ("right_1", "right_5"))
    return line([*name_row(row), len(search["answers"]), f"{search['photos']:,}", *shares])


def links_row(row: Measurement) -> str:
    """Write the results of `tessera evaluate --occlude`."""
    links = row["occlusion"]
    added = links["added"]
    lost = [
        f"{links[way]:.2f} ({100 * links[way] / added:.0f} %, "
        f"r {coefficient(links[f'{way}_correlation'])})"
        for way in ("removed", "greyed")
    ]
    return line([*name_row(row), links["regions"], f"{links['linked']:.2f}", f"{added:.2f}", *lost,
                 f"{links['elsewhere']:.2f}", f"{row['faithfulness']['share']:.0f} %"])  # fmt: skip


def proposals_row(row: Measurement) -> str:
    """Write the recall of a proposal method.

    It is measured by `tessera evaluate` or benchmarks/models/proposal_recall.py.
    """
    return line([f"{row['name']} {row['checkpoint']}", name_data(row),
                 slashed(row["recalls"].values())])  # fmt: skip


def name_row(row: Measurement) -> tuple[str, str]:
    """Name a checkpoint by preset, seed and fingerprint, and name its data."""
    checkpoint = f"{row['preset']}, seed {row['seed']}, {row['checkpoint']}"
    return checkpoint, name_data(row)
