import pytest
import torch
import torch.nn.functional as F

from models.vision import backbones, lite
from models.vision.lite import Lite, SameConv, fold


@pytest.fixture(scope="module")
def lite0():
    return backbones.load("lite0")


def tensorflow_same(x, weight, stride):
    """TensorFlow's definition: ⌈size / stride⌉ outputs, the odd pixel of padding comes last."""
    padding = []
    for size, kernel in zip(reversed(x.shape[2:]), reversed(weight.shape[2:]), strict=True):
        total = max((size - 1) // stride * stride + kernel - size, 0)
        padding += [total // 2, total - total // 2]
    return F.conv2d(F.pad(x, padding), weight, stride=stride)


@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("shape", [(8, 8), (7, 10), (1, 3)])
def test_same_convolution_pads_as_tensorflow_does(kernel, stride, shape):
    torch.manual_seed(0)
    convolution, x = SameConv(2, 3, kernel, stride), torch.randn(1, 2, *shape)
    y = convolution(x)
    assert y.shape[2:] == tuple(-(-size // stride) for size in shape)
    torch.testing.assert_close(y, tensorflow_same(x, convolution.weight, stride))


def test_folding_batch_norms_changes_nothing():
    torch.manual_seed(0)
    network = Lite().eval()
    for name, value in network.named_buffers():  # as if trained
        if name.endswith(("mean", "var")):
            value.copy_(torch.rand_like(value) + (0.5 if name.endswith("var") else -0.5))
    pixels = torch.randint(0, 256, (1, 3, 64, 64), dtype=torch.uint8)
    with torch.inference_mode():
        before = network(pixels)
        assert before.std() > 1e-3
        torch.testing.assert_close(fold(network)(pixels), before, rtol=1e-3, atol=1e-4)
    assert not any(isinstance(module, torch.nn.BatchNorm2d) for module in network.modules())


def test_passes_of_two_photos_give_what_one_pass_gives(lite0, monkeypatch):
    torch.manual_seed(0)
    photos = torch.randint(0, 256, (5, 3, 64, 64)).float()
    with torch.inference_mode():
        passes = lite0.pyramid(photos)
        monkeypatch.setattr(lite, "CPU_BATCH", 5)
        for part, whole in zip(passes, lite0.pyramid(photos), strict=True):
            torch.testing.assert_close(part, whole, rtol=1e-4, atol=1e-4)


def test_passes_that_learn_give_the_gradients_of_one_pass(monkeypatch):
    network = backbones.load("lite0", tuned=True)
    torch.manual_seed(0)
    photos = torch.randint(0, 256, (5, 3, 64, 64)).float()
    gradients = []
    for most in (2, 5):
        monkeypatch.setattr(lite, "TUNED_BATCH", most)
        network.zero_grad()
        network(photos).mean((2, 3)).square().sum().backward()
        gradients.append([w.grad for w in network.parameters() if w.requires_grad])
    for part, whole in zip(*gradients, strict=True):
        torch.testing.assert_close(part, whole, rtol=1e-3, atol=1e-4)


def test_convolutions_of_size_one_train_from_the_last_stage_of_stride_16_on():
    network = backbones.load("lite0", tuned=True)
    tuned = {name for name, weight in network.named_parameters() if weight.requires_grad}
    convolutions = {
        f"layers.{number}.{name}"
        for number, layer in enumerate(network.layers)
        if number >= network.first_tuned
        for name, module in layer.named_modules(prefix="")
        if isinstance(module, SameConv) and module.kernel_size == (1, 1)
    }
    assert {name.rsplit(".", 1)[0].rstrip(".") for name in tuned} == {
        name.rstrip(".") for name in convolutions
    }
    assert network.layers[: network.first_tuned](torch.zeros(1, 3, 64, 64)).shape[2:] == (4, 4)
    held = sum(w.numel() for w in network.parameters() if w.requires_grad)
    assert held > 0.8 * sum(w.numel() for w in network.parameters())


@pytest.mark.parametrize("first", [0, 2, 6])
def test_all_weights_train_from_a_stage_on(first):
    network = backbones.load("lite0", tuned=True, first_tuned=first)
    network.forward(torch.rand(2, 3, 64, 64) * 255).sum().backward()
    learned = [weight.grad is not None for weight in network.parameters()]
    assert learned == sorted(learned), "none after the first one is left out"
    first_layer = min(network.starts[first] if first else 0, len(network.layers) - 1)
    expected = sum(1 for _ in network.layers[first_layer:].parameters())
    assert sum(learned) == expected


def test_a_stage_that_no_network_has_is_refused():
    with pytest.raises(ValueError, match="first_tuned is 7: a stage is 0 to 6"):
        backbones.load("lite0", tuned=True, first_tuned=7)
