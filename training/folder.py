"""Run folders: the facts, state and best epoch that a training leaves on disk."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import nn

from models import checkpoint, header
from training.data.corpus import Corpus
from training.loop import EpochRecord, Trainer
from training.preset import Preset


@dataclass(frozen=True, slots=True)
class Place:
    """Where a training happens: folders, device, and the seed."""

    out: Path  # the run's folder is made in here
    cache: Path
    device: str = "cpu"
    seed: int = 0
    start: Path | None = None  # the checkpoint whose weights to begin with


class RunFolder:
    """What a run leaves on disk: run.json, last.pt, and the best epoch's matcher.safetensors."""

    def __init__(self, path: Path, facts: dict[str, Any]) -> None:
        self.path, self.facts = path, facts
        self.best = path / "matcher.safetensors"
        self.told = path / "run.json"

    @classmethod
    def of(cls, preset: Preset, corpus: Corpus, place: Place) -> RunFolder:
        """The folder of one training."""
        facts = facts_of(preset, corpus, place)
        return cls(place.out / f"{preset.name}-{place.seed}", facts)

    @property
    def resumable(self) -> bool:
        """Whether there is a finished epoch to go on from."""
        return (self.path / "last.pt").is_file()

    @property
    def epochs(self) -> int:
        """How many epochs run.json tells of."""
        return len(json.loads(self.told.read_text())["epochs"]) if self.told.is_file() else 0

    def finished(self, epochs: int) -> bool:
        """Whether run.json tells of that many epochs; one without any is validated once."""
        return self.epochs >= max(1, epochs)

    @property
    def changed(self) -> list[str]:
        """What the run there was made of otherwise: preset, seed, start, data."""
        before, now = json.loads(self.told.read_text()), json.loads(json.dumps(self.facts))
        made_of = ("preset", "seed", "start", "data")
        return [key for key in made_of if before.get(key) != now[key]]

    def claim(self, resume: bool) -> None:
        """Make the folder, or see that the run to be resumed is of the same making."""
        if not resume:
            if self.resumable:
                raise ValueError(f"{self.path} holds a run: resume it or choose another folder")
            self.path.mkdir(parents=True, exist_ok=True)
            self.write([])
            return
        if not self.told.is_file():
            raise LookupError(f"{self.path} holds no run to resume: train without --resume")
        if self.epochs and not self.resumable:
            raise LookupError(
                f"{self.path} has lost last.pt and cannot be resumed: delete it, or choose "
                "another --out"
            )
        if changed := self.changed:
            again = "give the same --start" if changed == ["start"] else "start anew"
            raise ValueError(f"{self.path} was made with another {', '.join(changed)}: {again}")

    def learns_from(self, fingerprints: list[str]) -> None:
        """Note the teachers; ValueError if the run there had others."""
        if self.resumable and json.loads(self.told.read_text())["teachers"] != fingerprints:
            raise ValueError(f"{self.path} learned from other teachers: delete it to start anew")
        self.facts["teachers"] = fingerprints
        if not self.resumable:
            self.write([])  # a crash must not leave an epoch without its teachers

    def tell(self, trainer: Trainer, name: str) -> None:
        """Write the checkpoint if the epoch is the best, last.pt to resume from, and run.json."""
        if trainer.at_best:
            with trainer.descent.average.worn():
                self.keep(name, trainer.model, trainer.history[-1])
        partial_file = self.path / "last.partial"
        torch.save(trainer.state(), partial_file)
        partial_file.replace(self.path / "last.pt")
        self.write(trainer.history)

    def write(self, history: Sequence[EpochRecord]) -> None:
        """Write run.json whole or not at all."""
        told = self.facts | {"epochs": [asdict(record) for record in history]}
        partial_file = self.path / "run.partial"
        partial_file.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
        partial_file.replace(self.told)

    def keep(self, name: str, model: nn.Module, record: EpochRecord) -> None:
        """Write the checkpoint of an epoch."""
        told = self.facts | {"epoch": record.epoch, "validation": record.validation}
        checkpoint.save(self.best, "matchers", name, model, told)

    def last(self) -> dict[str, Any]:
        """The state after the last finished epoch."""
        state: dict[str, Any] = torch.load(
            self.path / "last.pt", map_location="cpu", weights_only=True
        )
        return state


def facts_of(preset: Preset, corpus: Corpus, place: Place) -> dict[str, Any]:
    """What a run is made of, and so what a resumed one must share."""
    packages = ("torch", "torchvision", "numpy")
    return {
        "preset": preset.described(),
        "seed": place.seed,
        "start": header.fingerprint(place.start) if place.start else None,
        "data": {"name": corpus.name, "digest": corpus.digest()},
        "versions": {"python": platform.python_version()}
        | {package: version(package) for package in packages},
    }
