"""EfficientNet-Lite: the convolutional network for photos, without its classifier."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_weights
from torch.utils.checkpoint import checkpoint

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
FINE_STAGE = 4  # the last of stride 16, and the first that is tuned
CPU_BATCH = 2  # photos in one pass on a CPU: the maps of more leave its caches, and take memory
TUNED_BATCH = 8  # the same where gradients are wanted: each pass adds to those of all weights


class SameConv(nn.Conv2d):
    """Convolution with TensorFlow's SAME padding.

    The packaged weights were trained so.
    """

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
    """Expand, filter by depth, project; plus the input if shapes allow."""

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
    compiled: Callable[[Tensor], tuple[Tensor, ...]] | None = None  # the same on a CPU, if set

    def __init__(self, width: float = 1.0, depth: float = 1.0) -> None:
        super().__init__()
        layers: list[nn.Module] = [*convolution(3, 32, 3, 2), nn.ReLU6(inplace=True)]
        inputs = 32
        self.starts: list[int] = []  # the first layer of each stage
        for number, (expansion, channels, repeats, stride, kernel) in enumerate(STAGES):
            outputs = scale_channels(channels, width)
            self.starts.append(len(layers))
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
        self.first_tuned = self.starts[FINE_STAGE]
        self.to(memory_format=torch.channels_last)

    def forward(self, pixels: Tensor) -> Tensor:
        """Feature maps of uint8 or float photos with values 0–255, (B, 3, S, S)."""
        return self.pyramid(pixels)[-1]

    def pyramid(self, pixels: Tensor) -> tuple[Tensor, ...]:
        """The last maps of stride 16 and 32; the second is `forward`'s.

        Shapes: (B, C, S/16, S/16) and (B, 1280, S/32, S/32).
        """
        on_cpu, learning = pixels.device.type == "cpu", torch.is_grad_enabled()
        most = TUNED_BATCH if learning else CPU_BATCH
        if on_cpu and len(pixels) > most:
            parts = [self.pyramid(part) for part in torch.split(pixels, most)]
            return tuple(torch.cat(maps) for maps in zip(*parts, strict=True))
        if on_cpu and self.compiled and not learning:
            return self.compiled(pixels)
        scaled = (pixels.to(next(self.parameters()).dtype) - 127.0) / 128.0
        first = self.layers[: self.first_tuned](
            scaled.contiguous(memory_format=torch.channels_last)
        )
        run = recompute if on_cpu and learning else apply
        fine = run(self.layers[self.first_tuned : self.fine], first)
        return fine, run(self.layers[self.fine :], fine)

    def tune(self, first: int | None = None) -> None:
        """Let convolutions of size 1 train, from the last stage of stride 16.

        They hold six sevenths of the weights. Gradients of earlier layers, and of the filters by
        depth, take more time on a CPU than all others. With a `first` stage, 0 to 6, all weights
        train from there on; 0 takes the stem too.
        """
        self.requires_grad_(False)
        if first is None:
            for module in self.layers[self.first_tuned :].modules():
                if isinstance(module, nn.Conv2d) and module.groups == 1:
                    module.requires_grad_(True)
            return
        if not 0 <= first < len(STAGES):
            raise ValueError(f"first_tuned is {first}: a stage is 0 to {len(STAGES) - 1}")
        start = self.starts[first] if first else 0
        self.first_tuned = min(start, self.first_tuned)
        self.layers[start:].requires_grad_(True)


def apply(layers: nn.Sequential, x: Tensor) -> Tensor:
    """Apply layers to x."""
    y: Tensor = layers(x)
    return y


def recompute(layers: nn.Sequential, x: Tensor) -> Tensor:
    """Apply layers to x, and compute them again for gradients, to save memory.

    (Chen et al. 2016, "Training deep nets with sublinear memory cost".)
    """
    y: Tensor = checkpoint(layers, x, use_reentrant=False, preserve_rng_state=False)
    return y


def scale_channels(channels: int, width: float) -> int:
    """Channels times width, in multiples of 8, rounded down at most a tenth."""
    scaled = channels * width
    rounded = max(8, int(scaled + 4) // 8 * 8)
    return rounded if rounded >= 0.9 * scaled else rounded + 8


def fold(network: Lite) -> Lite:
    """Fold every batch norm into its convolution: a third faster."""
    for module in network.modules():
        if isinstance(module, nn.Sequential):
            for name, (layer, following) in enumerate(pairwise(module)):
                if isinstance(layer, nn.Conv2d) and isinstance(following, nn.BatchNorm2d):
                    fold_into(layer, following)
                    module[name + 1] = nn.Identity()
    return network


def fold_into(convolution: nn.Conv2d, norm: nn.BatchNorm2d) -> None:
    """Fold a batch norm into the convolution before it, in place.

    torch's own function copies both first.
    """
    assert norm.running_mean is not None
    assert norm.running_var is not None
    convolution.weight, convolution.bias = fuse_conv_bn_weights(
        convolution.weight,
        convolution.bias,
        norm.running_mean,
        norm.running_var,
        norm.eps,
        norm.weight,
        norm.bias,
    )
