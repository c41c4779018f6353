"""One training from preset to checkpoint: its teachers, its data, its loop."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from models import checkpoint, header
from models.checkpoint import Checkpoint
from models.matcher import Matcher
from training.data.batches import ALL, Batch
from training.data.corpus import Corpus
from training.evaluation.embedding import encode_inputs
from training.markdown import slashed
from training.matchers import terms
from training.matchers.build import build
from training.matchers.folders import explain_changes, open_folder, plan_teachers
from training.matchers.frozen import FrozenInputs
from training.matchers.loss import total
from training.matchers.matching import (
    MatchObjective,
    PairDataset,
    Pairs,
    TeacherScores,
    defer_fixed,
    validate_epoch,
)
from training.matchers.preset import Preset, find_start
from training.matchers.teachers import load_teachers
from training.matchers.term_search import TermSearch, term_search
from training.runs import workers
from training.runs.folder import SILENT, VAL, Place, Reporter, RunFolder, fit
from training.runs.loop import Trainer, TrainingTask
from training.runs.optimization import make_optimizer


def train(
    preset: Preset,
    corpus: Corpus,
    place: Place,
    *,
    resume: bool = False,
    reporter: Reporter = SILENT,
) -> Path:
    """Train a preset on a corpus; the path of the best epoch's checkpoint.

    The run's folder <out>/<preset>-<seed> gets run.json, last.pt and matcher.safetensors; teachers
    that are missing are trained first, into folders beside it. ValueError if the run's folder
    holds one and is not to be resumed, or was made by other options, data or teachers.
    """
    examples = [example for split in preset.splits for example in corpus.split(split)]
    if preset.start and not place.start:
        place = replace(place, start=find_start(preset.start))
    start = checkpoint.load(place.start) if place.start else None
    folder = open_folder(preset, corpus, place)
    torch.manual_seed(place.seed)
    trained_on, held_out = divide(len(examples), preset.hold_out or 0)
    model = build(preset, [examples[k] for k in trained_on], start).to(place.device).eval()
    if preset.terms:
        assert start is not None
        if workers.count() > 1:
            raise ValueError("terms are solved for in one process: leave --workers out")
        return learn_terms(preset, corpus, place, start, reporter, resume=resume)
    workers.compute_on_first(lambda: folder.claim(resume))
    if resume and folder.finished(preset.schedule.epochs):
        return folder.best
    resume = folder.resumable  # one that was broken off before its first epoch starts anew
    folder.restore(model)
    taught = None
    if preset.teachers:
        make_optimizer(model, preset.optimizer)  # wrong options show before hours of teachers
        files = [
            train_teacher(teacher, corpus, teacher_place, reporter)
            for teacher, teacher_place in plan_teachers(preset, place)
        ]
        folder.record_teachers([header.fingerprint(file) for file in files])
        reporter.begins(folder.path.name)
        precision, progress = preset.schedule.precision, reporter.progress
        taught = workers.compute_after_first(
            lambda: load_teachers(files, examples, place, precision, progress)
        )
    frozen = FrozenInputs(model, place, preset.schedule.precision, reporter.progress)
    mirrored = bool(preset.mirrored)
    pairs = workers.compute_after_first(lambda: frozen.pairs(examples, "train", mirrored=mirrored))
    val = workers.compute_after_first(lambda: frozen.pairs(corpus.split("val"), "val"))
    pairs, chosen_by = (pairs.at(trained_on), pairs.at(held_out)) if held_out else (pairs, val)
    if not (resume or place.start):
        model.prepare(pairs.images, pairs.sentences, pairs.owners)
    workers.share_weights(model)
    trainer = make_trainer(preset, model, pairs, chosen_by, place, taught)
    torch.manual_seed(place.seed + (workers.rank() << 32))  # dropout's
    fit(trainer, folder, reporter, resume=resume)
    if held_out and workers.is_first():
        report_val(folder, trainer, pairs, val, place.device)
        reporter.begins(f"val: {format_recalls(folder.facts[VAL])}")
    workers.wait()  # for the first, which writes
    return folder.best


def report_val(
    folder: RunFolder, trainer: Trainer[Batch], pairs: Pairs, val: Pairs, device: str
) -> None:
    """Measure the best epoch's checkpoint on val, once, and write it to run.json."""
    best = checkpoint.load(folder.best, device).model
    folder.facts[VAL] = validate_epoch(best, pairs, val, device, share=0.0).values
    folder.write(trainer.history)


def format_recalls(values: Mapping[str, Any]) -> str:
    """Both ways' recalls at 1, 5 and 10."""
    ways = {"annotation": "image → text", "search": "text → image"}
    recalls = {way: [values[way][f"recall_{k}"] for k in (1, 5, 10)] for way in ways}
    return ", ".join(f"{ways[way]} {slashed(way_recalls)}" for way, way_recalls in recalls.items())


def divide(total: int, count: int) -> tuple[list[int], list[int]]:
    """Which photos of train are learned, and `count` that are held out, spread evenly."""
    if not 0 <= count < total - 1:
        raise ValueError(f"hold_out is {count}, and train has {total} photos: take fewer")
    held_out = torch.linspace(0, total - 1, count).round().long().tolist()
    return sorted(set(range(total)) - set(held_out)), held_out


def make_trainer(
    preset: Preset,
    model: Matcher,
    pairs: Pairs,
    validation: Pairs,
    place: Place,
    taught: TeacherScores | None,
) -> Trainer[Batch]:
    """The trainer of a prepared matcher on pairs; sentences pass its fixed part once."""
    schedule, device = preset.schedule, place.device
    pairs, validation = (defer_fixed(split, model, device) for split in (pairs, validation))
    objective = partial(total, preset.objectives)
    part = TrainingTask(
        model,
        PairDataset(pairs, schedule, place.seed, preset.sampling or ALL),
        MatchObjective(model, pairs, objective, device, schedule.precision, taught),
        lambda: validate_epoch(model, pairs, validation, device, preset.share),
    )
    return Trainer(part, preset.optimizer, schedule, device, preset.share)


def learn_terms(
    preset: Preset,
    corpus: Corpus,
    place: Place,
    start: Checkpoint,
    reporter: Reporter,
    *,
    resume: bool,
) -> Path:
    """Learn the terms of a catalogue, and say how val's photos are found before and after.

    Frozen features are kept as they are computed, so that a broken-off run goes on with them.
    """
    assert preset.terms is not None
    folder = open_folder(preset, corpus, place)
    if folder.best.is_file() and resume:
        return folder.best
    if folder.best.is_file():
        raise ValueError(f"{folder.path} holds a run: delete it or choose another --out")
    folder.claim(resume)
    began = time.perf_counter()
    frozen = FrozenInputs(start.model, place, preset.schedule.precision, reporter.progress)
    train, val = corpus.split("train"), corpus.split("val")
    photos, val_photos = (
        frozen.photos(examples, name) for examples, name in ((train, "train"), (val, "val"))
    )
    matcher, calibration = terms.learn_terms(start, photos, train, preset.terms, reporter.progress)
    bags = encode_inputs(matcher, val_photos, reporter.progress)
    measured = term_search(matcher, calibration, val, bags, reporter.progress)
    summary = {"seconds": time.perf_counter() - began, "terms": len(matcher.config.terms)}
    folder.facts |= summary | {"search": asdict(measured) if measured else None}
    checkpoint.save(folder.best, "matchers", preset.name, matcher, folder.facts)
    facts = {"start": calibration.facts, "terms": folder.facts["search"]}
    checkpoint.calibrate(folder.best, folder.best, replace(calibration, facts=facts))
    folder.write([])
    reporter.begins(describe_search(measured, len(matcher.config.terms)))
    return folder.best


def describe_search(measured: TermSearch | None, count: int) -> str:
    """What was learned, in a line or two."""
    if measured is None:
        return f"{count} terms; too few photos of val have one of them to measure a search"
    before, after = measured.before, measured.after
    return (
        f"{count} terms; val: {after.categories} of them as queries over {after.photos:,} photos\n"
        f"mAP {before.mean_precision:.1f} -> {after.mean_precision:.1f}  "
        f"P@5 {before.precision_5:.1f} -> {after.precision_5:.1f}  "
        f"calibration error {measured.reliability.error:.3f}"
    )


def train_teacher(preset: Preset, corpus: Corpus, place: Place, reporter: Reporter) -> Path:
    """The checkpoint of a teacher, whose training is done or gone on with if need be.

    ValueError if its folder holds a run of other options or data, LookupError if it lacks one.
    """
    folder = open_folder(preset, corpus, place)
    if folder.epochs and folder.changed:
        raise ValueError(explain_changes(folder))
    if not folder.finished(preset.schedule.epochs):
        reporter.begins(f"teacher {folder.path.name}")
        train(preset, corpus, place, resume=folder.resumable, reporter=reporter)
    if not folder.best.is_file():
        raise LookupError(f"{folder.path} has lost {folder.best.name}: delete it to train it anew")
    return folder.best
