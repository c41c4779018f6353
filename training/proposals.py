"""Training of proposals, from true boxes to a detector with measured recall."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from models import backbones, checkpoint
from models.backbones import Backbone, squash
from models.proposals import Proposer
from models.proposers import detector
from models.types import Box
from training.cache import Inputs, cached, file_digest
from training.data.corpus import Corpus, Example
from training.data.entities import GroundedSentence
from training.evaluation.embedding import pixels
from training.evaluation.grounding import around
from training.evaluation.proposals import recalls
from training.loop import half_precision
from training.optimization import Descent, Optimizer, Schedule, mean_loss
from training.progress import Progress, silent

Truth = Mapping[str, Sequence[GroundedSentence]]
LARGEST = 0.6  # what covers more of the photo, the whole frame finds
BACKBONE = "lite0"
BATCH = 32  # photos that are looked at in one pass


@dataclass(frozen=True, slots=True)
class Recipe:
    """How proposals are trained; the defaults made the ones that ship."""

    config: Mapping[str, Any] = field(default_factory=dict)  # detector.Config's
    optimizer: Optimizer = field(
        default_factory=lambda: Optimizer(learning_rate=1.5e-3, weight_decay=0.05)
    )
    schedule: Schedule = field(
        default_factory=lambda: Schedule(5, batch=16, clip=5.0, average=0.99, precision="bfloat16")
    )


@dataclass(frozen=True, slots=True)
class Lessons:
    """Photos' maps as `Maps.keep` folds them, and the boxes (N, 4) of what is in each."""

    maps: Sequence[Tensor]
    boxes: Sequence[Tensor]

    def __len__(self) -> int:
        return len(self.boxes)


def train(
    corpus: Corpus,
    truth: Truth,
    file: Path,
    cache: Path,
    recipe: Recipe,
    *,
    seed: int = 0,
    device: str = "cpu",
    progress: Progress = silent,
    report: Callable[[str], object] = str,
) -> dict[int, float]:
    """Train on split train and write the checkpoint to `file`; its recalls on split val.

    The averaged weights of the last epoch are kept: val chooses nothing. `cache` keeps the frozen
    CNN's maps, `report` is told each epoch's loss.
    """
    torch.manual_seed(seed)
    model = detector.Model(detector.Config(**recipe.config)).to(device)
    maps = Maps(model.config, backbones.load(BACKBONE).requires_grad_(False).to(device), device)
    examples, validated = corpus.split("train"), corpus.split("val")
    lessons = Lessons(
        maps.of(examples, cache, progress),
        [things(truth.get(one.image.name, ())) for one in examples],
    )
    trainer = Trainer(model, maps, recipe, lessons, device)
    for epoch in range(1, recipe.schedule.epochs + 1):
        report(f"epoch {epoch:3}  loss {trainer.epoch(progress):.3f}")
    trainer.descent.average.settle()
    model.eval()
    found = recalled(model, maps, validated, truth, cache, progress)
    facts = {"seed": seed, "data": {"name": corpus.name, "digest": corpus.digest()}}
    facts |= {"recipe": asdict(recipe), "backbone": BACKBONE, "validation": {"recalls": found}}
    checkpoint.save(file, "proposers", "detector", model, facts)
    return found


def evaluate(
    model: detector.Model,
    examples: Sequence[Example],
    truth: Truth,
    cache: Path,
    progress: Progress = silent,
    device: str = "cpu",
) -> dict[int, float]:
    """The recalls of a trained detector on a split's phrases."""
    backbone = backbones.load(BACKBONE).requires_grad_(False).to(device)
    return recalled(model, Maps(model.config, backbone, device), examples, truth, cache, progress)


def recalled(
    model: detector.Model,
    maps: Maps,
    examples: Sequence[Example],
    truth: Truth,
    cache: Path,
    progress: Progress,
) -> dict[int, float]:
    """Percent of phrases whose box is among a photo's first N proposals, for each N."""
    seen = maps.of(examples, cache, progress)
    spoken = [phrase_boxes(truth.get(one.image.name, ())) for one in examples]
    return recalls(proposed(model, maps, seen, progress), spoken)


def things(sentences: Iterable[GroundedSentence]) -> Tensor:
    """The distinct boxes (N, 4) that a photo's sentences speak of, one by one and together.

    "Two dogs" has a box for each dog and one around both: phrases are looked for as the latter.
    """
    boxes = {
        box
        for one in sentences
        for phrase in one.phrases
        for box in (*phrase.boxes, around(phrase.boxes))
        if box.area < LARGEST
    }
    return corners(sorted(boxes, key=lambda box: (box.left, box.top, box.right, box.bottom)))


def phrase_boxes(sentences: Iterable[GroundedSentence]) -> Tensor:
    """The box around what each phrase speaks of, (P, 4), a row a phrase."""
    return corners([around(phrase.boxes) for one in sentences for phrase in one.phrases])


def corners(boxes: Sequence[Box]) -> Tensor:
    """Boxes as rows (N, 4)."""
    edges = [(box.left, box.top, box.right, box.bottom) for box in boxes]
    return torch.tensor(edges, dtype=torch.float32).view(-1, 4)


@dataclass(frozen=True, slots=True)
class Maps:
    """The frozen backbone's maps, kept as one tensor a photo: four fine cells beside a coarse."""

    config: detector.Config
    backbone: Backbone
    device: str

    def of(self, examples: Sequence[Example], folder: Path, progress: Progress) -> Inputs:
        """The folded maps (h · w, 4 C_fine + C_coarse) of photos, cached or computed."""
        return cached(
            folder / "images",
            f"bfloat16 {BACKBONE} pyramid {self.config.size}",
            [example.image for example in examples],
            [file_digest(example.image) for example in examples],
            self.computed,
            progress,
            "photos",
        )

    def computed(self, paths: Sequence[Path]) -> list[Tensor]:
        """The folded maps of some photos."""
        photos = squash([pixels(path) for path in paths], self.config.size).to(self.device)
        with half_precision(self.device, "bfloat16"):
            fine, coarse = self.backbone.pyramid(photos)[-2:]
        folded = torch.cat([F.pixel_unshuffle(fine.float(), 2), coarse.float()], dim=1)
        return list(folded.flatten(2).transpose(1, 2))  # (h · w, C) each

    def unfolded(self, kept: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Fine and coarse maps (K, C_fine, 2h, 2w), (K, C_coarse, h, w) of folded ones."""
        cells = self.config.size // detector.STRIDE
        folded = torch.stack(list(kept)).to(self.device).transpose(1, 2)  # (K, C, h · w)
        folded = folded.reshape(*folded.shape[:2], cells, cells)
        cut = 4 * self.config.fine
        return F.pixel_shuffle(folded[:, :cut], 2), folded[:, cut:]


@torch.inference_mode()
def proposed(
    proposer: Proposer, maps: Maps, kept: Sequence[Tensor], progress: Progress = silent
) -> list[Tensor]:
    """The boxes (R, 4) that a proposer sees in each of some photos' kept maps."""
    starts = range(0, len(kept), BATCH)
    return [
        boxes
        for at in progress(starts, len(starts), "proposals")
        for boxes in proposer.propose((), maps.unfolded(kept[at : at + BATCH])).cpu()
    ]


class Trainer:
    """A detector in training: its weights, their optimizer and average."""

    def __init__(
        self, model: detector.Model, maps: Maps, recipe: Recipe, lessons: Lessons, device: str
    ) -> None:
        self.model, self.maps, self.recipe = model, maps, recipe
        self.lessons, self.device = lessons, device
        steps = -(-len(lessons) // recipe.schedule.batch)
        self.descent = Descent(model, recipe.optimizer, recipe.schedule, steps)

    def epoch(self, progress: Progress = silent) -> float:
        """Learn every photo once, in a new order; the mean loss of a step."""
        self.model.train()
        return mean_loss(len(self.lessons), self.recipe.schedule.batch, self.step, progress)

    def step(self, batch: Sequence[int]) -> float:
        """Learn some photos, each as it is or mirrored; the loss."""
        mirror = torch.rand(len(batch)) < 0.5
        maps = self.maps.unfolded([self.lessons.maps[one] for one in batch])
        seen = [
            torch.where(mirror.to(one.device)[:, None, None, None], one.flip(3), one)
            for one in maps
        ]
        truth = [
            (mirrored(self.lessons.boxes[one]) if turned else self.lessons.boxes[one]).to(
                self.device
            )
            for one, turned in zip(batch, mirror.tolist(), strict=True)
        ]
        with half_precision(self.device, self.recipe.schedule.precision):
            loss = self.model.loss(seen, truth)
        return self.descent.step(loss)


def mirrored(boxes: Tensor) -> Tensor:
    """Boxes (N, 4) of a photo seen in a mirror."""
    left, top, right, bottom = boxes.unbind(dim=1)
    return torch.stack([1 - right, top, 1 - left, bottom], dim=1)
