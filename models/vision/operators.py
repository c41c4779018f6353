"""Parts of torchvision without torch's compiler.

It would take two seconds and 160 MB more to load.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

COMPILER = ("torch._dynamo", "torch._dynamo.utils")


@contextmanager
def compiler_deferred() -> Iterator[None]:
    """Within the context, torch's compiler is not imported.

    torchvision.ops.roi_align imports it for one function, which it calls only where deterministic
    algorithms are asked for; that call imports the compiler then.
    """
    if "torch._dynamo" in sys.modules:
        yield
        return
    package, utils = (ModuleType(name) for name in COMPILER)
    package.__path__ = []
    utils.is_compile_supported = _is_compile_supported  # type: ignore[attr-defined]
    sys.modules |= dict(zip(COMPILER, (package, utils), strict=True))
    try:
        yield
    finally:
        for name in COMPILER:
            del sys.modules[name]


def _is_compile_supported(device: str) -> bool:
    supported: bool = importlib.import_module(COMPILER[1]).is_compile_supported(device)
    return supported


with compiler_deferred():
    from torchvision.models.detection.anchor_utils import AnchorGenerator
    from torchvision.models.detection.faster_rcnn import FastRCNNPredictor
    from torchvision.models.detection.image_list import ImageList
    from torchvision.models.detection.roi_heads import RoIHeads
    from torchvision.models.detection.rpn import RegionProposalNetwork, RPNHead
    from torchvision.ops import MultiScaleRoIAlign, nms, roi_align

__all__ = [
    "AnchorGenerator",
    "FastRCNNPredictor",
    "ImageList",
    "MultiScaleRoIAlign",
    "RPNHead",
    "RegionProposalNetwork",
    "RoIHeads",
    "nms",
    "roi_align",
]
