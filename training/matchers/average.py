"""Average weights of trainings of several seeds, drawn back towards their start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from models import checkpoint, registry
from models.checkpoint import Checkpoint, collect_prefixes
from models.image_towers.regions_in_context import Model as Contextual
from models.matcher import Config, TwoTowerMatcher
from models.text_towers.minilm import Model as MiniLM
from training.data.corpus import Corpus
from training.evaluation.retrieval import Retrieval
from training.matchers.frozen import FrozenInputs
from training.matchers.matching import Pairs, encode_all, refer, validate
from training.runs.folder import RunPlace
from training.runs.progress import Progress

# The weights whose outputs are in the joint space.
MAPS = (
    "image.photo.weight",
    "image.photo.bias",
    "image.names.project.weight",
    "image.regions.project.weight",
    "image.regions.project.bias",
    "text.project.weight",
)
AT_RANDOM = "none"
MADE_ANEW = ("image.conse.", "text.conse.", "offsets.")  # by `begin` and `refer`


@dataclass(frozen=True, slots=True)
class VectorSizes:
    """Sizes of the averaged vectors, and their offsets.

    None keeps the size, see `reduce_vectors`; `conse` is models.vision.conse's. `references`,
    `reference_sentences` and `offset_weights` are those of models.matcher.Config.
    """

    embedding: int | None = None
    conse: int | None = None
    references: int | None = None
    reference_sentences: int | None = None
    offset_weights: tuple[float, float] | None = None

    @property
    def offsets(self) -> dict[str, Any]:
        """The given options of offsets."""
        names = ("references", "reference_sentences", "offset_weights")
        options = {name: getattr(self, name) for name in names}
        return {name: option for name, option in options.items() if option is not None}

    @property
    def reduces(self) -> bool:
        """Whether the size of the joint space or of names is given."""
        return self.embedding is not None or self.conse is not None


AS_TRAINED = VectorSizes()


def write(
    files: Sequence[Path],
    corpus: Corpus,
    start: float,
    place: RunPlace,
    progress: Progress,
    shape: VectorSizes = AS_TRAINED,
) -> Retrieval:
    """Write the average of checkpoints to `place.out`, and validate it.

    ValueError unless all are matchers of the same options that began alike, and for sizes that they
    cannot have.
    """
    loaded = [checkpoint.load(file, place.device) for file in files]
    refuse_other_kinds(loaded)
    if start:
        refuse_other_starts(loaded)
    models = require_alike(loaded)
    require_common_start(loaded)
    matcher = average(models, start)
    precision = loaded[0].facts["preset"]["schedule"]["precision"]
    frozen = FrozenInputs(matcher, place, precision, progress)
    pairs = frozen.pairs(corpus.split("train"), "train")
    if shape.offsets:
        matcher = set_references(matcher, **shape.offsets)
    if shape.reduces:
        matcher = reduce_vectors(matcher, shape, pairs, place.device)
    refer(matcher, pairs, place.device)
    validation = validate(matcher, frozen.pairs(corpus.split("val"), "val"), place.device)
    facts = gather_facts(loaded, start, shape) | {"validation": asdict(validation)}
    facts |= {"references": corpus.name} if shape.offsets else {}
    checkpoint.save(place.out, registry.MATCHERS, loaded[0].name, matcher, facts)
    return validation


def refuse_other_kinds(loaded: Sequence[Checkpoint]) -> None:
    """Raise ValueError for checkpoints of other models than matchers."""
    for run in loaded:
        if run.kind != registry.MATCHERS:
            raise ValueError(
                f"{run.name} {run.fingerprint} is one of the {run.kind}: give matchers alone"
            )


def require_alike(loaded: Sequence[Checkpoint]) -> list[TwoTowerMatcher]:
    """Return the matchers of checkpoints; ValueError unless options and backbones agree.

    Tuned backbones may differ: they are averaged, too.
    """
    first = loaded[0].model
    for run in loaded:
        same_options = run.model.config == first.config
        if not same_options or not (first.tuned or run.model.image_key() == first.image_key()):
            raise ValueError(
                f"{run.name} {run.fingerprint} is no matcher with the options, networks and "
                f"proposals of {loaded[0].name} {loaded[0].fingerprint}: average runs of one "
                "preset and data"
            )
        if "preset" not in run.facts:
            raise ValueError(
                f"{run.name} {run.fingerprint} was not trained: average runs of `tessera train`"
            )
    return [run.model for run in loaded]


def require_common_start(loaded: Sequence[Checkpoint]) -> None:
    """Raise ValueError for matchers with different starting weights.

    The mean of such finds nothing. Without a checkpoint that all began with, a text tower or an
    image tower with pretrained layers keeps their spaces alike.
    """
    starts = {find_start(run) for run in loaded}
    if len(starts) > 1:
        raise ValueError(
            f"these matchers began with different checkpoints ({', '.join(sorted(starts))}), and "
            "their mean finds nothing: average trainings that began alike"
        )
    pretrained = collect_prefixes(loaded[0].model, "known_start")
    if len(loaded) > 1 and starts == {AT_RANDOM} and not pretrained:
        raise ValueError(
            f"{loaded[0].name} begins at random weights, other ones with each seed, and the mean "
            "of such finds nothing: train all with the same --start, and average those"
        )


def find_start(run: Checkpoint) -> str:
    """Find the fingerprints of a training's starting checkpoints."""
    began_with = run.facts.get("began_with") or [run.facts.get("start")]
    return " + ".join(start for start in began_with if isinstance(start, str)) or AT_RANDOM


def refuse_other_starts(loaded: Sequence[Checkpoint]) -> None:
    """Raise ValueError for matchers with another start or shape than pretrained weights."""
    for run in loaded:
        shape = VectorSizes(**run.facts.get("shape", {}))
        if run.facts.get("start") or run.facts.get("began_with") or shape.reduces:
            raise ValueError(
                f"{run.name} {run.fingerprint} began with another checkpoint, or has another shape "
                "than it was trained in: it cannot be drawn back to the pretrained weights, leave "
                "--start out"
            )


@torch.no_grad()
def average(models: Sequence[TwoTowerMatcher], start: float) -> TwoTowerMatcher:
    """θ = (1 − α) mean_i θ_i + α θ_0.

    The second part is for weights with a known start θ_0.

    Model soups (Wortsman et al. 2022) and, with α = `start`, the line back to the pretrained
    weights (WiSE-FT, Wortsman et al. 2022). Weights that begin at random have no θ_0. The caller
    measures reference photos again.
    """
    mean = deepcopy(models[0])
    untrained = TwoTowerMatcher(mean.config).to(mean.device)
    untrained.begin()
    initial, pretrained = dict(untrained.named_parameters()), collect_prefixes(mean, "known_start")
    trained = [dict(model.named_parameters()) for model in models]
    for name, weight in mean.named_parameters():
        if weight.requires_grad:
            weight.copy_(torch.stack([weights[name] for weights in trained]).mean(0))
            if name.startswith(pretrained):
                weight.lerp_(initial[name], start)
    return mean.eval()


@torch.no_grad()
def reduce_vectors(
    matcher: TwoTowerMatcher, shape: VectorSizes, pairs: Pairs, device: str = "cpu"
) -> TwoTowerMatcher:
    """Project a matcher's vectors by R^T, and set the size of its names.

    R has orthonormal columns: the directions that whole photos and sentences of `pairs` fill most,
    with equal weights of both sides. Projected photos and sentences are scaled to their length.
    """
    image, text = (tower.config for tower in (matcher.image, matcher.text))
    if not (isinstance(matcher.image, Contextual) and isinstance(matcher.text, MiniLM)):
        raise ValueError(
            f"towers {matcher.config.towers} cannot be given another shape: regions_in_context and "
            "minilm can"
        )
    D = image.embedding if shape.embedding is None else shape.embedding
    if not 0 < D <= image.embedding:
        raise ValueError(f"embedding is {D}: give 1 to {image.embedding}, as many as trained")
    sides = (
        torch.stack([bag[0] for bag in encode_all(matcher.encode_images, pairs.images, device)]),
        torch.stack(
            [bag.sum(0) for bag in encode_all(matcher.encode_sentences, pairs.sentences, device)]
        ),
    )
    gram = torch.zeros(image.embedding, image.embedding)
    for side in sides:
        joint = side[:, : image.embedding].float().cpu()
        gram += joint.T @ joint / joint.square().sum()
    filled = torch.linalg.eigh(gram).eigenvectors.flip(1)[:, :D].to(device)  # (D_before, D)
    options = {"embedding": D, "conse": image.conse if shape.conse is None else shape.conse}
    config = replace(
        matcher.config,
        image=replace(matcher.config.image, options=replace(image, **options)),
        text=replace(matcher.config.text, options=replace(text, **options)),
    )
    weights = {
        name: filled.T @ value if name in MAPS else value
        for name, value in matcher.state_dict().items()
        if not name.startswith(MADE_ANEW)
    }
    return build_with_weights(config, weights, matcher.device)


def set_references(matcher: TwoTowerMatcher, **options: Any) -> TwoTowerMatcher:
    """Copy a matcher with other options of its offsets."""
    config = replace(matcher.config, **options)
    weights = {
        name: value
        for name, value in matcher.state_dict().items()
        if not name.startswith("offsets.")
    }
    return build_with_weights(config, weights, matcher.device)


def build_with_weights(
    config: Config, weights: Mapping[str, Tensor], device: torch.device
) -> TwoTowerMatcher:
    """Build a matcher with some given weights, and the others from `begin`."""
    model = TwoTowerMatcher(config).to(device)
    model.begin()
    model.load_state_dict(model.state_dict() | dict(weights))
    return model.eval()


def gather_facts(
    loaded: Sequence[Checkpoint], start: float, shape: VectorSizes = AS_TRAINED
) -> dict[str, Any]:
    """Gather the facts of an averaged checkpoint: its parts', and all seeds.

    The shape that its parts had stays where none is given.
    """
    sizes = {name: size for name, size in asdict(shape).items() if size is not None}
    shaped = loaded[0].facts.get("shape", {}) | sizes
    shared = ("preset", "data", "versions", "blended")
    common = {name: loaded[0].facts[name] for name in shared if name in loaded[0].facts}
    starts = [run.facts.get("start") for run in loaded]  # fingerprints, or an average's share
    began_with = [start for start in starts if isinstance(start, str)]
    began_with += [start for run in loaded for start in run.facts.get("began_with", [])]
    return (
        common
        | ({"began_with": began_with} if began_with else {})
        | ({"shape": shaped} if shaped else {})
        | {
            "seed": " + ".join(str(run.facts["seed"]) for run in loaded),
            "averaged": [run.fingerprint for run in loaded],
            "start": start
            or max((share for share in starts if isinstance(share, float)), default=0.0),
        }
    )
