"""Training of a catalogue's terms on a general matcher.

It solves for them, without epochs.
"""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path

from models import checkpoint
from models.checkpoint import Checkpoint
from training.data.corpus import Corpus
from training.evaluation.embedding import encode_inputs
from training.matchers.frozen import FrozenInputs
from training.matchers.preset import Preset
from training.matchers.term_search import TermSearch, term_search
from training.matchers.terms import choose_terms, learn_terms, require_calibration
from training.runs import workers
from training.runs.folder import Reporter, RunFolder, RunPlace


def train_terms(
    folder: RunFolder,
    preset: Preset,
    corpus: Corpus,
    place: RunPlace,
    start: Checkpoint,
    reporter: Reporter,
    resume: bool,
) -> Path:
    """Learn a catalogue's terms; report searches before and after.

    Frozen features are stored as they are computed, so that an interrupted run continues with them.
    """
    assert preset.terms is not None
    if workers.count() > 1:
        raise ValueError("terms are solved for in one process: leave --workers out")
    if folder.best.is_file() and resume:
        return folder.best
    if folder.best.is_file():
        raise ValueError(f"{folder.path} holds a run: delete it or choose another --out")
    train, val = corpus.split("train"), corpus.split("val")
    # What cannot be learned is refused before photos are embedded and a folder is made.
    require_calibration(start)
    terms = choose_terms(train, preset.terms)
    folder.claim(resume)
    began = time.perf_counter()
    frozen = FrozenInputs(start.model, place, preset.schedule.precision, reporter.progress)
    photos, val_photos = (
        frozen.photos(examples, name) for examples, name in ((train, "train"), (val, "val"))
    )
    matcher, calibration = learn_terms(start, photos, train, terms, reporter.progress)
    bags = encode_inputs(matcher, val_photos, reporter.progress)
    search = term_search(matcher, calibration, val, bags, reporter.progress)
    summary = {"seconds": time.perf_counter() - began, "terms": len(matcher.config.terms)}
    folder.facts |= summary | {"search": asdict(search) if search else None}
    facts = {"start": calibration.facts, "terms": folder.facts["search"]}
    checkpoint.save(folder.best, "matchers", preset.name, matcher, folder.facts)
    checkpoint.calibrate(folder.best, folder.best, replace(calibration, facts=facts))
    folder.write([])
    reporter.begins(describe_search(search, len(matcher.config.terms)))
    return folder.best


def describe_search(search: TermSearch | None, count: int) -> str:
    """Describe the search in a line or two."""
    if search is None:
        return f"{count} terms; too few photos of val have one of them to measure a search"
    before, after = search.before, search.after
    return (
        f"{count} terms; val: {after.categories} of them as queries over {after.photos:,} photos\n"
        f"mAP {before.mean_precision:.1f} -> {after.mean_precision:.1f}  "
        f"P@5 {before.precision_5:.1f} -> {after.precision_5:.1f}  "
        f"calibration error {search.reliability.error:.3f}"
    )
