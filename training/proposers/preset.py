"""Recipes of proposals, from presets in presets/proposers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from models.proposers.detector import Config
from training.runs import presets as inheritance
from training.runs.optimization import Optimizer, Schedule
from training.runs.presets import make_options, refuse_unknown

PRESETS = "proposers"  # the folder of proposals' presets


@dataclass(frozen=True, slots=True)
class ProposerPreset:
    """A training of proposals: their detector's options, and the rest."""

    config: Mapping[str, Any] = field(default_factory=dict)  # detector.Config's
    optimizer: Optimizer = field(default_factory=Optimizer)
    schedule: Schedule = field(default_factory=Schedule)


def read(preset: str) -> ProposerPreset:
    """Read a preset of presets/proposers, or a .toml path.

    LookupError for an absent preset, ValueError for an unknown option.
    """
    return inheritance.read(PRESETS, preset, parse)


def parse(preset: str, tables: Mapping[str, Any]) -> ProposerPreset:  # noqa: ARG001 - as of other parts
    """The preset of a preset's tables."""
    refuse_unknown(tables, {"model", "optimizer", "schedule"}, "the preset")
    options = tables.get("model", {})
    refuse_unknown(options, {field.name for field in fields(Config)}, "[model]")
    return ProposerPreset(
        options,
        make_options(Optimizer, tables.get("optimizer", {}), "[optimizer]"),
        make_options(Schedule, tables.get("schedule", {}), "[schedule]"),
    )
