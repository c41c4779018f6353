"""Training loop: epochs, averages, validation, and exact resuming.

A training brings a TrainingTask: a model, a dataset, an objective and a validation. See the files
train.py of matchers, captioners, grounders and proposers.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor, nn

from models import checkpoint
from training.runs import workers
from training.runs.optimization import Descent, Optimizer, Schedule, forget
from training.runs.progress import Progress, silent

Batch = TypeVar("Batch")
Batch_co = TypeVar("Batch_co", covariant=True)


class Dataset(Protocol[Batch_co]):
    """The examples of a model, a batch at a time."""

    @property
    def steps(self) -> int:
        """The number of batches of an epoch."""
        ...

    def batches(self, epoch: int) -> Iterable[Batch_co]:
        """Give an epoch's batches, perhaps drawn late.

        Epochs count from 1.
        """
        ...


@dataclass(frozen=True, slots=True)
class Loss:
    """The scalar loss of a batch, and its unweighted terms."""

    total: Tensor
    terms: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """A validation's numbers; the epoch with the largest recall sum is the best."""

    values: dict[str, Any]
    recall_sum: float | None = None


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """The results of one epoch; recall_sum is a matcher's.

    loss and terms are means over steps; terms are those of the loss before their weights.
    """

    epoch: int  # from 1
    loss: float
    seconds: float
    validation: dict[str, Any]
    recall_sum: float | None = None
    terms: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TrainingTask(Generic[Batch]):
    """A model in training, its dataset, its loss, and its validation.

    objective: the loss of a batch in an epoch, counted from 1; a scalar is a loss without terms.
    validate: is called with
    the averaged weights in the model; with `once`, after the last epoch alone, so that val chooses
    nothing.
    """

    model: nn.Module
    dataset: Dataset[Batch]
    objective: Callable[[Batch, int], Loss | Tensor]
    validate: Callable[[], ValidationResult]
    once: bool = False


class Trainer(Generic[Batch]):
    """A task in training: weights, optimizer, average and history."""

    def __init__(
        self,
        part: TrainingTask[Batch],
        optimizer: Optimizer,
        schedule: Schedule,
        device: str = "cpu",
        start: float = 0.0,
    ) -> None:
        """Take the share `start` of the first weights in the stored ones."""
        self.part, self.schedule, self.device = part, schedule, device
        self.model = part.model
        self.reset = optimizer.reset
        self.descent = Descent(self.model, optimizer, schedule, part.dataset.steps, start)
        self.history: list[EpochRecord] = []

    @property
    def finished(self) -> bool:
        """Whether every epoch is done; a schedule without epochs is validated once."""
        return len(self.history) >= self.epochs

    @property
    def epochs(self) -> int:
        """The number of epochs to record."""
        return max(1, self.schedule.epochs)

    @property
    def at_best(self) -> bool:
        """Whether the last epoch has the largest recall sum.

        Also if it is the only one.
        """
        if self.part.once:
            return self.finished
        sums = [record.recall_sum or 0.0 for record in self.history]
        return sums.index(max(sums)) == len(sums) - 1

    def run_epoch(self, progress: Progress = silent) -> EpochRecord:
        """Learn the dataset once, then validate with the averaged weights."""
        began = time.perf_counter()
        loss, terms = self.learn(progress)
        number = len(self.history) + 1
        measured = ValidationResult({})
        if not self.part.once or number == self.epochs:
            with self.descent.average.apply():
                measured = workers.compute_on_first(self.part.validate)
        seconds = time.perf_counter() - began
        record = EpochRecord(number, loss, seconds, measured.values, measured.recall_sum, terms)
        self.history.append(record)
        return record

    def learn(self, progress: Progress = silent) -> tuple[float, dict[str, float]]:
        """Learn the dataset once; return a step's mean loss and terms."""
        if not self.schedule.epochs:
            return 0.0, {}
        self.model.train()
        finished = len(self.history)
        if self.reset and finished and finished % self.reset == 0:
            forget(self.descent.optimizer)
        dataset, label = self.part.dataset, f"epoch {finished + 1}"
        batches = progress(dataset.batches(finished + 1), dataset.steps, label)
        steps = [self.step(batch) for batch in batches]
        return fmean(loss for loss, _ in steps), average_terms(terms for _, terms in steps)

    def step(self, batch: Batch) -> tuple[float, dict[str, float]]:
        """Learn one batch; return its loss and terms."""
        epoch = len(self.history) + 1
        value = self.part.objective(batch, epoch)
        loss = value if isinstance(value, Loss) else Loss(value)
        if not loss.total.isfinite():
            raise ArithmeticError(
                f"the loss became {loss.total.item()} in epoch {epoch}; "
                "lower the learning rate or clip harder"
            )
        terms = {name: term.item() for name, term in loss.terms.items()}
        return self.descent.step(loss.total), terms

    def state(self) -> dict[str, Any]:
        """Return the state for an exactly equal resumed run."""
        return {
            "weights": checkpoint.collect_weights(self.model),
            "optimizer": self.descent.optimizer.state_dict(),
            "rates": self.descent.rates.state_dict(),
            "average": self.descent.average.mean,
            "averaged": self.descent.average.steps,
            "random": workers.gather_values(torch.get_rng_state()),
            "random_cuda": torch.cuda.get_rng_state_all(),
            "history": [asdict(record) for record in self.history],
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Continue from a state."""
        checkpoint.restore(self.model, state["weights"])
        self.descent.optimizer.load_state_dict(state["optimizer"])
        self.descent.rates.load_state_dict(state["rates"])
        for name, mean in state["average"].items():
            self.descent.average.mean[name].copy_(mean)
        self.descent.average.steps = state["averaged"]
        random = state["random"]
        if len(random) == workers.count():  # another number of workers draws differently
            torch.set_rng_state(random[workers.rank()])
        if self.device.startswith("cuda"):
            torch.cuda.set_rng_state_all(state["random_cuda"])
        self.history = [EpochRecord(**record) for record in state["history"]]


def average_terms(steps: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Average each term over its steps."""
    values: dict[str, list[float]] = defaultdict(list)
    for terms in steps:
        for name, value in terms.items():
            values[name].append(value)
    return {name: fmean(term_values) for name, term_values in values.items()}


def shuffle(count: int, size: int) -> list[list[int]]:
    """Shuffle the positions of `count` examples, `size` at a time."""
    order = torch.randperm(count).tolist()
    return [order[at : at + size] for at in range(0, count, size)]
