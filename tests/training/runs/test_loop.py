from itertools import chain

import pytest
import torch
from torch import nn

from training.runs.loop import Trainer, TrainingTask, ValidationResult, shuffle
from training.runs.optimization import Optimizer, Schedule


class Points:
    """Four numbers, two in a batch."""

    steps = 2

    def batches(self, epoch):
        return (torch.tensor([float(one) for one in batch]) for batch in shuffle(4, 2))


def trainer(sums=(), epochs=3, once=False, scale=1.0):
    """A weight for the mean of 0 to 3.

    Validation gives one of the sums an epoch.
    """
    torch.manual_seed(0)
    model, left = nn.Linear(1, 1, bias=False), iter(sums)

    def distance(batch, epoch):
        return scale * (model.weight - batch).square().mean()

    def validate():
        return ValidationResult({"weight": model.weight.item()}, next(left, None))

    part = TrainingTask(model, Points(), distance, validate, once)
    schedule = Schedule(epochs, batch=2, average=0.5)
    return Trainer(part, Optimizer(learning_rate=0.5), schedule)


def test_every_epoch_learns_all_examples_once_in_a_new_order():
    torch.manual_seed(0)
    first, second = shuffle(5, 2), shuffle(5, 2)
    assert [len(batch) for batch in first] == [2, 2, 1]
    assert sorted(chain(*first)) == sorted(chain(*second)) == [0, 1, 2, 3, 4]
    assert first != second


def test_the_epoch_with_the_largest_sum_of_recalls_is_the_best():
    training = trainer(sums=(1.0, 3.0, 2.0))
    best = [training.at_best for _ in range(3) if training.run_epoch()]
    assert best == [True, True, False]
    assert training.finished
    assert [record.epoch for record in training.history] == [1, 2, 3]


def test_what_is_validated_once_keeps_the_last_epoch_whatever_val_says():
    training = trainer(once=True)
    best = [training.at_best for _ in range(3) if training.run_epoch()]
    assert best == [False, False, True]
    assert [bool(record.validation) for record in training.history] == [False, False, True]


def test_validation_sees_the_averaged_weights_and_training_goes_on_with_its_own():
    training = trainer(epochs=1)
    validated = training.run_epoch().validation["weight"]
    assert validated == training.descent.average.mean["weight"].item()
    assert validated != training.model.weight.item()


def test_a_resumed_training_equals_an_unbroken_one():
    whole = trainer()
    for _ in range(3):
        whole.run_epoch()
    broken = trainer()
    broken.run_epoch()
    state = broken.state()
    resumed = trainer()
    torch.rand(7)  # other draws in between
    resumed.resume(state)
    resumed.run_epoch()
    resumed.run_epoch()
    assert torch.equal(resumed.model.weight, whole.model.weight)
    assert [one.loss for one in resumed.history] == [one.loss for one in whole.history]


def test_a_loss_that_is_no_number_stops_the_training():
    with pytest.raises(ArithmeticError, match="the loss became inf in epoch 1; lower the learning"):
        trainer(scale=float("inf")).run_epoch()
