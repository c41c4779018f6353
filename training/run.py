"""What one training does from preset to checkpoint: data, cache, loop, and the run's folder."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from models import checkpoint, registry
from models.checkpoint import Checkpoint
from models.parsing import parser_key
from training.cache import Computed, cached, digest, file_digest
from training.data.corpus import Corpus, Example
from training.data.vocabulary import frequencies, relations, vocabulary
from training.evaluation.measure import pixels
from training.loop import EpochRecord, Pairs, Taught, Trainer, half_precision
from training.matching import Prepared, TrainableMatcher
from training.objectives import total
from training.preset import Preset
from training.progress import Progress, silent
from training.teaching import Teacher, mean_scores, teacher


@dataclass(frozen=True, slots=True)
class Place:
    """Where a training happens: folders, device, and the seed."""

    out: Path  # the run's folder is made in here
    cache: Path
    device: str = "cpu"
    seed: int = 0
    start: Path | None = None  # the checkpoint whose weights to begin with


def train(
    preset: Preset,
    corpus: Corpus,
    place: Place,
    *,
    resume: bool = False,
    progress: Progress = silent,
    report: Callable[[EpochRecord], None] | None = None,
    begins: Callable[[str], None] = lambda _: None,
) -> Path:
    """Train a preset on a corpus; the path of the best epoch's checkpoint.

    The run's folder <out>/<preset>-<seed> gets run.json, last.pt and matcher.safetensors. Teachers
    that are not trained yet are trained first, into folders beside it; `begins` is told of each.
    ValueError if it exists and is not to be resumed, or was made by other options or data.
    """
    examples = [example for split in preset.splits for example in corpus.split(split)]
    validated = corpus.split("val")
    start = checkpoint.load(place.start) if place.start else None
    folder = RunFolder.of(preset, corpus, place)
    torch.manual_seed(place.seed)
    model = built(preset, examples, start).to(place.device).eval()
    folder.claim(resume)
    resume = folder.resumable  # one that was broken off before its first epoch starts anew
    taught = None
    if preset.teachers:
        told = {"progress": progress, "report": report, "begins": begins}
        files = [trained(one, corpus, own, **told) for one, own in teachers(preset, place)]
        taught = lessons(files, examples, place, preset.schedule.precision, progress)
        folder.facts["teachers"] = [checkpoint.fingerprint(file) for file in files]
        begins(folder.path.name)
    matcher = cast(TrainableMatcher, model)
    frozen = Frozen(matcher, place, preset.schedule.precision, progress)
    pairs = frozen.pairs(examples, "train")
    validation = frozen.pairs(validated, "val")
    if isinstance(model, Prepared) and not (resume or place.start):
        model.prepare(pairs.images, pairs.sentences, pairs.owners)
    trainer = Trainer(
        matcher,
        pairs,
        partial(total, preset.objectives),
        preset.optimizer,
        preset.schedule,
        place.seed,
        place.device,
        taught,
    )
    if resume:
        trainer.resume(folder.last())
        folder.write(trainer.history)  # last.pt may know an epoch more than run.json
    while not trainer.finished:
        record = trainer.epoch(validation, progress)
        folder.tell(trainer, preset.model)
        if report:
            report(record)
    return folder.best


def teachers(preset: Preset, place: Place) -> list[tuple[Preset, Place]]:
    """What has to be trained before a preset, and where: its teachers, by seeds from its own on."""
    if not preset.teachers:
        return []
    places = [replace(place, seed=place.seed + one) for one in range(preset.teachers.count)]
    return [(preset.teachers.preset, one) for one in places]


def trained(preset: Preset, corpus: Corpus, place: Place, **told: Any) -> Path:
    """The checkpoint of a training, which is done or gone on with if need be.

    ValueError if its folder holds a run of other options or data.
    """
    folder = RunFolder.of(preset, corpus, place)
    if folder.epochs and folder.changed:
        raise ValueError(
            f"{folder.path} is no teacher, it was made with another {', '.join(folder.changed)}: "
            "delete it, or choose another --out"
        )
    if folder.epochs < max(1, preset.schedule.epochs):
        told["begins"](folder.path.name)
        train(preset, corpus, place, resume=folder.resumable, **told)
    return folder.best


def lessons(
    files: Sequence[Path],
    examples: Sequence[Example],
    place: Place,
    precision: str,
    progress: Progress,
) -> Taught:
    """What checkpoints together make of batches of examples."""
    seen = digest(*(text for one in examples for text in (one.image.name, *one.sentences)))

    def read(file: Path) -> Teacher:
        loaded = checkpoint.load(file, place.device)
        pairs = Frozen(loaded.model, place, precision, progress).pairs(examples, "train")
        key = f"{loaded.fingerprint} {seen}"
        return teacher(loaded.model, key, pairs, place.cache / "taught", place.device, progress)

    return partial(mean_scores, [read(file) for file in files], device=place.device)


def built(
    preset: Preset, examples: Sequence[Example], start: Checkpoint | None = None
) -> nn.Module:
    """The preset's model; the fields that its Config says are learned come from the examples.

    With a checkpoint to start from they are that one's, as all weights are; ValueError if these
    do not fit the preset.
    """
    module = registry.find("matchers", preset.model)
    given = preset.config | (inherited(preset, start) if start else {})
    config = module.Config(**given)
    makers: dict[str, Callable[[Sequence[Example]], Any]] = {
        "words": vocabulary,
        "frequencies": frequencies,
        "relations": relations,
        "parser": lambda _: parser_key(),
    }
    wanted = set(getattr(config, "learned", ())) - given.keys()
    model: nn.Module = module.Model(
        replace(config, **{one: makers[one](examples) for one in wanted})
    )
    if start:
        begin(model, start.model)
    return model


def inherited(preset: Preset, start: Checkpoint) -> dict[str, Any]:
    """What a checkpoint's Config learned and the preset does not name; ValueError for another's."""
    if (start.kind, start.name) != ("matchers", preset.model):
        raise ValueError(
            f"the preset trains matchers/{preset.model} and cannot start from "
            f"{start.kind}/{start.name}"
        )
    config = start.model.config
    known = {one: getattr(config, one) for one in getattr(config, "learned", ())}
    return {one: it for one, it in known.items() if it and one not in preset.config}


def begin(model: nn.Module, start: nn.Module) -> None:
    """Give a model another's weights; ValueError where these mean something else."""
    one, other = cast(TrainableMatcher, model), cast(TrainableMatcher, start)
    for what in ("image_key", "sentence_key"):
        wanted, found = getattr(one, what)(), getattr(other, what)()
        if wanted != found:
            raise ValueError(f"the preset sees {wanted}, the checkpoint to start from {found}")
    if other.tuned and not one.tuned:
        raise ValueError(
            "the checkpoint to start from has a CNN of its own: set tuned = true in [model]"
        )
    try:
        model.load_state_dict(start.state_dict())
    except RuntimeError as unlike:
        raise ValueError(f"the checkpoint's weights do not fit the preset: {unlike}") from unlike


@dataclass(frozen=True, slots=True)
class Frozen:
    """A matcher's frozen part, whose outputs are kept in the cache."""

    matcher: TrainableMatcher
    place: Place
    precision: str
    progress: Progress = silent

    def pairs(self, examples: Sequence[Example], split: str) -> Pairs:
        """A split's frozen inputs, from the cache or computed into it."""
        texts = [sentence for example in examples for sentence in example.sentences]
        paths = [example.image for example in examples]
        images: Sequence[Tensor] = (
            Computed(paths, self.image_inputs)
            if self.matcher.tuned
            else cached(
                self.place.cache / "images",
                f"{self.precision} {self.matcher.image_key()}",
                paths,
                [file_digest(path) for path in paths],
                self.image_inputs,
                self.progress,
                f"photos of {split}",
            )
        )
        sentences = cached(
            self.place.cache / "sentences",
            f"{self.precision} {self.matcher.sentence_key()}",
            texts,
            [digest(text) for text in texts],
            self.sentence_inputs,
            self.progress,
            f"sentences of {split}",
        )
        return Pairs(images, sentences, tuple(len(example.sentences) for example in examples))

    def image_inputs(self, paths: Sequence[Path]) -> list[Tensor]:
        """The frozen part of photos."""
        photos = [pixels(path) for path in paths]
        with half_precision(self.place.device, self.precision):
            return self.matcher.image_inputs(photos)

    def sentence_inputs(self, texts: Sequence[str]) -> list[Tensor]:
        """The frozen part of sentences, always in full precision: it is cheap."""
        return self.matcher.sentence_inputs(texts)


def facts_of(preset: Preset, corpus: Corpus, place: Place) -> dict[str, Any]:
    """What a run is made of, and so what a resumed one must share."""
    packages = ("torch", "torchvision", "numpy")
    return {
        "preset": preset.described(),
        "seed": place.seed,
        "start": checkpoint.fingerprint(place.start) if place.start else None,
        "data": {"name": corpus.name, "digest": corpus.digest()},
        "versions": {"python": platform.python_version()}
        | {package: version(package) for package in packages},
    }


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
        if changed := self.changed:
            again = "give the same --start" if changed == ["start"] else "start anew"
            raise ValueError(f"{self.path} was made with another {', '.join(changed)}: {again}")

    def tell(self, trainer: Trainer, name: str) -> None:
        """Write the checkpoint if the epoch is the best, last.pt to resume from, and run.json."""
        if trainer.at_best:
            with trainer.descent.average.worn():
                self.keep(name, trainer.module, trainer.history[-1])
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
