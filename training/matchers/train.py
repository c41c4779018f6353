"""Training of a matcher, from preset to checkpoint.

It prepares, fits and reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from models import checkpoint, header
from models.checkpoint import Checkpoint
from models.matcher import TwoTowerMatcher
from training.data import learned as learned_photos
from training.data.batches import ALL, Batch
from training.data.corpus import Corpus, Example
from training.markdown import slashed
from training.matchers.augmentation import Augmentation
from training.matchers.build import build
from training.matchers.deferral import defer_fixed, freeze
from training.matchers.folders import explain_changes, open_folder, plan_teachers
from training.matchers.frozen import FrozenInputs
from training.matchers.loss import weigh_terms
from training.matchers.matching import (
    MatchObjective,
    PairDataset,
    Pairs,
    TeacherScores,
    validate_epoch,
)
from training.matchers.preset import Preset, find_start
from training.matchers.teachers import load_teachers
from training.matchers.term_training import train_terms
from training.runs import workers
from training.runs.folder import SILENT, VAL, Reporter, RunFolder, RunPlace, fit
from training.runs.loop import Trainer, TrainingTask
from training.runs.optimization import make_optimizer


@dataclass(frozen=True, slots=True)
class MatcherRun:
    """A training before its first step.

    learned and held_out are positions in `examples`; held-out photos choose the best epoch.
    """

    preset: Preset
    corpus: Corpus
    place: RunPlace
    folder: RunFolder
    examples: Sequence[Example]
    learned: Sequence[int]
    held_out: Sequence[int]
    model: TwoTowerMatcher
    start: Checkpoint | None


@dataclass(frozen=True, slots=True)
class Splits:
    """Frozen inputs of photos to learn, to choose by, of val."""

    learned: Pairs
    choosing: Pairs
    val: Pairs


def train(
    preset: Preset,
    corpus: Corpus,
    place: RunPlace,
    *,
    resume: bool = False,
    reporter: Reporter = SILENT,
) -> Path:
    """Train a preset on a corpus; return the best checkpoint's path.

    The run's folder <out>/<preset>-<seed> gets run.json, last.pt and matcher.safetensors. Missing
    teachers are trained first, into folders next to it. ValueError if the run's folder holds a run
    and is not to be resumed, or was made by other options, data or teachers.
    """
    run = prepare(preset, corpus, place)
    if preset.terms:
        assert run.start is not None
        return train_terms(run.folder, preset, corpus, run.place, run.start, reporter, resume)
    workers.compute_on_first(lambda: run.folder.claim(resume))
    if resume and run.folder.finished(preset.schedule.epochs):
        return run.folder.best
    run.folder.restore(run.model)
    teachers = train_teachers(run, reporter) if preset.teachers else None
    splits = workers.compute_after_first(lambda: load_splits(run, reporter))
    trainer = fit_epochs(run, splits, teachers, reporter)
    if run.held_out:
        workers.compute_on_first(lambda: report_val(run, splits, trainer, reporter))
    elif not preset.schedule.epochs:
        reporter.begins(f"val: {format_recalls(trainer.history[-1].validation)}")
    workers.wait()  # for the first, which writes
    return run.folder.best


def prepare(preset: Preset, corpus: Corpus, place: RunPlace) -> MatcherRun:
    """Build the model for its data, and name its folder.

    ValueError for what does not fit.
    """
    examples = preset.select(corpus)
    if preset.start and not place.start:
        place = replace(place, start=find_start(preset.start))
    start = checkpoint.load(place.start) if place.start else None
    folder = open_folder(preset, corpus, place)
    if preset.sampling:  # of a catalogue without splits only this tells what val was
        folder.facts[learned_photos.KEY] = learned_photos.digest_photos(examples)
    torch.manual_seed(place.seed)
    learned, held_out = divide(len(examples), preset.hold_out or 0)
    model = build(preset, [examples[k] for k in learned], start).to(place.device).eval()
    freeze(model, preset.frozen or ())
    return MatcherRun(preset, corpus, place, folder, examples, learned, held_out, model, start)


def divide(total: int, count: int) -> tuple[list[int], list[int]]:
    """Divide train's photos into learned ones and `count` held-out ones, spread evenly."""
    if total < 2:
        raise ValueError(f"train has too few photos with sentences, {total}: give at least 2")
    if not 0 <= count < total - 1:
        raise ValueError(f"hold_out is {count}, and train has {total} photos: take fewer")
    held_out = torch.linspace(0, total - 1, count).round().long().tolist()
    return sorted(set(range(total)) - set(held_out)), held_out


def train_teachers(run: MatcherRun, reporter: Reporter) -> TeacherScores:
    """Train the missing teachers, and load the scores of all."""
    preset, place, folder = run.preset, run.place, run.folder
    make_optimizer(run.model, preset.optimizer)  # wrong options fail before hours of teachers
    files = [
        train_teacher(teacher, run.corpus, teacher_place, reporter)
        for teacher, teacher_place in plan_teachers(preset, place)
    ]
    folder.record_teachers([header.fingerprint(file) for file in files])
    reporter.begins(folder.path.name)
    precision, progress = preset.schedule.precision, reporter.progress
    return workers.compute_after_first(
        lambda: load_teachers(files, run.examples, place, precision, progress)
    )


def train_teacher(preset: Preset, corpus: Corpus, place: RunPlace, reporter: Reporter) -> Path:
    """Return a teacher's checkpoint; train or resume its run.

    ValueError if its folder holds a run of other options or data, LookupError if it lacks one.
    """
    folder = open_folder(preset, corpus, place)
    if folder.epochs and folder.changed:
        raise ValueError(explain_changes(folder))
    if not folder.finished(preset.schedule.epochs):
        reporter.begins(f"teacher {folder.path.name}")
        train(preset, corpus, place, resume=folder.resumable, reporter=reporter)
    if not folder.best.is_file():
        raise LookupError(f"{folder.path} has lost {folder.best.name}: delete it to train it again")
    return folder.best


def load_splits(run: MatcherRun, reporter: Reporter) -> Splits:
    """Load the frozen inputs of train and val, through the cache."""
    preset = run.preset
    frozen = FrozenInputs(run.model, run.place, preset.schedule.precision, reporter.progress)
    augmentation = Augmentation(bool(preset.mirrored), preset.cropped or 1.0)
    pairs = frozen.pairs(run.examples, "train", augmentation=augmentation, labels=preset.labels)
    val = frozen.pairs(run.corpus.split("val"), "val")
    if not run.held_out:
        return Splits(pairs, val, val)
    return Splits(pairs.at(run.learned), pairs.at(run.held_out), val)


def fit_epochs(
    run: MatcherRun, splits: Splits, teachers: TeacherScores | None, reporter: Reporter
) -> Trainer[Batch]:
    """Train until all epochs are done, from the last finished one on."""
    resume, pairs = run.folder.resumable, splits.learned
    if not (resume or run.place.start):
        run.model.prepare(pairs.images, pairs.sentences, pairs.owners)
    workers.share_weights(run.model)
    trainer = make_trainer(run, splits, teachers)
    torch.manual_seed(run.place.seed + (workers.rank() << 32))  # dropout's
    fit(trainer, run.folder, reporter, resume=resume)
    return trainer


def make_trainer(run: MatcherRun, splits: Splits, teachers: TeacherScores | None) -> Trainer[Batch]:
    """Make the trainer of a prepared matcher.

    Inputs pass its fixed part once.
    """
    preset, model, device = run.preset, run.model, run.place.device
    pairs, choosing = (
        defer_fixed(split, model, device, whole=bool(preset.frozen))
        for split in (splits.learned, splits.choosing)
    )
    schedule, objective = preset.schedule, partial(weigh_terms, preset.objectives)
    task = TrainingTask(
        model,
        PairDataset(pairs, schedule, run.place.seed, preset.sampling or ALL),
        MatchObjective(model, pairs, objective, device, schedule.precision, teachers),
        lambda: validate_epoch(model, pairs, choosing, device, preset.share),
    )
    return Trainer(task, preset.optimizer, schedule, device, preset.share)


def report_val(
    run: MatcherRun, splits: Splits, trainer: Trainer[Batch], reporter: Reporter
) -> None:
    """Measure the best checkpoint on val once, for run.json."""
    folder, device = run.folder, run.place.device
    best = checkpoint.load(folder.best, device).model
    folder.facts[VAL] = validate_epoch(best, splits.learned, splits.val, device, share=0.0).values
    folder.write(trainer.history)
    reporter.begins(f"val: {format_recalls(folder.facts[VAL])}")


def format_recalls(values: Mapping[str, Any]) -> str:
    """Format both directions' recalls at 1, 5 and 10."""
    ways = {"annotation": "image → text", "search": "text → image"}
    recalls = {way: [values[way][f"recall_{k}"] for k in (1, 5, 10)] for way in ways}
    return ", ".join(f"{ways[way]} {slashed(way_recalls)}" for way, way_recalls in recalls.items())
