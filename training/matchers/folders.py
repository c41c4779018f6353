"""Run folders of matchers and of their teachers."""

from __future__ import annotations

from dataclasses import replace

from models import header, registry
from training.data.corpus import Corpus
from training.matchers.preset import Preset
from training.runs.folder import RunFolder, RunPlace, gather_facts


def open_folder(preset: Preset, corpus: Corpus, place: RunPlace) -> RunFolder:
    """Name the folder of a training, <out>/<preset>-<seed>, and its facts."""
    path = place.out / f"{preset.name}-{place.seed}"
    start = header.fingerprint(place.start) if place.start else None
    facts = {"preset": preset.describe(), "start": start} | gather_facts(corpus, place)
    return RunFolder(path, path / "matcher.safetensors", registry.MATCHERS, preset.name, facts)


def plan_teachers(preset: Preset, place: RunPlace) -> list[tuple[Preset, RunPlace]]:
    """List a preset's teachers and their places: seeds from its own on.

    They begin with the preset's first weights, if they have its towers.
    """
    if not preset.teachers:
        return []
    teacher, seeds = preset.teachers.preset, range(place.seed, place.seed + preset.teachers.count)
    start = place.start if teacher.model.towers == preset.model.towers else None
    return [(teacher, replace(place, seed=seed, start=start)) for seed in seeds]


def explain_changes(folder: RunFolder) -> str:
    """Explain the reasons against the run in a folder as a teacher."""
    return (
        f"{folder.path} was made with another {folder.describe_changes()} and is no teacher here: "
        "delete it, or choose another --out"
    )
