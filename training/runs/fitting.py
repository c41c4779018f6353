"""Fitting: all epochs of a trainer into its run's folder, anew or from where a run broke off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from training.runs.folder import RunFolder
from training.runs.loop import EpochRecord, Trainer
from training.runs.progress import Progress, silent


@dataclass(frozen=True, slots=True)
class Reporter:
    """Where a training reports: bars, finished epochs, and the teachers that it waits for."""

    progress: Progress = silent
    report: Callable[[EpochRecord], None] = lambda _: None
    begins: Callable[[str], None] = lambda _: None


SILENT = Reporter()


def fit(
    trainer: Trainer[Any], folder: RunFolder, reporter: Reporter, *, resume: bool
) -> dict[str, Any]:
    """Train until all epochs are done; what the last one's validation came to.

    Each finished epoch is in the folder before the next begins, so that a broken-off run loses one
    at most. A run that broke off before its first epoch starts anew.
    """
    if resume and folder.resumable:
        trainer.resume(folder.last())
        folder.write(trainer.history)  # last.pt may know an epoch more than run.json
    while not trainer.finished:
        record = trainer.epoch(reporter.progress)
        folder.save(trainer)
        reporter.report(record)
    return trainer.history[-1].validation
