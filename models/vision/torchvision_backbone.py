"""Backbones of torchvision's, with weights from its hub."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class TorchvisionBackbone(nn.Module):
    """A convolutional torchvision classifier without its head, weights from torchvision's hub."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, name: str, weights: str | None) -> None:
        super().__init__()
        self.trunk = torchvision_trunk(name, weights).eval()
        with torch.inference_mode():
            self.channels: int = self.trunk(torch.zeros(1, 3, 64, 64)).shape[1]
        self.register_buffer("mean", torch.tensor([123.675, 116.28, 103.53]).view(1, 3, 1, 1))
        self.register_buffer("deviation", torch.tensor([58.395, 57.12, 57.375]).view(1, 3, 1, 1))

    def forward(self, pixels: Tensor) -> Tensor:
        """Feature maps (B, C, h, w) of photos with values 0–255, (B, 3, S, S)."""
        maps: Tensor = self.trunk((pixels - self.mean) / self.deviation)
        return maps

    def pyramid(self, pixels: Tensor) -> tuple[Tensor, ...]:
        """The maps of `forward` alone; finer ones depend on the network."""
        return (self(pixels),)


def torchvision_trunk(name: str, weights: str | None) -> nn.Module:
    """The layers of a torchvision classifier up to its feature maps (B, C, h, w)."""
    from torchvision import models as zoo  # seconds to import, and seldom needed

    if name not in zoo.list_models(module=zoo):
        raise ValueError(
            f"no backbone {name!r}: use lite0, lite2, or as resnet50 a torchvision classifier"
        )
    available = zoo.get_model_weights(name).__members__
    if weights is not None and weights not in available:
        raise ValueError(f"{name} has no weights {weights!r}; there are: {', '.join(available)}")
    layers: dict[str, nn.Module] = dict(zoo.get_model(name, weights=weights).named_children())
    if "features" in layers and "norm" not in layers:
        return layers["features"]
    if list(layers)[-2:] == ["avgpool", "fc"]:
        return nn.Sequential(*list(layers.values())[:-2])
    raise ValueError(f"{name} makes no feature maps before its head; use lite0 or resnet50")
