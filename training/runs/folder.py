"""Run folders: facts, state and best epoch of a training on disk."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any

import torch
from torch import nn

from models import checkpoint, whole_files
from training.data.corpus import Corpus
from training.runs import workers
from training.runs.loop import EpochRecord, Trainer
from training.runs.precision import multiplies_halves
from training.runs.progress import Progress, silent

# Facts that a resumed run must share.
MADE_OF = ("preset", "recipe", "seed", "start", "data", "boxes", "text")
SHOWN = 3  # options that a message names
DISTRIBUTION = "tessera-search"  # the name of Tessera's package
VAL = "val"  # results of the best epoch on val, if photos of train choose the epoch


@dataclass(frozen=True, slots=True)
class RunPlace:
    """The place of a training: folders, device, and the seed."""

    out: Path  # the run's folder is made in here; of a part it is the checkpoint's file
    cache: Path
    device: str = "cpu"
    seed: int = 0
    start: Path | None = None  # the checkpoint whose weights to begin with


class RunFolder:
    """A run on disk: run.json, last.pt, and the best epoch's checkpoint.

    `kind` and `name` are the checkpoint's; `facts` are the options and data of the run.
    """

    def __init__(self, path: Path, best: Path, kind: str, name: str, facts: dict[str, Any]) -> None:
        self.path, self.best, self.facts = path, best, facts
        self.kind, self.name = kind, name
        self.record = path / "run.json"

    @classmethod
    def of(
        cls, kind: str, name: str, corpus: Corpus, place: RunPlace, facts: dict[str, Any]
    ) -> RunFolder:
        """Name the folder of a part's training.

        It is next to `out` and ends in .run.
        """
        facts = gather_facts(corpus, place) | facts
        return cls(place.out.with_suffix(".run"), place.out, kind, name, facts)

    @property
    def resumable(self) -> bool:
        """Whether there is a finished epoch to resume from."""
        return (self.path / "last.pt").is_file()

    @property
    def epochs(self) -> int:
        """The number of epochs in run.json."""
        return len(json.loads(self.record.read_text())["epochs"]) if self.record.is_file() else 0

    @property
    def measured(self) -> bool:
        """Whether val is measured.

        It comes last with held-out photos.
        """
        if not self.record.is_file():
            return False
        record = json.loads(self.record.read_text())
        return VAL in record or not record.get("preset", {}).get("hold_out")

    def finished(self, epochs: int) -> bool:
        """Whether run.json has all epochs.

        A preset without any is validated once.
        """
        return self.epochs >= max(1, epochs) and self.measured

    @property
    def changed(self) -> list[str]:
        """The facts in MADE_OF with other values in the run."""
        return list(self.differences)

    @property
    def differences(self) -> dict[str, list[str]]:
        """The changed options by their facts in MADE_OF."""
        before, now = json.loads(self.record.read_text()), json.loads(json.dumps(self.facts))
        by_fact = {key: list_differences(before.get(key), now.get(key), key) for key in MADE_OF}
        return {key: lines for key, lines in by_fact.items() if lines}

    def describe_changes(self) -> str:
        """Describe the changed facts, and the first changed options."""
        lines = [line for lines in self.differences.values() for line in lines]
        more = f"; and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
        return f"{', '.join(self.changed)} ({'; '.join(lines[:SHOWN])}{more})"

    @property
    def elsewhere(self) -> str:
        """The advice to train in another place."""
        in_folder = self.best.parent == self.path
        return "choose another --out" if in_folder else f"write another file than {self.best.name}"

    def claim(self, resume: bool) -> None:
        """Make the folder, or check the facts of its run."""
        if not resume:
            if self.resumable:
                raise ValueError(
                    f"{self.path} holds a run: go on with it by --resume, or {self.elsewhere}"
                )
            self.path.mkdir(parents=True, exist_ok=True)
            self.write([])
            return
        if not self.record.is_file():
            raise LookupError(f"{self.path} holds no run to resume: train without --resume")
        if self.epochs and not self.resumable:
            raise LookupError(
                f"{self.path} has lost last.pt and cannot be resumed: delete it, or "
                f"{self.elsewhere}"
            )
        if changed := self.changed:
            again = "give the same --start" if changed == ["start"] else "start again"
            raise ValueError(
                f"{self.path} was made with another {self.describe_changes()}: {again}"
            )

    def record_teachers(self, fingerprints: list[str]) -> None:
        """Note the teachers; ValueError if the run there had others."""
        if self.resumable and json.loads(self.record.read_text())["teachers"] != fingerprints:
            raise ValueError(f"{self.path} learned from other teachers: delete it to start again")
        self.facts["teachers"] = fingerprints
        if not self.resumable:
            self.write([])  # a crash must not leave an epoch without its teachers

    def save(self, trainer: Trainer[Any]) -> None:
        """Write the best checkpoint, last.pt to resume from, and run.json.

        Of several workers the first writes, and last.pt has the random state of all.
        """
        state = trainer.state()
        if not workers.is_first():
            return
        if trainer.at_best:
            with trainer.descent.average.apply():
                self.keep(trainer.model, trainer.history[-1])
        whole_files.write_tensors(self.path / "last.pt", state)
        self.write(trainer.history)

    def write(self, history: Sequence[EpochRecord]) -> None:
        """Write run.json whole or not at all.

        Of several workers the first does so.
        """
        if not workers.is_first():
            return
        facts = self.facts | {"epochs": [asdict(record) for record in history]}
        whole_files.write_text(self.record, json.dumps(facts, indent=2) + "\n")

    def keep(self, model: nn.Module, record: EpochRecord) -> None:
        """Write the checkpoint of an epoch."""
        facts = self.facts | {"epoch": record.epoch, "validation": record.validation}
        checkpoint.save(self.best, self.kind, self.name, model, facts)

    def restore(self, model: nn.Module) -> None:
        """Give a model the frozen weights of the last finished epoch.

        Call it before any frozen inputs are computed: they depend on networks and proposals among
        the weights, and others may ship by now. Trained weights stay as they began, as a preset may
        draw them back; the trainer resumes them.
        """
        if self.resumable:
            trains = {
                name: weight for name, weight in model.named_parameters() if weight.requires_grad
            }
            weights = self.load_last()["weights"]
            began = {name: trains[name].detach() for name in trains.keys() & weights.keys()}
            checkpoint.restore(model, weights | began)

    def load_last(self) -> dict[str, Any]:
        """The state after the last finished epoch."""
        state: dict[str, Any] = torch.load(
            self.path / "last.pt", map_location="cpu", weights_only=True
        )
        return state


def list_differences(before: Any, now: Any, name: str) -> list[str]:
    """List the different options of two runs.

    An option absent before was off.
    """
    if not (isinstance(before, dict) and isinstance(now, dict)):
        return [] if before == now else [f"{name} is {now!r:.60}, was {before!r:.60}"]
    lines = []
    for key in sorted(before.keys() | now.keys()):
        option = f"{name}.{key}"
        if key not in before:
            lines += [f"{option} is {now[key]!r:.60}, was off"] if now[key] else []
        elif key not in now:
            lines.append(f"{option} is off, was {before[key]!r:.60}")
        else:
            lines += list_differences(before[key], now[key], option)
    return lines


def gather_facts(corpus: Corpus, place: RunPlace) -> dict[str, Any]:
    """Gather the facts of every run.

    Tessera's version is None where it is used without being installed.
    """
    tessera = next((package.version for package in distributions(name=DISTRIBUTION)), None)
    packages = ("torch", "torchvision", "numpy")
    return {
        "seed": place.seed,
        "data": {"name": corpus.name, "digest": corpus.digest()},
        "multiplies_bfloat16": multiplies_halves(place.device),
        "versions": {"tessera": tessera, "python": platform.python_version()}
        | {package: version(package) for package in packages},
    }


@dataclass(frozen=True, slots=True)
class Reporter:
    """The output of a training: bars, finished epochs, and teachers."""

    progress: Progress = silent
    report: Callable[[EpochRecord], None] = lambda _: None
    begins: Callable[[str], None] = lambda _: None


SILENT = Reporter()


def fit(
    trainer: Trainer[Any], folder: RunFolder, reporter: Reporter, *, resume: bool
) -> dict[str, Any]:
    """Train until all epochs are done; return the last validation.

    Each finished epoch is stored before the next begins, so that an interrupted run loses at most
    one. A run without a finished epoch starts again.
    """
    if resume and folder.resumable:
        trainer.resume(folder.load_last())
        folder.write(trainer.history)  # last.pt may know an epoch more than run.json
    while not trainer.finished:
        record = trainer.run_epoch(reporter.progress)
        folder.save(trainer)
        if trainer.schedule.epochs:  # what is solved for has no loss
            reporter.report(record)
    return trainer.history[-1].validation
