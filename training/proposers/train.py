"""Training of proposals, from true boxes to a detector with measured recall."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from models.proposers import detector
from models.vision import backbones
from models.vision.backbones import Backbone, squash
from models.vision.proposals import Proposer
from training.data.corpus import Corpus, Example
from training.data.digests import file_digest
from training.data.entities import (
    GroundedSentence,
    GroundTruth,
    corners,
    digest_truth,
    enclose,
    phrase_boxes,
)
from training.evaluation.embedding import read_pixels
from training.evaluation.proposals import recalls
from training.proposers.preset import ProposerPreset
from training.runs.cache import Inputs, load_or_compute
from training.runs.folder import SILENT, Reporter, RunFolder, RunPlace, fit
from training.runs.loop import Trainer, TrainingTask, ValidationResult, shuffle
from training.runs.precision import half_precision
from training.runs.progress import Progress, silent

LARGEST = 0.6  # of the photo; larger things are left to the whole frame
BACKBONE = "lite0"
BATCH = 32  # photos in one pass


@dataclass(frozen=True, slots=True)
class BoxBatch:
    """K photos' fine and coarse maps, and their boxes (N, 4)."""

    maps: Sequence[Tensor]
    boxes: Sequence[Tensor]


@dataclass(frozen=True, slots=True)
class BoxDataset:
    """Photos' folded maps, and their boxes (N, 4)."""

    maps: Maps
    folded: Sequence[Tensor]
    boxes: Sequence[Tensor]
    size: int  # photos in a batch

    @property
    def steps(self) -> int:
        """The number of batches of an epoch."""
        return -(-len(self.boxes) // self.size)

    def batches(self, epoch: int) -> Iterable[BoxBatch]:  # noqa: ARG002 - the order is drawn
        """Every photo once, in a new order."""
        return map(self.batch, shuffle(len(self.boxes), self.size))

    def batch(self, positions: Sequence[int]) -> BoxBatch:
        """Some photos, each as it is or mirrored."""
        flipped = torch.rand(len(positions)) < 0.5
        maps = [
            torch.where(
                flipped.to(feature_map.device)[:, None, None, None],
                feature_map.flip(3),
                feature_map,
            )
            for feature_map in self.maps.unfold([self.folded[position] for position in positions])
        ]
        chosen = [self.boxes[position] for position in positions]
        turned = zip(chosen, flipped.tolist(), strict=True)
        boxes = [mirror(boxes) if flip else boxes for boxes, flip in turned]
        return BoxBatch(maps, [photo_boxes.to(self.maps.device) for photo_boxes in boxes])


def train(
    corpus: Corpus,
    truth: GroundTruth,
    place: RunPlace,
    preset: ProposerPreset,
    *,
    resume: bool = False,
    reporter: Reporter = SILENT,
) -> dict[int, float]:
    """Train on split train, write the checkpoint to `place.out`, recall on val.

    The averaged weights of the last epoch are stored: val chooses nothing. The run's folder is next
    to the checkpoint. ValueError if it holds a run that is not to be resumed, or of other options.
    """
    facts = {"recipe": asdict(preset), "backbone": BACKBONE, "boxes": digest_truth(truth)}
    folder = RunFolder.of("proposers", "detector", corpus, place, facts)
    folder.claim(resume)
    torch.manual_seed(place.seed)
    device = place.device
    model = detector.Model(detector.Config(**preset.config)).to(device)
    maps = Maps(model.config, backbones.load(BACKBONE).requires_grad_(False).to(device), device)
    examples, val_examples = corpus.split("train"), corpus.split("val")
    dataset = BoxDataset(
        maps,
        maps.of(examples, place.cache, reporter.progress),
        [list_boxes(truth.get(example.image.name, ())) for example in examples],
        preset.schedule.batch,
    )

    def validate() -> ValidationResult:
        model.eval()
        recalls = measure_recalls(model, maps, val_examples, truth, place.cache, reporter.progress)
        return ValidationResult({"recalls": recalls})

    objective = partial(compute_loss, model, device, preset.schedule.precision)
    part = TrainingTask(model, dataset, objective, validate, once=True)
    trainer = Trainer(part, preset.optimizer, preset.schedule, device)
    recalls: dict[int, float] = fit(trainer, folder, reporter, resume=resume)["recalls"]
    return recalls


def compute_loss(
    model: detector.Model,
    device: str,
    precision: str,
    batch: BoxBatch,
    epoch: int,  # noqa: ARG001 - every epoch has the same loss
) -> Tensor:
    """The detector's loss of a batch, a scalar."""
    with half_precision(device, precision):
        return model.loss(batch.maps, batch.boxes)


def evaluate(
    model: detector.Model,
    examples: Sequence[Example],
    truth: GroundTruth,
    cache: Path,
    progress: Progress = silent,
    device: str = "cpu",
) -> dict[int, float]:
    """The recalls of a trained detector on a split's phrases."""
    backbone = backbones.load(BACKBONE).requires_grad_(False).to(device)
    return measure_recalls(
        model, Maps(model.config, backbone, device), examples, truth, cache, progress
    )


def measure_recalls(
    model: detector.Model,
    maps: Maps,
    examples: Sequence[Example],
    truth: GroundTruth,
    cache: Path,
    progress: Progress,
) -> dict[int, float]:
    """Measure percents of phrases with a box among N proposals."""
    folded = maps.of(examples, cache, progress)
    boxes = [phrase_boxes(truth.get(example.image.name, ())) for example in examples]
    return recalls(propose(model, maps, folded, progress), boxes)


def list_boxes(sentences: Iterable[GroundedSentence]) -> Tensor:
    """List the distinct boxes (N, 4) of a photo's phrases, single and together.

    "Two dogs" has a box for each dog and one around both, which is the phrase's.
    """
    boxes = {
        box
        for sentence in sentences
        for phrase in sentence.phrases
        for box in (*phrase.boxes, enclose(phrase.boxes))
        if box.area < LARGEST
    }
    return corners(sorted(boxes, key=lambda box: (box.left, box.top, box.right, box.bottom)))


@dataclass(frozen=True, slots=True)
class Maps:
    """The frozen backbone's maps, one tensor a photo.

    It has four fine cells, one coarse.
    """

    config: detector.Config
    backbone: Backbone
    device: str

    def of(self, examples: Sequence[Example], folder: Path, progress: Progress) -> Inputs:
        """Return the folded maps (h · w, 4 C_fine + C_coarse), through the cache."""
        return load_or_compute(
            folder / "images",
            f"bfloat16 {BACKBONE} pyramid {self.config.size}",
            [example.image for example in examples],
            [file_digest(example.image) for example in examples],
            self.compute,
            progress,
            "features of photos",
        )

    def compute(self, paths: Sequence[Path]) -> list[Tensor]:
        """The folded maps of some photos."""
        photos = squash([read_pixels(path) for path in paths], self.config.size, self.device)
        with half_precision(self.device, "bfloat16"):
            fine, coarse = self.backbone.pyramid(photos)[-2:]
        folded = torch.cat([F.pixel_unshuffle(fine.float(), 2), coarse.float()], dim=1)
        return list(folded.flatten(2).transpose(1, 2))  # (h · w, C) each

    def unfold(self, stored: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Unfold maps to fine (K, C_fine, 2h, 2w) and coarse (K, C_coarse, h, w)."""
        cells = self.config.size // detector.STRIDE
        folded = torch.stack(list(stored)).to(self.device).transpose(1, 2)  # (K, C, h · w)
        folded = folded.reshape(*folded.shape[:2], cells, cells)
        cut = 4 * self.config.fine
        return F.pixel_shuffle(folded[:, :cut], 2), folded[:, cut:]


@torch.inference_mode()
def propose(
    proposer: Proposer, maps: Maps, folded: Sequence[Tensor], progress: Progress = silent
) -> list[Tensor]:
    """Propose boxes (R, 4) for each of some photos' folded maps."""
    starts = range(0, len(folded), BATCH)
    return [
        boxes
        for at in progress(starts, len(starts), "proposals")
        for boxes in proposer.propose((), maps.unfold(folded[at : at + BATCH])).cpu()
    ]


def mirror(boxes: Tensor) -> Tensor:
    """Boxes (N, 4) of a photo seen in a mirror."""
    left, top, right, bottom = boxes.unbind(dim=1)
    return torch.stack([1 - right, top, 1 - left, bottom], dim=1)
