"""Proposals: up to 19 boxes of a photo and the whole frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from models import checkpoint, shipped
from models.types import WHOLE_FRAME, Box
from models.vision.operators import nms

REGIONS = 20  # the whole frame and 19 boxes (Karpathy & Fei-Fei 2015, section 3.1.1)
OVERLAP = 0.6  # IoU from which the better of two boxes stands for both


class Proposer(Protocol):
    """Finds boxes; fixed windows and detectors fit behind this."""

    def key(self) -> object:
        """A JSON value, changed whenever the boxes of a photo would change."""
        ...

    def propose(self, images: Sequence[Tensor], maps: Sequence[Tensor]) -> Tensor:
        """Boxes (K, R, 4) in fractions: the frame first, then the likeliest.

        images are K uint8 photos (3, H, W), maps the backbone's of them, fine to coarse.
        """
        ...


def grid(count: int, size: float) -> list[Box]:
    """Overlapping squares, count × count of one size, over the frame."""
    starts = [step * (1 - size) / (count - 1) for step in range(count)]
    return [Box(left, top, left + size, top + size) for top in starts for left in starts]


def windows() -> tuple[Box, ...]:
    """The frame, four large and nine small squares, three rows and columns."""
    starts = (0.0, 0.25, 0.5)
    rows = [Box(0.0, top, 1.0, top + 0.5) for top in starts]
    columns = [Box(left, 0.0, left + 0.5, 1.0) for left in starts]
    return (WHOLE_FRAME, *grid(2, 0.6), *grid(3, 0.45), *rows, *columns)


class Windows:
    """Fixed windows for every photo, twenty by default."""

    def __init__(self, boxes: Sequence[Box] | None = None) -> None:
        chosen = windows() if boxes is None else boxes
        self.boxes = torch.tensor([[b.left, b.top, b.right, b.bottom] for b in chosen])

    def key(self) -> object:
        """The windows' corners."""
        return self.boxes.tolist()

    def propose(self, images: Sequence[Tensor], maps: Sequence[Tensor]) -> Tensor:  # noqa: ARG002 - blind
        """The windows (K, R, 4), without a look at the photos."""
        return self.boxes.to(maps[-1].device).expand(len(maps[-1]), -1, -1)


class TorchvisionDetector(nn.Module):
    """The best boxes of a torchvision detector, in all its classes.

    `name` and `weights` are those of torchvision's hub; without weights they are random.
    """

    def __init__(self, name: str, weights: str | None) -> None:
        super().__init__()
        from torchvision.models import detection, get_model, get_model_weights, list_models

        if name not in list_models(module=detection):
            detectors = ", ".join(list_models(module=detection))
            raise ValueError(
                f"no proposals {name!r}: use windows, frame, learned, or one of {detectors}"
            )
        known_weights = get_model_weights(name).__members__
        if weights is not None and weights not in known_weights:
            raise ValueError(
                f"{name} has no weights {weights!r}; there are: {', '.join(known_weights)}"
            )
        self.name, self.weights = name, weights
        self.network = get_model(
            name, weights=weights, weights_backbone=None, box_score_thresh=0.0
        ).eval()

    def key(self) -> object:
        """The names of network and weights."""
        return [self.name, self.weights]

    def propose(self, images: Sequence[Tensor], maps: Sequence[Tensor]) -> Tensor:  # noqa: ARG002 - it looks for itself
        """Boxes (K, 20, 4) of photos; the backbone's maps are not needed."""
        device = next(self.network.parameters()).device
        detections = self.network([image.to(device) / 255 for image in images])
        sizes = [image.new_tensor(image.shape[:0:-1] * 2, dtype=torch.float) for image in images]
        return torch.stack(
            [
                choose(detection["boxes"] / size.to(device))
                for detection, size in zip(detections, sizes, strict=True)
            ]
        )


def choose(detected: Tensor) -> Tensor:
    """The frame and 19 boxes of (N, 4), without near duplicates, best first.

    Where a detector finds fewer, windows fill up, so that every photo has as many: (20, 4).
    """
    fixed = Windows().boxes.to(detected)
    boxes = torch.cat([fixed[:1], detected, fixed[1:]])  # the frame is always there
    order = torch.arange(len(boxes), 0, -1, device=boxes.device, dtype=boxes.dtype)
    best = nms(boxes, order, OVERLAP)
    spare = torch.ones(len(boxes), dtype=torch.bool, device=boxes.device)
    spare[best] = False
    return boxes[torch.cat([best, spare.nonzero()[:, 0]])[:REGIONS]]


def load(name: str) -> Proposer:
    """A Proposer: "windows", "frame" alone, "learned", or "fasterrcnn_resnet50_fpn_v2:DEFAULT".

    The last is any detector of torchvision's with the name of its weights. Raises ValueError for
    a name that nothing knows.
    """
    if name == "windows":
        return Windows()
    if name == "frame":
        return Windows([WHOLE_FRAME])
    if name == "learned":
        learned: Proposer = checkpoint.load(shipped.PROPOSALS).model
        return learned
    network, _, weights = name.partition(":")
    return TorchvisionDetector(network, weights or None)
