"""Tuning of an adopted encoder on photos with captions.

Of boxes' recipe and weight, and of the temperature.

Nothing is learned by gradient. With v_i = f + λ a_i, where f is the photo's vector and a_i the
difference of a box, a score is S = fᵀ Σ_t u_t + λ Σ_t max_i u_tᵀ a_i (a_0 = 0). Two matrices,
computed once for each recipe and each thing to compare boxes with, give the scores for every λ.
Masking tells which boxes explain best (training.evaluation.masking).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from models import checkpoint
from models.checkpoint import Checkpoint
from models.image_towers.pretrained import AGAINST, differences
from models.matcher import TwoTowerMatcher
from training.data.corpus import Example
from training.encoders.adopt import write
from training.evaluation.embedding import BATCH, read_pixels
from training.evaluation.masking import Masking
from training.evaluation.retrieval import Floats, retrieval
from training.evaluation.score_matrix import score_matrix
from training.matchers.preset_conflicts import refuse_unadopted
from training.runs.progress import Progress

MASKED = 50  # photos whose boxes are made grey
WEIGHTS = (0.0, 0.02, 0.05, *(round(0.1 * step, 1) for step in range(1, 11)))  # λ
SCALES = np.geomspace(5, 500, 60)  # factors of cosines


@dataclass(frozen=True, slots=True)
class Trial:
    """A making, comparison and weight of boxes, and recalls in percent.

    The sum is of all six recalls.
    """

    recipe: str
    against: str
    regions: float
    annotation_1: float
    search_1: float
    recall_sum: float


@dataclass(frozen=True, slots=True)
class BoxMethod:
    """A way to make boxes, and mean falls of cosines with boxes grey.

    `fall` is for the best box. `elsewhere` is for a box of the same size in the farthest corner.
    """

    recipe: str
    against: str
    fall: float
    elsewhere: float


@dataclass(frozen=True, slots=True)
class Tuning:
    """All trials, the chosen one, and the scale for its scores."""

    ways: tuple[BoxMethod, ...]
    tried: tuple[Trial, ...]
    chosen: Trial
    scale: float
    photos: int


@dataclass(frozen=True, slots=True)
class ScoreTerms:
    """Both terms of scores (K, L): whole photos', and the boxes' for λ = 1."""

    whole: Floats
    added: Floats

    def scores(self, regions: float) -> Floats:
        """The scores for a λ, in units of cosines."""
        total: Floats = self.whole + np.float32(regions) * self.added
        return total


def tune(
    loaded: Checkpoint,
    examples: Sequence[Example],
    cost: float,
    progress: Progress,
    device: str,
    recipes: Sequence[str] = (),
) -> tuple[TwoTowerMatcher, Tuning]:
    """Choose the boxes, λ and scale for photos and their sentences.

    Chosen are the boxes whose best one costs the encoder's own score most when it is grey. λ is the
    largest that costs at most `cost` points of the sum of recalls against the best λ, 0 included:
    boxes explain more the more they count. The given recipes are tried, or those of one pass and
    the checkpoint's own. ValueError for a matcher that was not adopted, or was trained since, and
    for a recipe that its encoder lacks.
    """
    refuse_others(loaded)
    matcher: TwoTowerMatcher = loaded.model
    owners = [k for k, example in enumerate(examples) for _ in example.sentences]
    words = embed_words(matcher, examples, progress)
    ways, terms = compare_methods(
        matcher, examples, words, owners, recipes or list_recipes(matcher), progress, device
    )
    tried = [
        measure_trial(way, regions, way_terms.scores(regions), owners)
        for way, way_terms in terms.items()
        for regions in WEIGHTS
    ]
    chosen = choose(ways, tried, cost)
    chosen_terms = terms[chosen.recipe, chosen.against]
    scale = likeliest_scale(chosen_terms.scores(chosen.regions), owners)
    options = {name: getattr(chosen, name) for name in ("recipe", "against", "regions")}
    tuned = replace_options(matcher, options, scale)
    return tuned, Tuning(tuple(ways), tuple(tried), chosen, scale, len(examples))


def compare_methods(
    matcher: TwoTowerMatcher,
    examples: Sequence[Example],
    words: Sequence[Tensor],
    owners: Sequence[int],
    recipes: Sequence[str],
    progress: Progress,
    device: str,
) -> tuple[list[BoxMethod], dict[tuple[str, str], ScoreTerms]]:
    """Make boxes by each recipe, and compare them with others.

    Give the falls of cosines with boxes grey, and both terms of all scores.
    """
    firsts = [owners.index(k) for k in range(min(len(examples), MASKED))]
    terms: dict[tuple[str, str], ScoreTerms] = {}
    ways: list[BoxMethod] = []
    for recipe in recipes:
        candidate = replace_options(matcher, {"recipe": recipe}).to(device)
        boxes, places = embed_boxes(candidate, examples, progress)
        if not ways:
            photos = torch.stack([vectors[0] for vectors in boxes])
            plain = replace_options(matcher, {"recipe": "value"}).to(device)  # it sees photos alone
            masking = Masking(plain, examples, photos, [words[at] for at in firsts], places)
        for against in AGAINST:
            apart = [compute_differences(vectors, against) for vectors in boxes]
            terms[recipe, against] = compute_terms(boxes, apart, words, device, progress)
            falls = masking.falls(progress(apart[: len(firsts)], len(firsts), f"grey, {recipe}"))
            ways.append(BoxMethod(recipe, against, *falls))
    return ways, terms


def list_recipes(matcher: TwoTowerMatcher) -> list[str]:
    """List the recipes of one pass, and the matcher's own."""
    sight: Any = matcher.image.sight
    costly = {"occluded"} - {sight.config.recipe}
    return [recipe for recipe in sight.vision.recipes if recipe not in costly]


def refuse_others(loaded: Checkpoint) -> None:
    """Raise ValueError unless a checkpoint is an adopted encoder with zero maps."""
    refuse_unadopted(getattr(loaded.model, "config", None), loaded.name)
    if any(weight.any() for name, weight in loaded.model.named_parameters() if "up.weight" in name):
        raise ValueError(f"{loaded.name} was trained after its adoption: tune first, then train")


def replace_options(
    matcher: TwoTowerMatcher, image: dict[str, Any], scale: float | None = None
) -> TwoTowerMatcher:
    """Copy an encoder with other tower options, or another scale."""
    scaled = {} if scale is None else {"scale": scale}
    parts = {"image": matcher.config.image, "text": matcher.config.text}
    options = {"image": image | scaled, "text": scaled}
    config = replace(
        matcher.config,
        **{  # type: ignore[arg-type]
            side: replace(part, options=replace(part.options, **options[side]))
            for side, part in parts.items()
        },
    )
    model = TwoTowerMatcher(config).eval()
    state = checkpoint.collect_weights(matcher)
    if scale is not None:
        for name in ("image.log_scale", "text.log_scale"):
            state[name] = torch.tensor(math.log(scale) / 2)
    checkpoint.restore(model, state)
    return model


def embed_words(
    matcher: TwoTowerMatcher, examples: Sequence[Example], progress: Progress
) -> list[Tensor]:
    """Embed the parts of every sentence; they add up to length one."""
    texts = [text for example in examples for text in example.sentences]
    starts = range(0, len(texts), BATCH)
    with torch.inference_mode():
        return [
            parts.cpu()
            for at in progress(starts, len(starts), "sentences")
            for parts in matcher.sentence_inputs(texts[at : at + BATCH])
        ]


def embed_boxes(
    matcher: TwoTowerMatcher, examples: Sequence[Example], progress: Progress
) -> tuple[list[Tensor], list[Tensor]]:
    """Embed every photo and its boxes (R, D), length one; also return boxes (R, 4)."""
    paths = [example.image for example in examples]
    starts = range(0, len(paths), BATCH)
    options: Any = matcher.config.image.options
    vectors, boxes = list[Tensor](), list[Tensor]()
    with torch.inference_mode():
        for at in progress(starts, len(starts), f"photos, {options.recipe}"):
            outputs = matcher.image.sight([read_pixels(path) for path in paths[at : at + BATCH]])
            vectors += [photo_vectors.cpu() for photo_vectors in outputs[0]]
            boxes += [photo_boxes.cpu() for photo_boxes in outputs[1]]
    return vectors, boxes


def compute_differences(vectors: Tensor, against: str) -> Tensor:
    """Compute the differences (R, D) of one photo's boxes from `against`."""
    every = torch.ones(1, len(vectors), dtype=torch.bool)
    return differences(vectors[None], every, against)[0]


def compute_terms(
    boxes: Sequence[Tensor],
    apart: Sequence[Tensor],
    words: Sequence[Tensor],
    device: str,
    progress: Progress,
) -> ScoreTerms:
    """The two terms of all scores."""
    photos = torch.stack([vectors[0] for vectors in boxes])  # (K, D)
    texts = torch.stack([fragments.sum(0) for fragments in words])  # (L, D)
    added = score_matrix(apart, words, "sum_of_max", device, progress)
    return ScoreTerms((photos @ texts.T).numpy(), added)


def measure_trial(
    way: tuple[str, str], regions: float, scores: Floats, owners: Sequence[int]
) -> Trial:
    """The recalls of scores (K, L)."""
    recalls = retrieval(scores, owners)
    firsts = (recalls.annotation.recall_1, recalls.search.recall_1)
    return Trial(*way, regions, *firsts, recalls.recall_sum)


def choose(ways: Sequence[BoxMethod], tried: Sequence[Trial], cost: float) -> Trial:
    """Choose the best way of boxes, and its largest cheap λ.

    >>> ways = [BoxMethod("masked", "photo", 0.1, 0.0), BoxMethod("value", "boxes", 0.2, 0.0)]
    >>> sums = {0.0: 500, 0.1: 499, 0.2: 480}
    >>> tried = [Trial("value", "boxes", weight, 0, 0, total) for weight, total in sums.items()]
    >>> choose(ways, tried, 3.0).regions
    0.1
    """
    best = max(ways, key=lambda way: way.fall - way.elsewhere)
    same_way = [
        trial for trial in tried if (trial.recipe, trial.against) == (best.recipe, best.against)
    ]
    enough = max(trial.recall_sum for trial in same_way) - cost
    return max(
        (trial for trial in same_way if trial.recall_sum >= enough), key=lambda trial: trial.regions
    )


def likeliest_scale(scores: Floats, owners: Sequence[int]) -> float:
    """Find the likeliest factor of scores, by softmax over photos.

    The softmax is over all photos for each sentence, as in contrastive training.
    """
    logits = torch.from_numpy(scores.T)  # (L, K)
    true = torch.tensor(owners)
    losses = [float(F.cross_entropy(float(scale) * logits, true)) for scale in SCALES]
    return float(SCALES[int(np.argmin(losses))])


def store(
    path: Path, loaded: Checkpoint, matcher: TwoTowerMatcher, tuned: Tuning, corpus: str
) -> None:
    """Write the tuned matcher, without a calibration of the old scores."""
    chosen = asdict(tuned.chosen) | {"scale": tuned.scale, "photos": tuned.photos, "data": corpus}
    write(path, loaded.name, matcher, loaded.facts | {"tuned": chosen})
