"""Adoption of pretrained dual encoders, by a small checkpoint.

It names a folder of weights.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from models import checkpoint, header, registry
from models.encoders.halves import TextHalf
from models.encoders.source import LATE, EncoderSource, family, files_of, layout
from models.matcher import Config, TowerOptions, TwoTowerMatcher
from models.rooms import PREFIX
from models.vision.proposals import REGIONS
from training.encoders import licences
from training.encoders.hub import EncoderWeights
from training.matchers.preset_conflicts import ADOPTED

TRIED = ["a photo of a dog", "Sphinx of black quartz, judge my vow; 1234567890"]
SIDE = 64  # pixels of the photo that is tried
WHERE = (
    "folder",
    "revision",
)  # options for the place of weights, which do not count in a fingerprint
RECIPE = "rollout"  # has the most right boxes of those of one pass (decision 0061)
NAMED = {
    "clip": "CLIP",
    "siglip": "SigLIP",
    "siglip2_naflex": "SigLIP 2 NaFlex",
    "tipsv2": "TIPSv2",
    "colmodernvbert": "ColModernVBERT",
    "colpali": "ColPali",
    "colqwen2": "ColQwen2",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """Options of a model on a source of weights; see models.image_towers.pretrained.

    Without a recipe, the best recipe of one pass is taken. `pool` is of retrievers,
    see models.image_towers.late_interaction.
    """

    regions: float = 0.2
    recipe: str | None = None
    against: str = "boxes"
    proposals: str = "windows"
    precision: str = "float32"
    pool: int = 1

    def refuse_boxes(self) -> None:
        """ValueError for options of boxes: patches are a retriever's own."""
        if Choice(precision=self.precision, pool=self.pool) != self:
            raise ValueError(
                "a retriever has its own vectors of patches: use --pool, and leave --lambda, "
                "--recipe, --against and --proposals out"
            )

    def refuse_pooling(self) -> None:
        """ValueError for pooling: a dual encoder has one vector a box."""
        if self.pool != 1:
            raise ValueError("--pool is for retrievers of many vectors, such as ColPali")


@dataclass(frozen=True, slots=True)
class Adopted:
    """A written checkpoint, and facts to print about it."""

    path: Path
    fingerprint: str
    about: tuple[str, ...]


def check_licence(folder: Path, name: str) -> licences.Licence:
    """Return the licence of a folder; ValueError unless adoptable.

    Errors are those of models.encoders.source.
    """
    files_of(folder)
    return licences.find_licence(folder, name)


def adopt(
    folder: Path, out: Path, choice: Choice, licence: str, name: str, revision: str = ""
) -> Adopted:
    """Write a checkpoint of a folder's weights, or update one.

    An old checkpoint keeps its tuned options, trained maps, calibration and fingerprint. ValueError
    if it is of other weights.
    """
    source = EncoderSource.of(folder, revision)
    if out.exists():
        return relocate(out, source, choice.recipe)
    with torch.random.fork_rng([]):
        torch.manual_seed(0)  # the maps that training adds begin alike wherever a folder is adopted
        model = TwoTowerMatcher(make_config(source, choice)).eval()
    try_out(model, folder)
    facts = {"data": {"name": f"{name_family(folder)}, pretrained"}, "licence": licence}
    write(out, name, model, facts)
    return Adopted(out, header.fingerprint(out), describe(model, licence))


@torch.inference_mode()
def try_out(model: TwoTowerMatcher, folder: Path) -> None:
    """Embed a text and a photo; ValueError unless their vectors are numbers.

    Also for a tokenizer with more tokens than the encoder has vectors for.
    """
    for part in model.modules():
        if isinstance(part, TextHalf) and (missing := part.find_unknown_token()):
            raise ValueError(
                f"the tokenizer in {folder} is of another model: the encoder has no vector for its "
                f"token {missing!r}"
            )
    grey = torch.full((3, SIDE, SIDE), 128, dtype=torch.uint8)
    try:
        bags = [*model.embed_sentences(TRIED), *model.embed_images([grey])]
    except (RuntimeError, IndexError) as failed:
        raise ValueError(
            f"the encoder in {folder} cannot embed a text and a photo; its weights, tokenizer and "
            f"image processor are not of one model: {failed}"
        ) from failed
    if not all(bag.vectors.isfinite().all() for bag in bags):
        raise ValueError(f"the encoder in {folder} gives vectors that are no numbers")


def name_checkpoint(weights: EncoderWeights, out: Path | None) -> Path:
    """Name the checkpoint of some weights.

    In a folder its name changes with the weights, so it never meets those of others.
    """
    if out is None or not out.is_dir():
        return out or Path(f"{weights.name}.safetensors")
    files = json.dumps(EncoderSource.of(weights.folder).key)
    return out / f"{weights.name}-{hashlib.sha256(files.encode()).hexdigest()[:8]}.safetensors"


def make_config(source: EncoderSource, choice: Choice) -> Config:
    """The matcher of a source, with the encoder's own scale of scores."""
    name = family(Path(source.folder))
    if name == LATE:
        return make_retriever(source, choice)
    choice.refuse_pooling()
    module = importlib.import_module(f"{PREFIX}models.encoders.{name}")
    shared = {**asdict(source), "scale": module.scale(Path(source.folder))}
    text = {**shared, "precision": choice.precision}
    recipe = choice.recipe or RECIPE
    return Config(
        image=TowerOptions.of(
            "image_towers", ADOPTED, {**shared, **boxes_of(choice), "recipe": recipe}
        ),
        text=TowerOptions.of("text_towers", ADOPTED, text),
    )


def boxes_of(choice: Choice) -> dict[str, Any]:
    """The options of a dual encoder's image tower."""
    return {name: value for name, value in asdict(choice).items() if name != "pool"}


def make_retriever(source: EncoderSource, choice: Choice) -> Config:
    """The matcher of a retriever's source: its own vectors and MaxSim."""
    choice.refuse_boxes()
    shared = {**asdict(source), "precision": choice.precision}
    return Config(
        image=TowerOptions.of("image_towers", LATE, {**shared, "pool": choice.pool}),
        text=TowerOptions.of("text_towers", LATE, shared),
        score="max_sim",
    )


def name_family(folder: Path) -> str:
    """The name of a folder's family, as people write it."""
    module = family(folder)
    return NAMED[str(layout(folder).config()["model_type"]) if module == LATE else module]


def write(path: Path, name: str, model: TwoTowerMatcher, facts: dict[str, Any]) -> None:
    """Save a matcher with a fingerprint of its weights.

    It does not depend on their folder.
    """
    state = checkpoint.collect_weights(model)
    mark = fingerprint(asdict(model.config), state)
    checkpoint.save(path, registry.MATCHERS, name, model, facts, mark)


def fingerprint(config: Mapping[str, Any], state: Mapping[str, Tensor]) -> str:
    """Sixteen hexadecimal digits of the SHA-256 of options and trained weights."""
    total = hashlib.sha256(json.dumps(drop_places(config), sort_keys=True).encode())
    for name, tensor in sorted(state.items()):
        total.update(name.encode())
        total.update(tensor.float().numpy().tobytes())
    return total.hexdigest()[:16]


def drop_places(config: Any) -> Any:
    """Drop the options for the place of weights."""
    if not isinstance(config, Mapping):
        return config
    return {key: drop_places(value) for key, value in config.items() if key not in WHERE}


def relocate(out: Path, source: EncoderSource, recipe: str | None = None) -> Adopted:
    """Write the weights' new folder into a checkpoint.

    ValueError for other weights, or another recipe than the checkpoint's.
    """
    state, metadata = checkpoint.read(out)
    parts = [metadata["config"].get(side, {}) for side in ("image", "text")]
    files = [list(file) for file in source.files]
    if any(
        part.get("name") not in (ADOPTED, LATE) or part["options"]["files"] != files
        for part in parts
    ):
        raise ValueError(f"{out} exists and is of other weights; choose another --out")
    stored = parts[0]["options"].get("recipe")
    if recipe not in (None, stored):
        raise ValueError(
            f"{out} exists with the recipe {stored!r}, which it keeps with its calibration: for "
            f"{recipe!r} choose another --out"
        )
    for part in parts:
        part["options"] |= {"folder": source.folder, "revision": source.revision}
    checkpoint.write(out, state, metadata | {"fingerprint": header.fingerprint(out)})
    message = f"{out} is of these weights already: it keeps what it has, and finds them here now"
    return Adopted(out, header.fingerprint(out), (message,))


def describe(model: TwoTowerMatcher, licence: str) -> tuple[str, ...]:
    """Describe an adopted model: licence, sizes, and the explanation of a score."""
    if model.score == "max_sim":
        return describe_retriever(model, licence)
    options: Any = model.config.image.options
    stored = 2 * model.dimension * REGIONS
    has_remainder = family(Path(options.folder)) != "tipsv2"
    remainder = (
        "; what no word gave (marks of start and end, padding, biases) is a fragment of its own"
    )
    return (
        *describe_weights(model, licence),
        f"{model.dimension} numbers a fragment, about {stored / 1000:,.0f} KB a photo in the index",
        "exact: the links of a hit add up to its score, and with --lambda 0 that is the encoder's "
        f"own; words' parts add up to its vector of the text{remainder if has_remainder else ''}",
        f"a heuristic: vectors of boxes ({options.recipe}, against the {options.against}), "
        f"which count λ = {options.regions:g}; `tessera tune` measures them on photos of your own",
    )


def describe_retriever(model: TwoTowerMatcher, licence: str) -> tuple[str, ...]:
    """Describe an adopted retriever: licence, sizes, and the explanation of a score."""
    pooled: int = model.config.image.options.pool
    part = f", {pooled} patches a vector" if pooled > 1 else ""
    return (
        *describe_weights(model, licence),
        f"{model.dimension} numbers a token, {2 * model.dimension} bytes in the index{part}",
        "exact: the links of a hit add up to its score, the retriever's own MaxSim"
        + (" over pooled patches" if pooled > 1 else ""),
    )


def describe_weights(model: TwoTowerMatcher, licence: str) -> tuple[str, str]:
    """Describe the licence, and the weights in memory."""
    weights = list(model.parameters())
    numbers = sum(weight.numel() for weight in weights)
    memory = sum(weight.numel() * weight.element_size() for weight in weights)
    return (
        f"licence: {licence or 'not said'}",
        f"{numbers / 1e6:,.0f} million weights, {memory / 1e6:,.0f} MB in memory",
    )
