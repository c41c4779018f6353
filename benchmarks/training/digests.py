"""Digests of tiny trainings' weights, before and after a change.

    python -m benchmarks.training.digests            # about a minute

A training of each part on 60 scenes: the same digest is the same weights to the bit. They depend on
torch's build and the machine's instructions, so compare two revisions on one machine.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from safetensors.torch import load_file

from training.captioners import train as captioning
from training.captioners.preset import CaptionerPreset
from training.data import entities, synthetic
from training.data import readers as folders
from training.grounders import preset as grounder_presets
from training.grounders import train as grounding
from training.matchers import preset
from training.matchers import train as run
from training.proposers import preset as proposer_presets
from training.proposers import train as proposals
from training.runs.folder import RunPlace
from training.runs.optimization import Optimizer, Schedule

SCENES = {"train": 60, "val": 12}
SEED = 3
HELD_OUT = 10  # scenes that choose the best epoch, where a preset holds photos out
PRESETS = ("scenes", "sdtrnn-squared", "defrag")
SIGHT = {"views": ("lite0@64",), "proposals": "windows"}
CAPTIONER = {**SIGHT, "recurrence": "lstm", "embedding": 32, "hidden": 32, "dropout": 0.2}


def digest(file: Path) -> str:
    """A digest of a checkpoint's weights."""
    sha = hashlib.sha256()
    for name, weight in sorted(load_file(file).items()):
        sha.update(name.encode() + weight.contiguous().numpy().tobytes())
    return sha.hexdigest()[:16]


def schedule(
    epochs: int, average: float = 0.0, warmup: float = 0.05, clip: float = 1.0
) -> Schedule:
    """A short training in half precision."""
    return Schedule(epochs, 8, warmup=warmup, clip=clip, average=average, precision="bfloat16")


def digests(folder: Path) -> dict[str, str]:
    """The digest of each part, trained on scenes in a folder."""
    scenes = folder / "scenes"
    synthetic.write(scenes, SCENES, SEED)
    boxes_of = entities.find(scenes)
    assert boxes_of  # they were just written
    corpus, truth = folders.read(scenes), entities.read(boxes_of)
    places = {
        name: RunPlace(folder / f"{name}.safetensors", folder / "features")
        for name in ("captioner", "proposals", "grounder", "weak")
    }
    language = CaptionerPreset(
        "multimodal_rnn",
        CAPTIONER,
        Optimizer(learning_rate=1e-2),
        schedule(3, average=0.9),
        least_count=1,
    )
    boxes = replace(proposer_presets.read("detector"), schedule=schedule(2, average=0.9, clip=5.0))
    full = grounder_presets.read("supervised")
    assert isinstance(full.objective, grounder_presets.Supervision)
    full = replace(
        full, schedule=schedule(3, warmup=0.1), objective=replace(full.objective, mined=1)
    )
    weak = replace(grounder_presets.read("weak"), schedule=schedule(2, warmup=0.1))
    captioning.train(corpus, places["captioner"], language)
    proposals.train(corpus, truth, places["proposals"], boxes)
    grounding.train(corpus, truth, places["grounder"], full)
    grounding.train(corpus, truth, places["weak"], weak)
    files = {name: place.out for name, place in places.items()}
    for name in PRESETS:
        place = RunPlace(folder / "runs", folder / "features")
        shipped = preset.read(name)
        short = replace(
            shipped,
            schedule=replace(shipped.schedule, epochs=2, drops=()),
            hold_out=HELD_OUT if shipped.hold_out else None,
        )
        files[name] = run.train(short, corpus, place)
    return {name: digest(file) for name, file in files.items()}


def main() -> None:
    """Print a digest for each part."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with TemporaryDirectory() as folder:
        for name, value in digests(Path(folder)).items():
            sys.stdout.write(f"{name:16} {value}\n")


if __name__ == "__main__":
    main()
