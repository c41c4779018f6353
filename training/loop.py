"""Training loop of a matcher: epochs, validation, checkpoints, and resuming to the bit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from models import checkpoint
from models.matcher import Matcher
from models.scoring import SCORES
from models.types import PaddedBags
from training.cache import taken
from training.data.batches import ALL, Batch, Sampling, batches, steps
from training.data.truth import Truth
from training.evaluation.retrieval import Retrieval, ranked, retrieval
from training.evaluation.scores import score_matrix
from training.match import Match
from training.optimization import Descent, Optimizer, Schedule, forget
from training.progress import Progress, silent

Objective = Callable[[Match, int], Tensor]  # of a batch, in an epoch counted from 1
Taught = Callable[[Batch], Tensor]  # what teachers make of a batch, (K, L)
ENCODED = 128  # bags that the trained part sees at once in validation


@dataclass(frozen=True, slots=True)
class Pairs:
    """A split's frozen inputs: the sentences of images[0], then of images[1], by counts.

    `truth` says where several images answer a sentence; without it each sentence has one. kinds[k]
    is the kind of image k, where a sampling mixes batches by kinds.
    """

    images: Sequence[Tensor]
    sentences: Sequence[Tensor]
    counts: tuple[int, ...]
    truth: Truth | None = None
    kinds: tuple[str, ...] = ()

    @property
    def owners(self) -> list[int]:
        """The image of each sentence."""
        return [image for image, count in enumerate(self.counts) for _ in range(count)]


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """What one epoch came to."""

    epoch: int  # from 1
    loss: float
    seconds: float
    validation: dict[str, Any]
    recall_sum: float


class Trainer:
    """A matcher in training: its weights, their optimizer and average, and what is done."""

    def __init__(
        self,
        model: Matcher,
        pairs: Pairs,
        objective: Objective,
        optimizer: Optimizer,
        schedule: Schedule,
        seed: int = 0,
        device: str = "cpu",
        taught: Taught | None = None,
        sampling: Sampling = ALL,
        start: float = 0.0,
    ) -> None:
        """`start` is the share of the first weights in what is validated and kept."""
        self.taught, self.sampling = taught, sampling
        self.model = model.to(device)
        self.pairs, self.objective, self.schedule = pairs, objective, schedule
        self.seed, self.device = seed, device
        self.reset = optimizer.reset
        count = steps(pairs.counts, schedule.batch, schedule.sentences, sampling)
        self.descent = Descent(self.model, optimizer, schedule, count, start)
        self.history: list[EpochRecord] = []
        torch.manual_seed(seed)  # dropout's

    @property
    def finished(self) -> bool:
        """Whether every epoch of the schedule is done; one without epochs is validated once."""
        return len(self.history) >= max(1, self.schedule.epochs)

    @property
    def at_best(self) -> bool:
        """Whether no epoch had a larger sum of recalls than the last one."""
        sums = [record.recall_sum for record in self.history]
        return sums.index(max(sums)) == len(sums) - 1

    def epoch(self, validation: Pairs, progress: Progress = silent) -> EpochRecord:
        """Learn every pair once, then validate with the averaged weights."""
        began = time.perf_counter()
        loss = self.learn(progress)
        with self.descent.average.worn():
            if not self.descent.average.start:  # what is drawn back keeps its general references
                refer(self.model, self.pairs.images, self.device)
            measured = validate(self.model, validation, self.device)
        seconds = time.perf_counter() - began
        number = len(self.history) + 1
        record = EpochRecord(number, loss, seconds, asdict(measured), measured.recall_sum)
        self.history.append(record)
        return record

    def learn(self, progress: Progress) -> float:
        """Learn every pair once; the mean loss of a step (0 where nothing is to be learned)."""
        if not self.schedule.epochs:
            return 0.0
        self.model.train()
        number, size, sentences = len(self.history), self.schedule.batch, self.schedule.sentences
        if self.reset and number and number % self.reset == 0:
            forget(self.descent.optimizer)
        counts, sampling = self.pairs.counts, self.sampling
        count = steps(counts, size, sentences, sampling)
        order = batches(counts, size, self.seed, number, sentences, sampling, self.pairs.kinds)
        losses = [self.step(batch) for batch in progress(order, count, f"epoch {number + 1}")]
        return sum(losses) / len(losses)

    def step(self, batch: Batch) -> float:
        """Learn one batch; its loss. ArithmeticError if that is no number any more."""
        loss = self.loss(batch)
        if not loss.isfinite():
            raise ArithmeticError(
                f"the loss became {loss.item()} in epoch {len(self.history) + 1}; "
                "lower the learning rate or clip harder"
            )
        return self.descent.step(loss)

    def loss(self, batch: Batch) -> Tensor:
        """The objective of a batch."""
        with half_precision(self.device, self.schedule.precision):
            images = numbers(taken(self.pairs.images, batch.images), self.device)
            sentences = numbers(taken(self.pairs.sentences, batch.sentences), self.device)
            regions = self.model.encode_images(images)
            words = self.model.encode_sentences(sentences)
        # Scores are summed in full precision: a hinge or a softmax sees their differences.
        regions, words = full(regions), full(words)
        scores = SCORES[self.model.score](regions, words)  # (K, L)
        owners = torch.tensor(batch.owners, device=scores.device)
        taught = self.taught(batch) if self.taught else None
        truth = self.pairs.truth
        weights = truth.weights(batch.images, batch.sentences).to(scores) if truth else None
        match = Match(regions, words, owners, scores, taught, weights)
        return self.objective(match, len(self.history) + 1)

    def state(self) -> dict[str, Any]:
        """All that a resumed run needs to equal an unbroken one."""
        return {
            "weights": checkpoint.trained_state(self.model),
            "optimizer": self.descent.optimizer.state_dict(),
            "rates": self.descent.rates.state_dict(),
            "average": self.descent.average.mean,
            "averaged": self.descent.average.steps,
            "random": torch.get_rng_state(),
            "random_cuda": torch.cuda.get_rng_state_all(),
            "history": [asdict(record) for record in self.history],
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from what state() gave."""
        checkpoint.restore(self.model, state["weights"])
        self.descent.optimizer.load_state_dict(state["optimizer"])
        self.descent.rates.load_state_dict(state["rates"])
        for name, mean in state["average"].items():
            self.descent.average.mean[name].copy_(mean)
        self.descent.average.steps = state["averaged"]
        torch.set_rng_state(state["random"])
        if self.device.startswith("cuda"):
            torch.cuda.set_rng_state_all(state["random_cuda"])
        self.history = [EpochRecord(**record) for record in state["history"]]


def refer(model: Matcher, images: Sequence[Tensor], device: str = "cpu") -> None:
    """Give a matcher its reference photos, spread evenly over train; it is left in evaluation."""
    count = min(model.config.references, len(images))
    if count:
        model.eval()
        chosen = taken(images, torch.linspace(0, len(images) - 1, count).round().long().tolist())
        photos = encoded(model.encode_images, chosen, device)
        model.refer(torch.stack([bag[0] for bag in photos]))


def validate(model: Matcher, pairs: Pairs, device: str = "cpu") -> Retrieval:
    """Retrieval over a split's frozen inputs; the model is left in evaluation mode.

    Where several images answer a sentence, sentences that come again are left out.
    """
    model.eval()
    asked = pairs.truth.distinct if pairs.truth else range(len(pairs.sentences))
    images = encoded(model.encode_images, pairs.images, device)
    sentences = encoded(model.encode_sentences, taken(pairs.sentences, asked), device)
    scores = score_matrix(images, sentences, model.score, device)
    if pairs.truth:
        return ranked(scores, pairs.truth.weights(range(len(images)), asked).numpy() > 0)
    return retrieval(scores, pairs.owners)


@torch.inference_mode()
def encoded(
    encode: Callable[[PaddedBags], PaddedBags], inputs: Sequence[Tensor], device: str
) -> list[Tensor]:
    """The trained part's bag (F, D) of every input."""
    bags = []
    for first in range(0, len(inputs), ENCODED):
        batch = encode(numbers(inputs[first : first + ENCODED], device))
        bags += [vectors[mask] for vectors, mask in zip(batch.vectors, batch.mask, strict=True)]
    return bags


def numbers(inputs: Sequence[Tensor], device: str) -> PaddedBags:
    """Inputs as one batch on a device, indices left whole."""
    return PaddedBags.of([one.to(device) for one in inputs])


def half_precision(device: str, precision: str) -> torch.autocast:
    """Multiply in bfloat16 where the schedule asks for it."""
    half = precision == "bfloat16"
    return torch.autocast(device.split(":")[0], torch.bfloat16, enabled=half)


def full(bags: PaddedBags) -> PaddedBags:
    """Bags in full precision."""
    return PaddedBags(bags.vectors.float(), bags.mask)
