"""A matcher between two trainings, its CNN between tuning and package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn

from models import checkpoint, registry, shipped
from models.checkpoint import Checkpoint
from models.image_towers.regions_in_context import Model as Contextual
from models.matcher import TwoTowerMatcher
from models.text_towers.minilm import Model as MiniLM
from models.vision import backbones
from training.data.corpus import Corpus
from training.matchers.average import MAPS, refuse_other_kinds
from training.matchers.matching import encode_all

LEARNED = (
    *("image.log_scale", "image.names.", "image.photo.", "image.regions.", "image.standardize."),
    *("text.project.", "text.upper."),
)
BATCH = 512  # texts whose frozen states are in memory at once


def write(new: Path, former: Path, corpus: Corpus, share: float, network: float, out: Path) -> Path:
    """Write a blend of two checkpoints' matchers.

    References and offsets stay the new one's; calibrations do not fit and are left out. ValueError
    unless both are matchers of one shape whose towers are those of the preset tessera.
    """
    loaded = [checkpoint.load(file) for file in (new, former)]
    refuse_others(loaded)
    matcher = loaded[0].model
    draw_towards(matcher, loaded[1].model, choose_texts(corpus), share)
    draw_back(matcher, network)
    facts = loaded[0].facts | {
        "blended": {"former": loaded[1].fingerprint, "share": share, "network": network}
    }
    checkpoint.save(out, registry.MATCHERS, loaded[0].name, matcher, facts)
    return out


def refuse_others(loaded: Sequence[Checkpoint]) -> None:
    """Raise ValueError for checkpoints without a common meaning of weights."""
    refuse_other_kinds(loaded)
    for run in loaded:
        if not (isinstance(run.model.image, Contextual) and isinstance(run.model.text, MiniLM)):
            raise ValueError(f"{run.name} {run.fingerprint} is no matcher of the preset tessera")
    shapes = [(run.model.config.image, run.model.config.text.options.embedding) for run in loaded]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"{loaded[0].fingerprint} and {loaded[1].fingerprint} have other views or sizes: give "
            "both the same by `tessera average`"
        )


def choose_texts(corpus: Corpus) -> list[str]:
    """Choose a sentence of every second photo of train."""
    described = [example.sentences for example in corpus.split("train") if example.sentences]
    return [texts[k % len(texts)] for k, texts in enumerate(described)][::2]


@torch.no_grad()
def draw_towards(
    matcher: TwoTowerMatcher, former: TwoTowerMatcher, texts: Sequence[str], share: float
) -> None:
    """θ = (1 − share) θ + share Rᵀ θ_former, R the rotation between joint spaces.

    R is the solution of the orthogonal Procrustes problem (Schönemann 1966) for vectors of texts.
    Both began at the same pretrained weights, so that their mean is a matcher, too (Wortsman et al.
    2022, model soups).
    """
    rotation = align(*(embed(model, texts) for model in (former, matcher)))
    former_weights = former.state_dict()
    for name, weight in matcher.state_dict().items():
        if name.startswith(LEARNED) and weight.is_floating_point():
            target = former_weights[name].to(weight)
            weight.lerp_(rotation.T.to(weight) @ target if name in MAPS else target, share)


def align(former: Tensor, new: Tensor) -> Tensor:
    """Fit the rotation R (D, D) from former vectors (N, D) to new ones."""
    left, _, right = torch.linalg.svd(former.T @ new)
    rotation: Tensor = left @ right
    return rotation


@torch.inference_mode()
def embed(matcher: TwoTowerMatcher, texts: Sequence[str]) -> Tensor:
    """The sums (N, D) of texts' vectors in the joint space."""
    size = matcher.image.config.embedding
    sums = [
        bag.sum(0)[:size].float()
        for at in range(0, len(texts), BATCH)
        for bag in encode_all(
            matcher.encode_sentences, matcher.sentence_inputs(texts[at : at + BATCH]), "cpu"
        )
    ]
    return torch.stack(sums)


@torch.no_grad()
def draw_back(matcher: TwoTowerMatcher, share: float) -> None:
    """Draw tuned CNNs back to their packages by a share.

    The line between a start and its tuning (WiSE-FT, Wortsman et al. 2022).
    """
    for name, network in cast(nn.ModuleDict, matcher.sight.backbones).items():
        if name in shipped.BACKBONES:
            packaged = backbones.load_pretrained(backbones.origin(name)).network.state_dict()
            for key, weight in network.state_dict().items():
                weight.lerp_(packaged[key].to(weight), share)
