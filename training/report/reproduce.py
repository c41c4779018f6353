"""Reproduction of the results page: finished rows, rows left, and their time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

from training.data.corpus import Corpus
from training.matchers import train as run
from training.matchers.folders import explain_changes, open_folder, plan_teachers
from training.matchers.preset import Preset
from training.report import measurements
from training.report import page as report
from training.report.measurements import Measurement
from training.runs.folder import Reporter, RunPlace
from training.runs.loop import EpochRecord
from training.runs.progress import Progress, silent


@dataclass(frozen=True, slots=True)
class Training:
    """One preset with one seed, and its progress."""

    preset: Preset
    place: RunPlace
    done: int  # epochs
    begun: bool  # there is a finished epoch to resume from
    changed: bool  # the run there is finished, but the preset has changed since
    row: bool = True  # a row of the page, or no more than a teacher of one

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"{self.preset.name}-{self.place.seed}"

    @property
    def left(self) -> int:
        """The number of epochs to do.

        A preset without epochs is validated once.
        """
        return max(0, max(1, self.preset.schedule.epochs) - self.done)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The time of trainings by earlier runs, without frozen features."""

    seconds: float
    unknown: tuple[str, ...]  # presets without an earlier run, which come on top


def plan(presets: Sequence[Preset], corpus: Corpus, place: RunPlace, seeds: int) -> list[Training]:
    """List every preset with every seed after its teachers, with their progress.

    A preset without epochs is the same with every seed, so it comes once. ValueError for a run of
    other data, an interrupted one of other options, or a teacher with either problem.
    """
    # All rows with one seed come before any with two: interrupted, the table has many rows.
    runs = [
        (preset, replace(place, seed=seed))
        for seed in range(seeds)
        for preset in presets
        if seed == 0 or preset.schedule.epochs
    ]
    rows = {
        row.name: row
        for row in (inspect_training(preset, corpus, run_place) for preset, run_place in runs)
    }
    planned: dict[str, Training] = {}
    for row in rows.values():
        for teacher in list_teachers(row, corpus):
            planned.setdefault(teacher.name, rows.get(teacher.name, teacher))
        planned.setdefault(row.name, row)
    return list(planned.values())


def list_teachers(row: Training, corpus: Corpus) -> list[Training]:
    """List the teachers of an unfinished row; ValueError as in plan."""
    needed = plan_teachers(row.preset, row.place) if row.left else []
    trainings = [
        replace(inspect_training(preset, corpus, place), row=False) for preset, place in needed
    ]
    for teacher in trainings:
        if teacher.changed:
            raise ValueError(explain_changes(open_folder(teacher.preset, corpus, teacher.place)))
    return trainings


def inspect_training(preset: Preset, corpus: Corpus, place: RunPlace) -> Training:
    """Inspect the progress of one training; ValueError as in plan."""
    folder = open_folder(preset, corpus, place)
    changed = folder.changed if folder.epochs or folder.resumable else []
    epochs = max(1, preset.schedule.epochs)
    finished = folder.epochs if folder.measured else min(folder.epochs, epochs - 1)
    planned = Training(preset, place, finished, folder.resumable, bool(changed))
    if changed and (planned.left or changed != ["preset"]):
        raise ValueError(
            f"{folder.path} was made with another {folder.describe_changes()}: delete it, or "
            "choose another --out"
        )
    return planned


def measure_paces(runs: Iterable[Measurement]) -> dict[str, float]:
    """Compute the mean seconds of an epoch, by preset, of matchers' trainings."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for run_file in (row for row in runs if "preset" in row):
        for epoch in run_file.get("epochs", []):
            seconds[run_file["preset"]["name"]].append(epoch["seconds"])
    return {preset: mean(durations) for preset, durations in seconds.items()}


def estimate(trainings: Iterable[Training], paces: Mapping[str, float]) -> Estimate:
    """Estimate the time of the epochs to do."""
    to_do = [job for job in trainings if job.left]
    seconds = [job.left * paces[job.preset.name] for job in to_do if job.preset.name in paces]
    unknown = {job.preset.name: None for job in to_do if job.preset.name not in paces}
    return Estimate(sum(seconds), tuple(unknown))


@dataclass(frozen=True, slots=True)
class Publisher:
    """The file of measurements, and the page made of it."""

    results: Path
    page: Path

    def publish(self, trainings: Iterable[Training]) -> None:
        """Add the run files of finished trainings, and write the page again."""
        run_files = [job.place.out / job.name / "run.json" for job in trainings]
        if run_files or measurements.read(self.results):
            report.publish(self.results, self.page, run_files)


def reproduce(
    trainings: Sequence[Training],
    corpus: Corpus,
    publisher: Publisher,
    *,
    progress: Progress = silent,
    on_start: Callable[[Training], None] = lambda _: None,
    on_epoch: Callable[[EpochRecord], None] = lambda _: None,
) -> dict[str, str]:
    """Train the missing rows and publish each.

    Returns failures by name.

    A loss that is not finite ends its own training alone.
    """
    publisher.publish(job for job in trainings if job.row and not job.left)
    to_do = [job for job in trainings if job.left]
    failures = {}
    for job in progress(to_do, len(to_do), "trainings"):
        on_start(job)
        try:
            reporter = Reporter(progress, on_epoch)
            run.train(job.preset, corpus, job.place, resume=job.begun, reporter=reporter)
        except ArithmeticError as wrong:
            failures[job.name] = str(wrong)
        else:
            publisher.publish([job] if job.row else [])
    return failures
