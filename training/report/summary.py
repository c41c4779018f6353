"""The results page's summary: results, verdicts, and untested claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from training.markdown import heading, line
from training.report import boxes, trainings
from training.report.claims import NOT_JUDGED, Claim, ClaimResult
from training.report.measurements import (
    DATA,
    FLICKR8K,
    SHIPPED,
    Measurement,
    list_data,
    name_data,
)
from training.report.papers import OURS, PAPERS, Paper

NOT_MEASURED = "not measured"
VERDICTS = ("holds", "does not hold", "not clear", "one seed", NOT_JUDGED, NOT_MEASURED)
SAYS = (
    "Tessera finds photos by sentences. To know which ideas help, the models of four papers are "
    "trained again here, each with what its paper compares it with, {data}. "
    "The table says which of the papers' claims "
    "came out the same. The papers had other data and networks: a claim that does not hold here "
    "is not refuted, and the numbers of a row are below."
)
ON_FLICKR8K = "on the 6,000 photos of Flickr8k's train, and measured on 1,000 others"
ON_OTHERS = "on train of {names}, and measured on val"
NO_CLAIMS = "Tessera finds photos by sentences. Measured here on {names}."
UNTESTED = (  # on the published page
    ("Flickr30K and MSCOCO", "their photos are not here, so no table on them is repeated: Wang et "
     "al., tables 1 and 2, and Karpathy & Fei-Fei, tables 1, 2 and 3, are Flickr8k's here."),
    ("Pascal1K", "329 of its 1,000 photos are here, to measure, none to learn: Socher et al. "
     "learned 800."),
    ("The test split of Flickr8k", "it is not here; all numbers are of val, which chose no epoch."),
    ("Fine detail", "photos have a short side of 224 pixels, so a box has few pixels of its own "
     "for a CNN that looks at its crop."),
    ("CT-RNN", "it needs trees of constituents, and no parser of them is here."),
    ("CNNs that learn", "`defrag-tuned` (Karpathy et al. 2014, section 3.4) needs a GPU: an epoch "
     "takes over three minutes of an H200 that three seeds share, and was not finished."),
    ("Judgements by people", "those of regions' captions and of rankings were not repeated."),
)  # fmt: skip


NOT_RUN = (  # what computing time did not allow, and the command
    ("Further seeds with boxes cut from the photo", "twenty looks of a CNN a photo: `tessera "
     "reproduce --only defrag-crops --only defrag-dense-crops --only sdtrnn-regions-crops`."),
    ("Further seeds of SDT-RNN with tanh and with DeFrag's batches, of DVSA with dropout, and of "
     "CT-RNN and of a fourth and fifth seed of sentences of one photo", "`tessera reproduce --only "
     "sdtrnn-tanh --only sdtrnn-regions-100 --only dvsa-dropout --only ctrnn --only sdtrnn --only "
     "dtrnn --only rnn --only bow`: runs of earlier days have no ranks of sentences."),
    ("Captions", "three seeds, the paper's own RNN for regions (`--preset regions`), one beam "
     "width for all."),
)  # fmt: skip


def sections(stored: Sequence[Measurement], by_data: Mapping[str, trainings.Runs]) -> list[str]:
    """Write the summary; without claims only of shipped models."""
    names = list_data(stored)
    verdicts = [
        (f"{paper.title}, on {data}", paper.idea, by_verdict)
        for data, runs in by_data.items()
        for paper, by_verdict in group_verdicts(data, runs, stored)
    ]
    lines = heading("In short", 2, introduce(names, bool(verdicts)), describe_shipped(stored))
    if verdicts:
        head = ("paper", *VERDICTS)
        lines += [line(head), "|" + "---|" * len(head)]
        lines += [
            line([title, *(len(by_verdict.get(verdict, ())) or "–" for verdict in VERDICTS)])
            for title, _, by_verdict in verdicts
        ]
        lines += ["", *(text for verdict in verdicts for text in list_claims(*verdict))]
    if FLICKR8K not in names:
        return lines
    untested = "\n".join(f"- **{what}**: {why}" for what, why in UNTESTED)
    not_run = "\n".join(f"- **{what}**: {why}" for what, why in NOT_RUN)
    return [
        *lines,
        *heading("What could not be tested here, and why", 3, untested),
        *heading("What was not run for want of time, and how to run it", 3, not_run),
    ]


def introduce(names: Sequence[str], judged: bool) -> str:
    """Introduce a page on some data; without judged claims only the data."""
    published = FLICKR8K in names
    others = ", ".join(name for name in names if name != FLICKR8K)
    if not (published or judged):
        return NO_CLAIMS.format(names=others)
    places = [ON_FLICKR8K] if published else []
    if others:
        places.append(ON_OTHERS.format(names=others))
    return SAYS.format(data="; and ".join(places))


def describe_shipped(stored: Sequence[Measurement]) -> str:
    """Describe the shipped matcher's retrieval; empty if not measured."""
    for row in stored:
        if "retrieval" in row and (row["preset"], name_data(row)) == (SHIPPED, DATA):
            search = row["retrieval"]["search"]
            return (
                f"The matcher that ships finds the right one of {row['images']:,} photos first "
                f"for {search['recall_1']:.0f} % of the sentences, and among the first ten for "
                f"{search['recall_10']:.0f} %."
            )
    return ""


def group_verdicts(
    data: str, runs: trainings.Runs, stored: Sequence[Measurement]
) -> Iterator[tuple[Paper, dict[str, list[str]]]]:
    """Group each paper's claims by their verdicts."""
    judged = [*trainings.judge_claims(data, runs), *boxes.judge_claims(data, stored)]
    for paper in (paper for paper in PAPERS if paper.name != OURS):
        by_verdict: dict[str, list[str]] = defaultdict(list)
        for claim, result in judged:
            if claim.paper == paper.name:
                by_verdict[shorten(result)].append(name_claim(claim, result))
        if by_verdict.keys() - {NOT_MEASURED}:
            yield paper, dict(by_verdict)


def list_claims(title: str, idea: str, by_verdict: Mapping[str, list[str]]) -> list[str]:
    """List a paper's claims, a line for each verdict."""
    lists = [
        f"- {verdict}: {'; '.join(by_verdict[verdict])}."
        for verdict in VERDICTS
        if verdict in by_verdict
    ]
    return [f"**{title}.** {idea}", "", *lists, ""]


def shorten(result: ClaimResult | None) -> str:
    """Shorten a verdict to a column."""
    if result is None:
        return NOT_MEASURED
    return "one seed" if "one seed" in result.verdict else result.verdict


def name_claim(claim: Claim, result: ClaimResult | None) -> str:
    """Name a claim; of one seed with its side."""
    side, one_seed, _ = (result.verdict if result else "").partition(" (one seed)")
    return f"{claim.says} ({side})" if one_seed else claim.says
