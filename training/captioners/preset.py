"""Recipes of captioners, from presets in presets/captioners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from models import registry
from training.captioners.snippets import SnippetOptions as SnippetOptions
from training.runs import presets as inheritance
from training.runs.optimization import Optimizer, Schedule
from training.runs.presets import make_options, refuse_unknown

PRESETS = "captioners"  # the folder of captioners' presets


@dataclass(frozen=True, slots=True)
class TextOptions:
    """Language from text alone.

    Sentences stand for photos in a joint space.

    The first `epochs` have `alone` sentences a step and no photo. Later ones have `beside`
    sentences next to the photos, and their loss counts `weight`. With `names`, the texts include
    sentences on ImageNet's classes. `matcher` is a shipped one, by its name.
    """

    epochs: int = 3
    alone: int = 256
    beside: int = 64
    weight: float = 0.5
    names: bool = True
    matcher: str = "matcher"

    def __post_init__(self) -> None:
        if self.epochs < 0 or self.alone < 1 or self.beside < 0:
            raise ValueError(
                f"[text] has {self.epochs} epochs of {self.alone} sentences alone and "
                f"{self.beside} next to photos; use at least 0, 1 and 0"
            )


@dataclass(frozen=True, slots=True)
class Reward:
    """Self-critical training on `samples` captions of each photo."""

    samples: int = 5


@dataclass(frozen=True, slots=True)
class CaptionerPreset:
    """A training of a captioner: the model's name and options, and the rest.

    least_count: occurrences of a word of the vocabulary in train's sentences, or with `text` in all
    texts. With `snippets` the captioner learns regions with aligned parts of sentences. With
    `reward` or `continues` it begins with a trained captioner.
    """

    model: str
    options: Mapping[str, Any]
    optimizer: Optimizer
    schedule: Schedule
    label_smoothing: float = 0.0
    least_count: int = 5
    snippets: SnippetOptions | None = None
    text: TextOptions | None = None
    reward: Reward | None = None
    continues: bool = False


PARTS = {"snippets": SnippetOptions, "text": TextOptions, "reward": Reward}


def read(preset: str) -> CaptionerPreset:
    """Read a preset of presets/captioners, or a .toml path.

    LookupError for an absent preset, ValueError for an unknown option.
    """
    return inheritance.read(PRESETS, preset, parse)


def parse(preset: str, tables: Mapping[str, Any]) -> CaptionerPreset:  # noqa: ARG001 - as of other parts
    """The preset of a preset's tables."""
    names = {"model", "objective", "optimizer", "schedule", "continues", *PARTS}
    refuse_unknown(tables, names, "the preset")
    options = dict(tables.get("model", {}))
    if "name" not in options:
        raise ValueError(
            f"[model] needs a name, one of {', '.join(registry.names('captioners'))}: is this the "
            "preset of a captioner?"
        )
    name = options.pop("name")
    option_names = {field.name for field in fields(registry.find("captioners", name).Config)}
    refuse_unknown(options, option_names - {"words", "image", "joint"}, "[model]")
    objective = tables.get("objective", {})
    refuse_unknown(objective, {"label_smoothing", "least_count"}, "[objective]")
    return CaptionerPreset(
        name,
        options,
        make_options(Optimizer, tables.get("optimizer", {}), "[optimizer]"),
        make_options(Schedule, tables.get("schedule", {}), "[schedule]"),
        **objective,
        continues=bool(tables.get("continues", False)),
        **{
            part: make_options(PARTS[part], tables[part], f"[{part}]")
            for part in PARTS
            if part in tables
        },
    )
