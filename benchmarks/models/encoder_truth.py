"""Truth of explanations by tiny encoders of scenes.

They are trained, adopted, tuned, and asked for places.

Each family is trained on synthetic scenes, saved in a hub's layout, adopted and tuned as usual, and
measured on other scenes. It takes minutes a family on one core; trained encoders are kept.

    python -m benchmarks.models.encoder_truth truth/ --family clip --recipe occluded
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from benchmarks.models.tiny_encoders import FAMILIES, LEARNING, train
from models import checkpoint
from training.data import entities, synthetic
from training.data import readers as folders
from training.encoders import adopt as adopting
from training.encoders import tune as tuning
from training.evaluation.measure import measure
from training.runs.progress import Progress, silent

STEPS, TUNED, ASKED = 1000, 100, 100  # of training; scenes to tune on, and to be asked about
COST = 3.0


@dataclass(frozen=True, slots=True)
class EncoderFindings:
    """A family's results in percent, on unseen scenes.

    official_1 and search_1: sentences whose scene comes first by the encoder's own score, and by
    the tuned one. pointed: phrases whose best box has its centre in the true box. gap: the largest
    difference of a pair's score without its most linked region from what its links predict.
    fall, elsewhere: what words lose when the pixels of their box are grey, and those of another.
    """

    official_1: float
    search_1: float
    pointed: float
    gap: float
    fall: float
    elsewhere: float
    chosen: tuning.Trial


def truth(
    family: str,
    place: Path,
    steps: int = STEPS,
    recipes: Sequence[str] = (),
    progress: Progress = silent,
    cost: float = COST,
    layers: int = LEARNING.layers,
) -> EncoderFindings:
    """Train, adopt, tune and measure a family; a trained encoder is kept.

    `recipes` are those that tuning tries, if not all that cost one pass; `cost` is what boxes may
    cost of the sum of recalls. AssertionError where tuning finds that they are better left out.
    """
    folder = place / (family if layers == LEARNING.layers else f"{family}-{layers}")
    if not (folder / "config.json").is_file():
        size = replace(LEARNING, layers=layers)
        train(family, folder, steps=steps, size=size, progress=progress)
    if not (place / "scenes" / "scenes.jsonl").is_file():
        synthetic.write(place / "scenes", {"val": TUNED, "test": ASKED})
    corpus = folders.read(place / "scenes", None)
    out = place / f"{folder.name}.safetensors"
    out.unlink(missing_ok=True)
    adopting.adopt(folder, out, adopting.Choice(), "", family)
    loaded = checkpoint.load(out)
    matcher, tuned = tuning.tune(loaded, corpus.split("val"), cost, progress, "cpu", recipes)
    boxes = entities.read(place / "scenes" / "entities.json.gz")
    examples = corpus.split("test")
    plain = tuning.replace_options(matcher, {"regions": 0.0})
    official = measure(plain, examples, boxes, progress, "cpu", 0).retrieval
    evaluation = measure(matcher, examples, boxes, progress, "cpu", ASKED)
    assert evaluation.grounding
    assert evaluation.faithfulness
    assert evaluation.occlusion
    return EncoderFindings(
        official_1=official.search.recall_1,
        search_1=evaluation.retrieval.search.recall_1,
        pointed=evaluation.grounding.pointed,
        gap=evaluation.faithfulness.gap,
        fall=evaluation.occlusion.greyed,
        elsewhere=evaluation.occlusion.elsewhere,
        chosen=tuned.chosen,
    )


def main() -> None:
    """Print a line a family."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--family", choices=FAMILIES, action="append")
    options.add_argument("--steps", type=int, default=STEPS)
    options.add_argument("--layers", type=int, default=LEARNING.layers, help="of each half")
    options.add_argument("--recipe", action="append", default=[], help="tried instead of all")
    chosen = options.parse_args()
    torch.set_num_threads(1)
    for family in chosen.family or FAMILIES:
        result = truth(family, chosen.folder, chosen.steps, chosen.recipe, layers=chosen.layers)
        how = result.chosen
        print(
            f"{family}: scene first {result.search_1:.1f} % "
            f"(its own score {result.official_1:.1f}), box pointed at {result.pointed:.1f} %, "
            f"words lose {result.fall:.2f} with their box grey and {result.elsewhere:.2f} with "
            f"another, links off by {result.gap:.0e}; "
            f"{how.recipe} against {how.against}, λ {how.regions}",
            flush=True,
        )


if __name__ == "__main__":
    main()
