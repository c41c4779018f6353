"""The precision of products in training and in cached features."""

from __future__ import annotations

import torch

HALF = "bfloat16"


def half_precision(device: str, precision: str) -> torch.autocast:
    """Multiply in bfloat16 if asked for and possible.

    Other processors compute these products many times slower than in float32, so they take float32,
    which agrees up to bfloat16's rounding.
    """
    enabled = precision == HALF and multiplies_halves(device)
    return torch.autocast(kind_of(device), torch.bfloat16, enabled=enabled)


def multiplies_halves(device: str) -> bool:
    """Return whether a device multiplies bfloat16, as oneDNN says of processors."""
    if kind_of(device) == "cpu":
        supported = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)  # absent on Macs
        return bool(supported and supported())
    return True


def kind_of(device: str) -> str:
    """The kind of a device, such as cuda of cuda:0."""
    return device.split(":")[0]
