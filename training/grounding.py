"""Training of a grounder, with true boxes or without."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision.ops import box_iou

from models import checkpoint
from models.grounders import two_branch
from training.cache import cached, digest, file_digest
from training.data.corpus import Corpus, Example
from training.data.entities import GroundedSentence
from training.evaluation.embedding import pixels
from training.evaluation.localisation import Localisation, Localised, localisation
from training.loop import half_precision
from training.optimization import Descent, Optimizer, Schedule, mean_loss
from training.progress import Progress, silent
from training.proposals import Truth, phrase_boxes

RIGHT = 0.5  # IoU from which a proposal is what a phrase means
PHRASES = 6  # of each photo in a step


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a grounder is trained. With `boxes`, it is told which box each phrase means.

    margin and top are m and K of eq. 5, mined the last epochs with hard negatives, mining their
    weight. Without boxes, `temperature` is how sharply a phrase chooses among a photo's regions.
    """

    boxes: bool = True
    config: Mapping[str, Any] = field(default_factory=dict)  # two_branch.Config's
    optimizer: Optimizer = field(
        default_factory=lambda: Optimizer(learning_rate=1e-3, weight_decay=0.05)
    )
    schedule: Schedule = field(
        default_factory=lambda: Schedule(6, batch=100, warmup=0.1, precision="bfloat16")
    )
    margin: float = 0.1
    top: int = 10
    mined: int = 3
    mining: float = 20.0
    temperature: float = 0.1
    sharpness: float = 12.0  # of the contrast between photos


SUPERVISED = Recipe()
WEAK = Recipe(
    boxes=False,
    config={"hidden": 0, "prior": 0.1, "region_dropout": 0.4, "phrase_dropout": 0.2},
    optimizer=Optimizer(learning_rate=7e-4, weight_decay=0.05),
    schedule=Schedule(2, batch=128, warmup=0.1, precision="bfloat16"),
)


@dataclass(frozen=True, slots=True)
class Lessons:
    """Photos' regions (R, C + 4), their phrases (P, 768), the boxes (P, 4) and texts of those."""

    regions: Sequence[Tensor]
    phrases: Sequence[Tensor]
    truth: Sequence[Tensor]
    spoken: Sequence[Sequence[GroundedSentence]]

    def __len__(self) -> int:
        return len(self.regions)

    def texts(self, photo: int) -> list[str]:
        """A photo's phrases in lower case."""
        return [one.text.lower() for sentence in self.spoken[photo] for one in sentence.phrases]


@dataclass(frozen=True, slots=True)
class Batch:
    """K photos' regions (K, R, D) and P phrases (P, D), and what is known of the phrases.

    owners (P,) is the photo of each, words (P,) a number for its text, truth (P, 4) its box, and
    boxes (K, R, 4) the regions'.
    """

    regions: Tensor
    phrases: Tensor
    owners: Tensor
    words: Tensor
    truth: Tensor
    boxes: Tensor


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
) -> Localisation:
    """Train on split train and write the checkpoint to `file`; what it localises on split val.

    The last epoch's weights are kept: val chooses nothing. `truth` says where sentences have
    phrases, and only with recipe.boxes where these are in a photo.
    """
    torch.manual_seed(seed)
    model = two_branch.Model(two_branch.Config(**recipe.config)).to(device)
    lessons = learned_from(model, corpus.split("train"), truth, cache, progress)
    exam = learned_from(model, corpus.split("val"), truth, cache, progress)
    model.prepare(lessons.regions)
    trainer = Trainer(model, recipe, lessons, device)
    for epoch in range(1, recipe.schedule.epochs + 1):
        report(f"epoch {epoch:3}  loss {trainer.epoch(epoch, progress):.3f}")
    facts = {"seed": seed, "data": {"name": corpus.name, "digest": corpus.digest()}}
    with trainer.descent.average.worn():
        found = measured(model.eval(), exam, device)
        facts |= {"recipe": asdict(recipe), "validation": asdict(found)}
        checkpoint.save(file, "grounders", "two_branch", model, facts)
    return found


def learned_from(
    model: two_branch.Model,
    examples: Sequence[Example],
    truth: Truth,
    folder: Path,
    progress: Progress,
) -> Lessons:
    """The frozen inputs of photos that have phrases, from the cache or computed into it."""
    chosen = [one for one in examples if any(s.phrases for s in truth.get(one.image.name, ()))]
    spoken = [[s for s in truth[one.image.name] if s.phrases] for one in chosen]
    device = str(next(model.parameters()).device)

    def seen(paths: Sequence[Path]) -> list[Tensor]:
        with half_precision(device, "bfloat16"):
            return model.image_inputs([pixels(path) for path in paths])

    def heard(photos: Sequence[Sequence[GroundedSentence]]) -> list[Tensor]:
        said = [sentence for photo in photos for sentence in photo]
        spans = [[phrase.span for phrase in one.phrases] for one in said]
        with half_precision(device, "bfloat16"):
            inputs = iter(model.phrase_inputs([one.text for one in said], spans))
        return [torch.cat(list(islice(inputs, len(photo)))) for photo in photos]

    paths = [one.image for one in chosen]
    digests = [file_digest(path) for path in paths]
    said = [digest(*(repr((s.text, [p.span for p in s.phrases])) for s in own)) for own in spoken]
    regions = cached(
        folder / "images", f"bfloat16 {model.image_key()}", paths, digests, seen, progress, "photos"
    )
    phrases = cached(
        folder / "sentences", "bfloat16 phrases", spoken, said, heard, progress, "phrases"
    )
    return Lessons(regions, phrases, [phrase_boxes(own) for own in spoken], spoken)


class Trainer:
    """A grounder in training."""

    def __init__(
        self, model: two_branch.Model, recipe: Recipe, lessons: Lessons, device: str
    ) -> None:
        self.model, self.recipe, self.lessons, self.device = model, recipe, lessons, device
        steps = -(-len(lessons) // recipe.schedule.batch)
        self.descent = Descent(model, recipe.optimizer, recipe.schedule, steps)

    def epoch(self, epoch: int, progress: Progress = silent) -> float:
        """Learn some phrases of every photo, in a new order; the mean loss of a step."""
        self.model.train()
        return mean_loss(
            len(self.lessons), self.recipe.schedule.batch, partial(self.step, epoch=epoch), progress
        )

    def step(self, photos: Sequence[int], epoch: int) -> float:
        """Learn a batch of photos; the loss."""
        recipe = self.recipe
        batch = self.embedded(photos)
        if recipe.boxes:
            mined = epoch > recipe.schedule.epochs - recipe.mined
            loss = told(batch, recipe.margin, recipe.top, recipe.mining if mined else 0.0)
        else:
            preference = self.model.preference(batch.regions.shape[1])
            loss = guessed(batch, preference, recipe.temperature, recipe.sharpness)
        return self.descent.step(loss)

    def embedded(self, photos: Sequence[int]) -> Batch:
        """Regions of photos, and up to PHRASES phrases of each, drawn at random."""
        lessons, device = self.lessons, self.device
        drawn = [torch.randperm(len(lessons.truth[one]))[:PHRASES] for one in photos]
        texts = [
            lessons.texts(one)[at]
            for one, own in zip(photos, drawn, strict=True)
            for at in own.tolist()
        ]
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        counts = torch.tensor([len(own) for own in drawn])
        inputs = torch.stack([lessons.regions[one] for one in photos]).to(device)
        phrases = [lessons.phrases[one][own] for one, own in zip(photos, drawn, strict=True)]
        truth = [lessons.truth[one][own] for one, own in zip(photos, drawn, strict=True)]
        return Batch(
            regions=self.model.embed_regions(inputs),
            phrases=self.model.embed_phrases(torch.cat(phrases).to(device)),
            owners=torch.arange(len(photos)).repeat_interleave(counts).to(device),
            words=torch.tensor([numbers[text] for text in texts], device=device),
            truth=torch.cat(truth).to(device),
            boxes=inputs[..., -4:],
        )


def told(batch: Batch, margin: float, top: int, mining: float) -> Tensor:
    """The ranking terms of eq. 5 for regions and phrases   (Wang, Li & Lazebnik 2016, section 3.3).

    A phrase's pair is the proposal that overlaps its box most. Negatives are the pairs of other
    phrases, unless the words or the boxes are the same; the `top` most violated count, both ways.
    With `mining`, the proposals of its own photo that lie nearer to it than any right one by the
    margin are its hard negatives.
    """
    own = batch.regions[batch.owners]  # (P, R, D)
    overlap = overlaps(batch)  # (P, R)
    best, place = overlap.max(dim=1)
    known = best >= RIGHT
    phrases, regions = batch.phrases[known], own[known, place[known]]
    distances = torch.cdist(phrases, regions)  # (N, N)
    pairs = distances.diagonal()
    true = same(batch, known)
    loss = distances.new_zeros(())
    for d in (distances, distances.T):
        hinges = (margin + pairs[:, None] - d).clamp_min(0).masked_fill(true, 0)
        loss = loss + hinges.topk(min(top, len(d)), dim=1).values.sum(1).mean()
    if mining:
        inside = torch.cdist(phrases[:, None], own[known])[:, 0]  # (N, R)
        right = overlap[known] >= RIGHT
        nearest = inside.masked_fill(~right, float("inf")).amin(dim=1, keepdim=True)
        hard = (margin + nearest - inside).clamp_min(0).masked_fill(right, 0)
        loss = loss + mining * hard.sum(1).mean()
    return loss


def overlaps(batch: Batch) -> Tensor:
    """Intersection over union of each phrase's box and its photo's proposals, (P, R)."""
    pairs = zip(batch.truth, batch.boxes[batch.owners], strict=True)
    return torch.stack([box_iou(true[None], boxes)[0] for true, boxes in pairs])


def same(batch: Batch, known: Tensor) -> Tensor:
    """Which phrases mean the same as which by their words, or by their boxes in a photo, (N, N)."""
    owners, words, truth = batch.owners[known], batch.words[known], batch.truth[known]
    boxes = (owners[:, None] == owners) & (box_iou(truth, truth) >= RIGHT)
    alike: Tensor = boxes | (words[:, None] == words)
    return alike


def guessed(batch: Batch, preference: Tensor, temperature: float, sharpness: float) -> Tensor:
    """A contrast of photos, for phrases whose boxes nobody told.

        a_pi = softmax_i((x_iᵀ y_p + preference_i) / temperature),  S_kp = Σ_i a_pi x_iᵀ y_p

    A phrase belongs to its own photo among the batch's, and a photo to its phrases.
    """
    K, R, D = batch.regions.shape
    similarity = (batch.phrases @ batch.regions.view(K * R, D).T).view(-1, K, R)
    attention = ((similarity + preference) / temperature).softmax(dim=-1)
    scores = sharpness * (attention * similarity).sum(dim=-1)  # (P, K)
    photos = F.cross_entropy(scores, batch.owners)
    phrases = scores.T.log_softmax(dim=1)[batch.owners, torch.arange(len(scores))]  # (P,)
    return photos - 0.5 * phrases.mean()


@torch.inference_mode()
def measured(model: two_branch.Model, exam: Lessons, device: str) -> Localisation:
    """How well a model localises the phrases of photos."""
    seen = []
    for photo in range(len(exam)):
        inputs = exam.regions[photo].to(device)
        regions = model.embed_regions(inputs[None])[0]
        phrases = model.embed_phrases(exam.phrases[photo].to(device))
        scores = model.similarities(regions, phrases).cpu()
        said = [phrase for sentence in exam.spoken[photo] for phrase in sentence.phrases]
        seen += [
            Localised(phrase.text, phrase.boxes, inputs[:, -4:].cpu(), own)
            for phrase, own in zip(said, scores, strict=True)
        ]
    return localisation(seen)
