import pytest
import torch
from torch import nn

from training.runs.optimization import (
    Average,
    Descent,
    Optimizer,
    Schedule,
    forget,
    make_optimizer,
    warm_up_then_cosine,
)


def model():
    return nn.ModuleDict({"words": nn.Linear(2, 2), "regions": nn.Linear(2, 2)})


def test_biases_do_not_decay_and_a_prefix_has_its_own_rate():
    made = model()
    optimizer = make_optimizer(
        made, Optimizer("adamw", 1.0, 0.5, rates={"words.": 0.1, "words.weight": 0.2})
    )
    rates = {
        id(one): (group["lr"], group["weight_decay"])
        for group in optimizer.param_groups
        for one in group["params"]
    }
    assert rates[id(made["words"].weight)] == (0.2, 0.5)
    assert rates[id(made["words"].bias)] == (0.1, 0.0)
    assert rates[id(made["regions"].weight)] == (1.0, 0.5)


def test_frozen_parameters_are_left_out():
    made = model()
    made["words"].requires_grad_(False)
    optimizer = make_optimizer(made, Optimizer())
    assert sum(len(group["params"]) for group in optimizer.param_groups) == 2


def test_a_prefix_that_nothing_has_is_refused():
    with pytest.raises(ValueError, match=r"no parameter starts with 'word_'; there are \['regions"):
        make_optimizer(model(), Optimizer(rates={"word_": 0.1}))


@pytest.mark.parametrize(
    ("step", "share"), [(0, 0.1), (4, 0.5), (9, 1.0), (10, 1.0), (55, 0.5), (100, 0.0)]
)
def test_the_rate_warms_up_in_a_line_and_falls_as_a_cosine(step, share):
    assert warm_up_then_cosine(step, total=100, warmup=0.1) == pytest.approx(share)


def test_with_drops_the_rate_stays_and_is_a_tenth_after_each():
    made = nn.Linear(1, 1, bias=False)
    schedule = Schedule(epochs=4, warmup=0.25, drops=[2, 3])
    descent = Descent(made, Optimizer("sgd", 8.0, 0.0), schedule, steps=2)
    rates = []
    for _ in range(8):
        rates.append(descent.optimizer.param_groups[0]["lr"])
        descent.step(made.weight.sum() * 0)
    assert rates == pytest.approx([4, 8, 8, 8, 0.8, 0.8, 0.08, 0.08])
    with pytest.raises(ValueError, match=r"drops \(5,\) must be among the 4 epochs"):
        Schedule(epochs=4, drops=(5,))


def test_an_average_moves_towards_the_weights_and_can_be_worn():
    made = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        made.weight.fill_(0.0)
    average = Average(made, decay=0.9)
    with torch.no_grad():
        made.weight.fill_(11.0)
    average.update()  # the first step's decay is 2/11
    with average.apply():
        assert made.weight.item() == pytest.approx(9.0)
    assert made.weight.item() == 11.0


def test_without_a_decay_the_average_is_the_last_step():
    made = nn.Linear(1, 1, bias=False)
    average = Average(made, decay=0.0)
    with torch.no_grad():
        made.weight.fill_(7.0)
    average.update()
    with average.apply():
        assert made.weight.item() == 7.0


@pytest.mark.parametrize(("name", "least"), [("epochs", 0), ("batch", 2), ("sentences", 1)])
def test_a_number_that_is_too_small_is_named(name, least):
    with pytest.raises(ValueError, match=rf"\[schedule\] {name} is -3: use at least {least}"):
        Schedule(**{name: -3})


@pytest.mark.parametrize(
    "options", [{"precision": "half"}, {"epochs": -1}, {"batch": 1}, {"average": 1.0}]
)
def test_a_schedule_that_cannot_be_is_refused(options):
    with pytest.raises(ValueError, match=str(next(iter(options.values())))):
        Schedule(**options)


def test_adagrad_slows_down_until_its_sums_start_anew_from_1():
    layer = nn.Linear(1, 1, bias=False)
    optimizer = make_optimizer(
        layer, Optimizer("adagrad", learning_rate=1.0, weight_decay=0.0, reset=2)
    )
    moved = []
    for step in range(3):
        if step == 2:
            forget(optimizer)
        before = layer.weight.item()
        layer.weight.grad = torch.ones(1, 1)
        optimizer.step()
        moved.append(before - layer.weight.item())
    assert moved == pytest.approx([1.0, 2**-0.5, 2**-0.5], rel=1e-4)  # from 0, then from 1


@pytest.mark.parametrize("options", [{"name": "lbfgs"}, {"reset": 3}])
def test_an_optimizer_that_cannot_be_is_refused(options):
    with pytest.raises(ValueError, match="adagrad"):
        Optimizer(**options)


def test_an_average_is_drawn_back_to_the_first_weights():
    made = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        made.weight.fill_(2.0)
    average = Average(made, decay=0.0, start=0.25)
    with torch.no_grad():
        made.weight.fill_(10.0)
    average.update()
    with average.apply():
        assert made.weight.item() == pytest.approx(8.0)  # 0.75 · 10 + 0.25 · 2
    assert made.weight.item() == 10.0


def test_gradients_are_clipped_to_a_norm_or_elementwise():
    moved = {}
    for clipping in ("norm", "elementwise"):
        made = nn.Linear(2, 1, bias=False)
        schedule = Schedule(1, clip=5.0, clipping=clipping, warmup=0)
        descent = Descent(made, Optimizer("sgd", 1.0, 0.0), schedule, 1)
        descent.step((made.weight * torch.tensor([[3.0, 40.0]])).sum())
        moved[clipping] = made.weight.grad.tolist()[0]
    assert moved["elementwise"] == [3.0, 5.0]
    assert moved["norm"] == pytest.approx([3 * 5 / 1609**0.5, 40 * 5 / 1609**0.5], rel=1e-4)


def test_an_unknown_clipping_is_refused():
    with pytest.raises(ValueError, match="no clipping 'value'; there are: norm, elementwise"):
        Schedule(clipping="value")


def test_rmsprop_divides_by_the_running_size_of_the_gradient():
    made = nn.Linear(2, 1, bias=False)
    before = made.weight.detach().clone()
    schedule = Schedule(1, clip=1e9, clipping="elementwise", warmup=0)
    descent = Descent(made, Optimizer("rmsprop", 0.01, 0.0), schedule, 1)
    descent.step((made.weight * torch.tensor([[1.0, 100.0]])).sum())
    steps = (before - made.weight.detach())[0].tolist()
    # A first gradient g is divided by √(0.01 g²): both weights move alike.
    assert steps == pytest.approx([0.1, 0.1], rel=1e-3)
