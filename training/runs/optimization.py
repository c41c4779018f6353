"""Optimization: groups with their own rates, warm-up and cosine, averages over steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adagrad, AdamW, RMSprop
from torch.optim import Optimizer as TorchOptimizer
from torch.optim.lr_scheduler import LambdaLR

from training.runs import workers

OPTIMIZERS: dict[str, Callable[[Any], TorchOptimizer]] = {
    "adamw": partial(AdamW, fused=True),  # one pass over the weights instead of six
    "adagrad": Adagrad,
    "rmsprop": RMSprop,
    "sgd": partial(SGD, lr=1e-3, momentum=0.9),
}

# Clipping of gradients: all of them to a norm, or each number to a range.
CLIPPINGS: dict[str, Callable[[Iterable[Tensor], float], object]] = {
    "norm": nn.utils.clip_grad_norm_,
    "elementwise": nn.utils.clip_grad_value_,
}


@dataclass(frozen=True, slots=True)
class Optimizer:
    """Options of the optimizer.

    rates: factors of the learning rate, by the prefix of a parameter's name. name is adamw,
    adagrad, rmsprop, or sgd with momentum 0.9; reset is after how many epochs adagrad's sums of
    squares restart (Socher et al. 2014, section 5), 0 for never.
    """

    name: str = "adamw"
    learning_rate: float = 1e-3
    weight_decay: float = 1e-2
    reset: int = 0
    rates: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name not in OPTIMIZERS:
            raise ValueError(f"no optimizer {self.name!r}; there are: {', '.join(OPTIMIZERS)}")
        if self.reset and self.name != "adagrad":
            raise ValueError("reset is adagrad's alone")


@dataclass(frozen=True, slots=True)
class Schedule:
    """The loop's options.

    batch: images in a step, with `sentences` each. warmup: a share of all steps. clip: the limit of
    gradients by `clipping`, the norm of all, or elementwise. drops: epochs after which the rate
    falls to a tenth; without any it falls by half a cosine. average: a decay, 0 averages nothing.
    epochs = 0 is for a model that `prepare` solves for.
    """

    epochs: int = 20
    batch: int = 128
    sentences: int = 1
    warmup: float = 0.05
    clip: float = 1.0
    clipping: str = "norm"
    average: float = 0.0
    precision: str = "float32"
    drops: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.precision not in ("float32", "bfloat16"):
            raise ValueError(f"precision is {self.precision!r}; use 'float32' or 'bfloat16'")
        if self.clipping not in CLIPPINGS:
            raise ValueError(f"no clipping {self.clipping!r}; there are: {', '.join(CLIPPINGS)}")
        for name, least in (("epochs", 0), ("batch", 2), ("sentences", 1)):
            if (value := getattr(self, name)) < least:
                raise ValueError(f"[schedule] {name} is {value}: use at least {least}")
        if not (0 <= self.average < 1 and 0 <= self.warmup < 1):
            raise ValueError(f"average {self.average} and warmup {self.warmup} must be in [0, 1)")
        object.__setattr__(self, "drops", tuple(self.drops))
        if any(not 0 < drop <= self.epochs for drop in self.drops):
            raise ValueError(f"drops {self.drops} must be among the {self.epochs} epochs")


def make_optimizer(model: nn.Module, options: Optimizer) -> TorchOptimizer:
    """Make the optimizer of trainable parameters; biases and gains do not decay.

    ValueError for a prefix in options.rates that no trainable parameter has.
    """
    trained = {
        name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad
    }
    for prefix in options.rates:
        if not any(name.startswith(prefix) for name in trained):
            raise ValueError(f"no parameter starts with {prefix!r}; there are {sorted(trained)}")
    groups: dict[tuple[float, float], list[Tensor]] = {}
    for name, parameter in trained.items():
        decay = options.weight_decay if parameter.ndim > 1 else 0.0
        rate = options.learning_rate * rate_of(name, options.rates)
        groups.setdefault((rate, decay), []).append(parameter)
    parameter_groups = [
        {"params": parameters, "lr": rate, "weight_decay": w}
        for (rate, w), parameters in groups.items()
    ]
    return OPTIMIZERS[options.name](parameter_groups)


def forget(optimizer: TorchOptimizer) -> None:
    """Reset adagrad's sums of squared gradients to 1 (Socher et al. 2014, section 5)."""
    for state in optimizer.state.values():
        state["sum"].fill_(1.0)


def rate_of(name: str, rates: Mapping[str, float]) -> float:
    """Return the factor of the longest prefix of a parameter's name, else 1."""
    fitting = [prefix for prefix in rates if name.startswith(prefix)]
    return rates[max(fitting, key=len)] if fitting else 1.0


def warm_up_then_cosine(step: int, total: int, warmup: float) -> float:
    """Return the share of the peak rate: line, half cosine.

    The line goes up to 1.
    """
    warm = max(1, round(warmup * total))
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, total - warm)))


def warm_up_then_drops(step: int, total: int, warmup: float, drops: Sequence[int]) -> float:
    """Return the share of the peak rate: line, then drops.

    A drop leaves a tenth.
    """
    warm = max(1, round(warmup * total))
    risen = min(1.0, (step + 1) / warm)
    return risen * 0.1 ** sum(step >= drop for drop in drops)


def make_scheduler(optimizer: TorchOptimizer, schedule: Schedule, steps: int) -> LambdaLR:
    """Make the rates of a schedule with `steps` steps an epoch."""
    drops = [epoch * steps for epoch in schedule.drops]
    shape = partial(warm_up_then_drops, drops=drops) if drops else warm_up_then_cosine
    share = partial(shape, total=schedule.epochs * steps, warmup=schedule.warmup)
    return LambdaLR(optimizer, share)


class Average:
    """An exponential moving average of a model's trainable parameters.

    With `start`, that share of it is the first weights: the line from fine-tuned weights back to
    general ones (WiSE-FT, Wortsman et al. 2022), which forgets less.
    """

    def __init__(self, model: nn.Module, decay: float, start: float = 0.0) -> None:
        self.decay, self.start = decay, start
        self.steps = 0
        self.parameters = dict(item for item in model.named_parameters() if item[1].requires_grad)
        # Without a decay the mean is the parameters themselves, in the same memory.
        self.mean = {
            name: parameter.detach().clone() if decay else parameter.detach()
            for name, parameter in self.parameters.items()
        }
        self.initial = {name: mean.clone() for name, mean in self.mean.items()} if start else {}

    @torch.no_grad()
    def update(self) -> None:
        """Add the parameters of a step.

        Early steps count more, to forget the start.
        """
        self.steps += 1
        if not self.decay:
            return
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        for name, parameter in self.parameters.items():
            self.mean[name].lerp_(parameter, 1 - decay)

    @contextmanager
    def apply(self) -> Iterator[None]:
        """Within the context, the model uses the averaged weights."""
        current = {name: parameter.detach().clone() for name, parameter in self.parameters.items()}
        self.settle()
        try:
            yield
        finally:
            self.put(current)

    def settle(self) -> None:
        """Give the model the averaged weights for good."""
        self.put(self.draw_back())

    def draw_back(self) -> dict[str, Tensor]:
        """θ = (1 − α) mean + α θ_0, with α = `start`."""
        if not self.start:
            return self.mean
        return {name: mean.lerp(self.initial[name], self.start) for name, mean in self.mean.items()}

    @torch.no_grad()
    def put(self, weights: Mapping[str, Tensor]) -> None:
        """Give the parameters other values."""
        for name, parameter in self.parameters.items():
            parameter.copy_(weights[name])


class Descent:
    """The descent of a model: its optimizer, its rates, and averages."""

    def __init__(
        self,
        model: nn.Module,
        options: Optimizer,
        schedule: Schedule,
        steps: int,
        start: float = 0.0,
    ) -> None:
        """Take an epoch's steps, and first weights' share in averages."""
        self.model, self.schedule = model, schedule
        self.optimizer = make_optimizer(model, options)
        self.rates = make_scheduler(self.optimizer, schedule, steps)
        self.average = Average(model, schedule.average, start)

    def step(self, loss: Tensor) -> float:
        """Go one step down a loss; return the loss."""
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        workers.add_gradients(self.model)
        CLIPPINGS[self.schedule.clipping](self.model.parameters(), self.schedule.clip)
        self.optimizer.step()
        self.rates.step()
        self.average.update()
        return loss.item()
