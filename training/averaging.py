"""Average weights of trainings that differ in their seed, drawn back towards their common start."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from models import checkpoint, registry
from models.checkpoint import Checkpoint, declared
from models.matcher import Matcher
from training.data.corpus import Corpus
from training.evaluation.retrieval import Retrieval
from training.folder import Place
from training.frozen import Frozen
from training.matching import refer, validate
from training.progress import Progress


def write(
    files: Sequence[Path], corpus: Corpus, start: float, place: Place, progress: Progress
) -> Retrieval:
    """Write the average of checkpoints to `place.out`; how it does on val.

    ValueError unless all are matchers of the same options.
    """
    loaded = [checkpoint.load(file, place.device) for file in files]
    matcher = average(matchers(loaded), start)
    precision = loaded[0].facts["preset"]["schedule"]["precision"]
    frozen = Frozen(matcher, place, precision, progress)
    refer(matcher, frozen.pairs(corpus.split("train"), "train").images, place.device)
    validation = validate(matcher, frozen.pairs(corpus.split("val"), "val"), place.device)
    facts = averaged_facts(loaded, start) | {"validation": asdict(validation)}
    checkpoint.save(place.out, registry.MATCHERS, loaded[0].name, matcher, facts)
    return validation


def matchers(loaded: Sequence[Checkpoint]) -> list[Matcher]:
    """The matchers of checkpoints; ValueError unless all are matchers of the same options."""
    for one in loaded:
        if one.kind != registry.MATCHERS or one.model.config != loaded[0].model.config:
            raise ValueError(
                f"{one.name} {one.fingerprint} is no matcher with the options of "
                f"{loaded[0].name} {loaded[0].fingerprint}: average runs of one preset and data"
            )
    return [one.model for one in loaded]


@torch.no_grad()
def average(models: Sequence[Matcher], start: float) -> Matcher:
    """θ = (1 − α) mean_i θ_i + α θ_0, the second part for weights with a known start θ_0.

    Model soups (Wortsman et al. 2022) and, with α = `start`, the line back to the pretrained
    weights (WiSE-FT, Wortsman et al. 2022). Weights that begin at random have no
    θ_0. Reference photos are the caller's to measure again.
    """
    mean = deepcopy(models[0])
    begun = Matcher(mean.config).to(mean.device)
    begun.begin()
    first, known = dict(begun.named_parameters()), declared(mean, "known")
    trained = [dict(model.named_parameters()) for model in models]
    for name, weight in mean.named_parameters():
        if weight.requires_grad:
            weight.copy_(torch.stack([weights[name] for weights in trained]).mean(0))
            if name.startswith(known):
                weight.lerp_(first[name], start)
    return mean.eval()


def averaged_facts(loaded: Sequence[Checkpoint], start: float) -> dict[str, Any]:
    """What an averaged checkpoint says of its making: that of its parts, and all of their seeds."""
    common = {name: loaded[0].facts[name] for name in ("preset", "data", "versions")}
    return common | {
        "seed": " + ".join(str(one.facts["seed"]) for one in loaded),
        "averaged": [one.fingerprint for one in loaded],
        "start": start,
    }
