"""The results page: measurements in, Markdown out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from models import whole_files
from training.markdown import heading
from training.report import boxes as grounding_report
from training.report import captions as caption_report
from training.report import checkpoints as checkpoint_report
from training.report import measurements, pictures, summary, trainings
from training.report import region_captions as region_report
from training.report.measurements import FLICKR8K, Measurement
from training.report.papers import DTRNN, DVSA, OURS, PAPERS, TWO_BRANCH, Paper

INTRODUCTION = """# Results

Written by `tessera reproduce` and `tessera report`; do not edit.
"""
READING = """## How to read the tables

Recall is in percent at 1 / 5 / 10; a hit is any of a photo's sentences. Sum: of the six recalls,
the mean over seeds, in brackets their range. Ranks are those of image → text and text → image,
over {ranked}, from cached features. Val chooses no
epoch: it is the last, or in presets with `hold_out` the best on photos of train that were not
learned. § The options of its run differ from the preset of this version; the file of measurements
has them. Published: the paper's own, on the official test split, with other CNNs and word vectors,
so for orientation.

A claim is how much better the first preset is, the mean over the seeds that both have, with
Student's 95 % interval: the sum of the six recalls, and places of the mean rank. It holds where the
interval of the paper's own measure lies above zero (recalls; mean ranks in Socher et al.), does not
hold where it lies below, and is not clear where zero is in it. One seed has no interval: it is
ahead or behind. A claim is not judged where the runs are not what the paper compares; the last
column says why. The interval tells of seeds, not of other photos. CCA is solved for and has no
seed.

{sentences}
"""
RANKED_FLICKR8K = "5,000 sentences and 1,000 photos of Flickr8k's val"
RANKED_OTHERS = "the sentences and photos of val of {names}"
SENTENCES_OTHERS = """All systems but `two-branch-tfidf` read words with MiniLM, or with the encoder
that they begin with. MiniLM's training data include the captions of Flickr30K and COCO, as its own
model card says: it has seen the wording of sentences from there."""
SENTENCES_FLICKR8K = """\
No model was trained on a photo of a split that it is measured on. The sentences are another
matter: all systems but `two-branch-tfidf` read words with the packaged MiniLM. Its training data
include the captions of Flickr30K and COCO, as its own model card says. Of the 5,000 sentences of
Flickr8k's val, 4,845 (97 %) are sentences of Flickr30K word for word, and the same must be
expected of its test split. So the sentence side has seen the wording. This concerns all retrieval
on Flickr8k, and most of all text → text (†), in which no photo takes part. `two-branch-tfidf` has
learned its words from train alone; `two-branch-mean` differs from it by MiniLM's word vectors."""

Sections = Callable[[Sequence[Measurement]], list[str]]
MORE: Mapping[str, tuple[Sections, ...]] = {  # what a paper measures next to retrieval
    DTRNN: (checkpoint_report.composition_sections,),
    TWO_BRANCH: (grounding_report.sections,),
    DVSA: (
        checkpoint_report.magnitude_sections,
        caption_report.sections,
        region_report.sections,
    ),
    OURS: (checkpoint_report.sections,),
}


UNUSABLE = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError)


def publish(results: Path, page: Path, added: Iterable[Path] = ()) -> None:
    """Store files of measurements, and write the page of all.

    ValueError for an unusable file or line, before anything is written; LookupError without any
    measurement.
    """
    new: dict[str, Any] = {}
    for file in added:
        if (name := measurements.name_of(file)) in new:
            raise ValueError(f"{file}: another file is named {name}, too; rename one of them")
        new[name] = read_usable(file)
    stored = read(results)
    if not stored | new:
        raise LookupError(f"{results} holds no measurement: --add {measurements.ADDED}")
    if new:
        refuse_unusable(stored | new, results)
        measurements.add(results, new)
    rows = list(measurements.read(results).values())
    whole_files.write_text(page, write_page(rows, pictures.draw_for(rows, page)))


def write_page(stored: Sequence[Measurement], shown: Sequence[str] = ()) -> str:
    """Write the page of results from measurements of training and evaluation.

    shown: lines of Markdown that show pictures, after the summary.
    """
    by_data, outdated = trainings.group_results(stored), trainings.find_outdated(stored)
    reading = explain_tables(measurements.list_data(stored))
    lines = [INTRODUCTION, *summary.sections(stored, by_data), *shown, reading]
    for paper in PAPERS:
        lines += paper_sections(paper, stored, by_data, outdated)
    return "\n".join(lines).rstrip() + "\n"


def explain_tables(names: Sequence[str]) -> str:
    """Explain the tables of some data, by the names of these."""
    published = FLICKR8K in names
    ranked = [RANKED_FLICKR8K] if published else []
    if others := [name for name in names if name != FLICKR8K]:
        ranked.append(RANKED_OTHERS.format(names=", ".join(others)))
    sentences = SENTENCES_FLICKR8K if published else SENTENCES_OTHERS
    return READING.format(ranked=" and ".join(ranked), sentences=sentences)


def paper_sections(
    paper: Paper,
    stored: Sequence[Measurement],
    by_data: Mapping[str, trainings.Runs],
    outdated: Collection[str],
) -> list[str]:
    """Write a paper's measurements; empty without any."""
    body = [
        text
        for data, runs in by_data.items()
        for text in trainings.sections(paper, data, runs, stored, outdated)
    ]
    body += [text for write in MORE.get(paper.name, ()) for text in write(stored)]
    if not body:
        return []
    differs = "\n".join(f"- {difference}" for difference in paper.differences)
    return [*heading(paper.title, 2, "What differs here:" if differs else "", differs), *body]


def read(file: Path) -> dict[str, dict[str, Any]]:
    """Read a file's measurements; ValueError names an unusable line."""
    stored = measurements.read(file)
    refuse_unusable(stored, file)
    return stored


def refuse_unusable(stored: Mapping[str, Measurement], file: Path) -> None:
    """Raise ValueError for measurements without a page; it names the line."""
    try:
        try_page(list(stored.values()))
    except UNUSABLE as wrong:
        for number, row in enumerate(stored.values(), 1):
            refuse_unwritable(row, f"{file}, line {number}")
        raise ValueError(f"{file}: {wrong}") from wrong


def read_usable(file: Path) -> dict[str, Any]:
    """Read a file to add; ValueError if the page cannot show it."""
    row = measurements.read_file(file)
    refuse_unwritable(row, str(file))
    return row


def refuse_unwritable(row: Measurement, place: str) -> None:
    """Raise ValueError for a row without a section of the page."""
    if "epochs" in row and "preset" not in row:
        raise ValueError(
            f"{place} is the run of a captioner, a grounder or proposals, which has no row on the "
            "page: measure its checkpoint by `tessera evaluate CHECKPOINT --json FILE`, and --add "
            "that file"
        )
    try:
        try_page([measurements.shorten(row)])
    except UNUSABLE as wrong:
        raise ValueError(
            f"{place} is damaged, or was not written as {measurements.ADDED}: {wrong!r}"
        ) from wrong


def try_page(stored: Sequence[Measurement]) -> None:
    """Try to write the page, and its pictures' curves."""
    write_page(stored)
    pictures.list_curves(stored)
