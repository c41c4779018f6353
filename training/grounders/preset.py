"""Recipes of grounders, from presets in presets/grounders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from models.grounders.two_branch import Config
from models.scores.correlation import Correlation
from training.runs import presets as inheritance
from training.runs.optimization import Optimizer, Schedule
from training.runs.presets import make_options, refuse_unknown

PRESETS = "grounders"  # the folder of grounders' presets


@dataclass(frozen=True, slots=True)
class Supervision:
    """Full supervision by true boxes (Wang, Li & Lazebnik 2016, section 3.3).

    margin and top are m and K of eq. 5. lambda_1 weighs a phrase's regions, lambda_2 neighbouring
    regions, lambda_3 neighbouring phrases. The last `mined` epochs have hard negatives of weight
    `mining`.
    """

    margin: float = 0.1
    top: int = 10
    lambda_1: float = 1.0
    lambda_2: float = 0.0
    lambda_3: float = 0.0
    mined: int = 3
    mining: float = 20.0


@dataclass(frozen=True, slots=True)
class Weak:
    """Weak supervision without phrases' boxes: a contrast between photos.

    temperature: of a phrase's attention to a photo's regions. sharpness: of the contrast.
    """

    temperature: float = 0.1
    sharpness: float = 12.0


@dataclass(frozen=True, slots=True)
class GrounderPreset:
    """A training of a grounder: its preset's name, model options, supervision."""

    preset: str
    options: Mapping[str, Any]
    optimizer: Optimizer
    schedule: Schedule
    objective: Supervision | Weak | Correlation


OBJECTIVES = {"supervised": Supervision, "weak": Weak, "correlation": Correlation}


def read(preset: str) -> GrounderPreset:
    """Read a preset of presets/grounders, or a .toml path.

    LookupError for an absent preset, ValueError for an unknown option.
    """
    return inheritance.read(PRESETS, preset, parse)


def parse(preset: str, tables: Mapping[str, Any]) -> GrounderPreset:
    """The preset of a preset's tables."""
    refuse_unknown(tables, {"model", "objective", "optimizer", "schedule"}, "the preset")
    options, objective = tables.get("model", {}), dict(tables.get("objective", {}))
    refuse_unknown(options, {field.name for field in fields(Config)}, "[model]")
    name = objective.pop("name", None)
    if name not in OBJECTIVES:
        raise ValueError(f"[objective] name is {name!r}; there are: {', '.join(OBJECTIVES)}")
    if (name == "correlation") != (tables.get("schedule", {}).get("epochs") == 0):
        raise ValueError(
            "[objective] correlation is solved for: give epochs = 0 with it, and only so"
        )
    return GrounderPreset(
        preset,
        options,
        make_options(Optimizer, tables.get("optimizer", {}), "[optimizer]"),
        make_options(Schedule, tables.get("schedule", {}), "[schedule]"),
        make_options(OBJECTIVES[name], objective, "[objective]"),
    )
