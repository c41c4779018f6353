"""Presets of matchers: a training from a TOML file.

Model, objective, optimizer and schedule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from models import checkpoint, registry
from models.matcher import Config, TowerOptions
from models.scores.correlation import Correlation
from models.shipped import PRETRAINED
from training.data.batches import Sampling
from training.data.corpus import Corpus, Example
from training.matchers import loss
from training.matchers.label_pairs import LabelOptions
from training.matchers.loss import ObjectiveTerm
from training.matchers.preset_conflicts import (
    list_objectives,
    refuse_conflicts,
    refuse_unadopted,
)
from training.matchers.terms import TermOptions as TermOptions
from training.runs import presets as inheritance
from training.runs.optimization import Optimizer, Schedule
from training.runs.presets import Options, make_options, refuse_bad_values, refuse_unknown

MOST_HELD_OUT = 4  # at most a quarter of the photos
KEYS = {
    *("model", "objective", "optimizer", "schedule", "splits", "teachers"),
    *("start", "catalogue", "terms", "hold_out", "mirrored", "cropped", "labels", "frozen"),
}


@dataclass(frozen=True, slots=True)
class Teachers:
    """The preset of the teachers, and their number."""

    preset: Preset
    count: int = 2

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"[teachers] count is {self.count}; use at least 1")


@dataclass(frozen=True, slots=True)
class StartOptions:
    """The checkpoint to begin with.

    checkpoint: the name of a shipped one. adopted: an encoder of `tessera adopt`, given by --start.
    share: the share of these weights in the validated and stored ones.
    """

    checkpoint: str | None = None
    share: float = 0.0
    adopted: bool = False

    def __post_init__(self) -> None:
        if self.adopted == bool(self.checkpoint):
            raise ValueError("[start] needs either a checkpoint or adopted = true")
        if not 0 <= self.share < 1:
            raise ValueError(f"[start] share is {self.share}; use at least 0 and less than 1")


@dataclass(frozen=True, slots=True)
class Preset:
    """One training, checked as far as it can be without data.

    With `sampling` it learns from the fields of a catalogue. With `terms` it learns which photos
    show a catalogue's terms, and nothing else. hold_out: the number of photos that are not learned
    and choose the best epoch, so that val chooses nothing. photos: take so many of train alone, the
    first ones; None for all. mirrored: half of a batch's photos are
    learned with left and right changed. cropped: a CNN that learns sees a part of each photo, at
    random, with at least this share of each side. With `labels` it learns from labels as well, of
    photos that have them. frozen: prefixes of weights that do not learn.
    """

    name: str
    model: Config  # without what its text tower learns from sentences
    objectives: tuple[ObjectiveTerm, ...]  # the loss is their weighted sum
    optimizer: Optimizer
    schedule: Schedule
    splits: tuple[str, ...]
    teachers: Teachers | None = None
    start: StartOptions | None = None
    sampling: Sampling | None = None
    terms: TermOptions | None = None
    hold_out: int | None = None
    mirrored: bool | None = None
    cropped: float | None = None
    photos: int | None = None
    labels: LabelOptions | None = None
    frozen: tuple[str, ...] | None = None

    def describe(self) -> dict[str, Any]:
        """Plain values, for run.json and to tell one training from another."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def share(self) -> float:
        """The share of the first weights in the validated and stored ones."""
        return self.start.share if self.start else 0.0

    def with_epochs(self, epochs: int | None) -> Preset:
        """Copy the preset with another number of epochs; teachers keep theirs.

        Drops of the rate, and epochs of objectives, stay at the same share of all epochs.
        """
        if not epochs:
            return self
        if self.terms or not self.schedule.epochs:
            raise ValueError(f"{self.name} is solved for and has no epochs: leave them out")
        before = self.schedule.epochs
        drops = tuple(max(1, round(drop * epochs / before)) for drop in self.schedule.drops)
        return replace(
            self,
            schedule=replace(self.schedule, epochs=epochs, drops=drops),
            objectives=tuple(term.rescale(before, epochs) for term in self.objectives),
        )

    def with_photos(self, photos: int | None) -> Preset:
        """Copy the preset for the first photos of train, under another name."""
        if not photos:
            return self
        if self.terms or self.sampling or self.teachers:
            raise ValueError(f"{self.name} learns all of train: leave the number of photos out")
        return replace(self, name=f"{self.name}-{photos}-photos", photos=photos)

    def fit_to(self, corpus: Corpus) -> Preset:
        """Copy the preset with at most a quarter held out."""
        if not self.hold_out:
            return self
        count = len(self.select(corpus))
        return replace(self, hold_out=min(self.hold_out, count // MOST_HELD_OUT))

    def select(self, corpus: Corpus) -> list[Example]:
        """Select its splits' photos; without labels the first `photos` alone."""
        examples = [example for split in self.splits for example in corpus.split(split)]
        described = [example for example in examples if example.labels is None]
        return described[: self.photos] + [one for one in examples if one.labels is not None]


def read(preset: str, learner: Path | None = None, start: Path | None = None) -> Preset:
    """Read the preset of a name, or of a .toml path.

    `learner` is the file of the preset that it teaches; paths are relative to its folder. `start`
    is the checkpoint to begin with instead of the preset's own. Raises LookupError for an absent
    preset, ValueError for an unknown option.
    """
    path = inheritance.locate(preset, learner.parent if learner else Path())
    try:
        tables = inheritance.resolve(path)
        if learner and "teachers" in tables:
            raise ValueError("a teacher cannot have [teachers]")
        return parse(path.stem, tables, path, start)
    except (ValueError, LookupError) as wrong:
        raise ValueError(f"{path}: {wrong}") from wrong


def parse(
    name: str, tables: dict[str, Any], file: Path = Path(), start: Path | None = None
) -> Preset:
    """Parse a preset's tables from `file`; every option must be known."""
    refuse_unknown(tables, KEYS, "the preset")
    refuse_conflicts(tables)

    def parse_table(kind: type[Options], key: str) -> Options | None:
        return make_options(kind, tables[key], f"[{key}]") if key in tables else None

    start_options = parse_table(StartOptions, "start")
    teachers = parse_teachers(tables["teachers"], name, file) if "teachers" in tables else None
    return Preset(
        name=name,
        model=parse_model(tables.get("model", {}))
        if start_options is None
        else read_start_config(start_options, start),
        objectives=parse_objectives(tables.get("objective", []), bool(teachers)),
        optimizer=make_options(Optimizer, tables.get("optimizer", {}), "[optimizer]"),
        schedule=make_options(Schedule, tables.get("schedule", {}), "[schedule]"),
        splits=tuple(tables.get("splits", ("train",))),
        teachers=teachers,
        start=start_options,
        sampling=parse_table(Sampling, "catalogue"),
        terms=parse_table(TermOptions, "terms"),
        hold_out=tables.get("hold_out"),
        mirrored=tables.get("mirrored"),
        cropped=tables.get("cropped"),
        labels=parse_table(LabelOptions, "labels"),
        frozen=tuple(tables["frozen"]) if "frozen" in tables else None,
    )


def parse_objectives(
    tables: Mapping[str, Any] | Sequence[Mapping[str, Any]], has_teachers: bool
) -> tuple[ObjectiveTerm, ...]:
    """Parse one [objective] or several [[objective]]; distillation needs teachers."""
    terms = tuple(map(parse_objective, list_objectives(tables)))
    if any(term.name == "distillation" for term in terms) != has_teachers:
        raise ValueError("distillation and [teachers] need each other: give both, or neither")
    return terms


def read_start_config(start: StartOptions, replacement: Path | None = None) -> Config:
    """Read the model of a preset's first checkpoint, or of a replacement."""
    described = checkpoint.read(replacement or find_start(start))[1]
    if described["kind"] != registry.MATCHERS:
        raise ValueError(
            f"[start] needs a matcher, and {replacement} is one of the {described['kind']}"
        )
    config = Config(**described["config"])
    if start.adopted:
        refuse_unadopted(config, replacement)
    return config


def find_start(start: StartOptions) -> Path:
    """Find the shipped checkpoint of a start; LookupError for an adopted one."""
    if start.adopted:
        raise LookupError("give the checkpoint of an encoder that `tessera adopt` wrote by --start")
    return PRETRAINED / f"{start.checkpoint}.safetensors"


def parse_model(table: Mapping[str, Any]) -> Config:
    """Parse the [model] table: two towers and the score.

    Towers are named, with options.
    """
    refuse_unknown(table, {field.name for field in fields(Config)}, "[model]")
    parts: dict[str, Any] = {
        side: parse_tower(side, table.get(side, {})) for side in ("image", "text")
    }
    if "correlation" in table:
        parts["correlation"] = make_options(
            Correlation, table["correlation"], "[model.correlation]"
        )
    return Config(**{**table, **parts})


def parse_tower(side: str, table: Mapping[str, Any]) -> TowerOptions:
    """Parse a [model.image] or [model.text] table: the tower's name and options."""
    where, kind = f"[model.{side}]", f"{side}_towers"
    if "name" not in table:
        raise ValueError(f"{where} needs a name, one of {', '.join(registry.names(kind))}")
    name = table["name"]
    options = {key: value for key, value in table.items() if key != "name"}
    config = registry.find(kind, name).Config
    refuse_unknown(options, {field.name for field in fields(config)}, where)
    refuse_bad_values(options, get_type_hints(config))
    return TowerOptions.of(kind, name, options)


def parse_teachers(table: Mapping[str, Any], name: str, file: Path) -> Teachers:
    """Parse the [teachers] table of a preset: their preset and number."""
    if "preset" not in table:
        raise ValueError("[teachers] needs a preset, by its name or as a path to a .toml")
    preset = read(table["preset"], file)
    if preset.name == name:  # they would share folders
        raise ValueError(f"[teachers] preset is called {name}, too: give it another name")
    return make_options(Teachers, {**table, "preset": preset}, "[teachers]")


def parse_objective(table: Mapping[str, Any]) -> ObjectiveTerm:
    """Parse one [objective] table: name, weight, first and last epoch, options."""
    if "name" not in table:
        raise ValueError(f"[objective] needs a name, one of {', '.join(loss.list_names())}")
    term_fields = {field.name for field in fields(ObjectiveTerm)} - {"options"}
    options = {key: value for key, value in table.items() if key not in term_fields}
    refuse_unknown(options, loss.list_options(table["name"]) | term_fields, "[objective]")
    refuse_bad_values(table, loss.option_types(table["name"]) | get_type_hints(ObjectiveTerm))
    return ObjectiveTerm(**{key: table[key] for key in term_fields & table.keys()}, options=options)


def describe_changes(shipped: Preset, adapted: Preset) -> list[str]:
    """Describe the changes of a short trial, a line each."""
    changes = []
    if adapted.hold_out != shipped.hold_out:
        instead = f"{adapted.hold_out} instead of {shipped.hold_out}"
        changes.append(f"hold_out is {instead} photos: at most a quarter of train")
    if adapted.schedule.drops != shipped.schedule.drops:
        schedules = adapted.schedule, shipped.schedule
        now, before = (f"{', '.join(map(str, s.drops))} of {s.epochs}" for s in schedules)
        changes.append(f"the rate drops after epoch {now} instead of {before}")
    shipped_epochs, epochs = (
        [(term.first, term.last) for term in preset.objectives] for preset in (shipped, adapted)
    )
    return changes + (describe_objectives(shipped, adapted) if epochs != shipped_epochs else [])


def describe_objectives(shipped: Preset, adapted: Preset) -> list[str]:
    """Describe the epochs of the objectives, and those without any."""
    epochs, before = adapted.schedule.epochs, shipped.schedule.epochs
    pairs = list(zip(shipped.objectives, adapted.objectives, strict=True))
    counted = [term.describe(epochs) for _, term in pairs if term.last_of(epochs) >= term.first]
    dropped = [term.describe(before) for term, now in pairs if now.last_of(epochs) < now.first]
    left_out = f"too few epochs to learn these, of {before}: {', '.join(dropped)}"
    changed = f"objectives change at the same shares of the epochs: {', '.join(counted)}"
    return [changed, left_out] if dropped else [changed]
