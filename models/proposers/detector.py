"""Proposer: a class-agnostic detector on a frozen CNN's maps.

Faster R-CNN (Ren et al. 2015) from torchvision's parts, on the maps for matching: a region proposal
network offers boxes, a head refines and scores each. Its best boxes stand for the papers' "top 19
detections" (Karpathy & Fei-Fei 2015, section 3.1.1).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.vision.operators import (
    AnchorGenerator,
    FastRCNNPredictor,
    ImageList,
    MultiScaleRoIAlign,
    RegionProposalNetwork,
    RoIHeads,
    RPNHead,
)
from models.vision.proposals import choose

RATIOS = (0.4, 1.0, 2.5)  # height over width of anchors
CELLS = 4  # a side of a box's cells for the head
STRIDE = 32  # pixels in a cell of the coarse map


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes; `fine` and `coarse` are channels of the backbone's last two maps.

    `size` is the side in pixels of the photos that the maps are of, `anchors` sides in the same.
    """

    fine: int = 112
    coarse: int = 1280
    size: int = 448
    anchors: tuple[float, ...] = (45.0, 80.0, 130.0, 200.0, 290.0)
    channels: int = 128
    hidden: int = 256
    dropout: float = 0.3
    overlap: float = 0.6  # IoU from which the better of two boxes stands for both
    most: int = 60  # detections of a photo before the frame and overlaps


@dataclass(frozen=True, slots=True)
class Detections:
    """Detections in one photo, best first: boxes (N, 4) in fractions, objectness (N,)."""

    boxes: Tensor
    objectness: Tensor


class Residual(nn.Module):
    """x + ReLU(norm(conv(x))): a cell's surroundings, near or further away."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.around = nn.Conv2d(channels, channels, 3, padding=dilation, dilation=dilation)
        self.norm = nn.GroupNorm(8, channels)

    def forward(self, x: Tensor) -> Tensor:
        """(K, C, h, w) to the same."""
        return x + F.relu(self.norm(self.around(x)))


class Neck(nn.Module):
    """One map from a fine and a coarse map.

    Four cells of the fine map stand side by side in one of the coarse. Rectified features have
    few large values, so they enter by their square roots.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.fine, self.coarse = nn.BatchNorm2d(config.fine), nn.BatchNorm2d(config.coarse)
        self.dropout = nn.Dropout2d(0.1)
        self.enter = nn.Conv2d(4 * config.fine + config.coarse, config.channels, 1)
        self.norm = nn.GroupNorm(8, config.channels)
        self.body = Residual(config.channels, dilation=2)

    def forward(self, fine: Tensor, coarse: Tensor) -> Tensor:
        """(K, C_fine, 2h, 2w) and (K, C_coarse, h, w) to (K, C, h, w)."""
        folded = F.pixel_unshuffle(self.fine(fine), 2)  # (K, 4 C_fine, h, w)
        stacked = torch.cat([folded, self.coarse(coarse.clamp(min=0).sqrt())], dim=1)
        mixed: Tensor = self.body(F.relu(self.norm(self.enter(self.dropout(stacked)))))
        return mixed


class BoxHead(nn.Sequential):
    """Features (N, H) of boxes' cells (N, C, CELLS, CELLS)."""

    def __init__(self, config: Config) -> None:
        super().__init__(
            nn.Flatten(),
            nn.Linear(config.channels * CELLS**2, config.hidden),
            nn.ReLU(),
            nn.Dropout(config.dropout),
            nn.Linear(config.hidden, config.hidden),
            nn.ReLU(),
        )


class Model(nn.Module):
    """Boxes of all kinds of things, best first; a models.vision.proposals.Proposer."""

    stored_in_half = ("neck.enter.", "neck.body.", "rpn.", "heads.")

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.neck = Neck(config)
        self.rpn = proposal_network(config)
        self.heads = refining_heads(config)

    def key(self) -> object:
        """A digest of the weights."""
        state = self.state_dict()
        hashed = hashlib.sha256(json.dumps(asdict(self.config)).encode())
        for name in sorted(state):
            hashed.update(name.encode() + state[name].cpu().contiguous().numpy().tobytes())
        return ["detector", hashed.hexdigest()[:16]]

    @torch.no_grad()
    def propose(self, images: Sequence[Tensor], maps: Sequence[Tensor]) -> Tensor:  # noqa: ARG002 - the maps show enough
        """The frame and 19 boxes (K, 20, 4), from maps as in `forward`."""
        return torch.stack([choose(detections.boxes) for detections in self(maps)])

    def forward(self, maps: Sequence[Tensor]) -> list[Detections]:
        """Detections of each photo from its backbone's maps, in evaluation mode.

        The last two count: (K, C_fine, 2h, 2w) and (K, C_coarse, h, w). ValueError for other maps
        than those it was trained on.
        """
        size = self.config.size
        detections, _ = self.detect(maps, None)
        return [
            Detections(detection["boxes"] / size, detection["scores"]) for detection in detections
        ]

    def loss(self, maps: Sequence[Tensor], truth: Sequence[Tensor]) -> Tensor:
        """The sum of both stages' losses, for true boxes (N, 4) in fractions."""
        targets = [
            {
                "boxes": boxes * self.config.size,
                "labels": torch.ones(len(boxes), dtype=torch.long, device=boxes.device),
            }
            for boxes in truth
        ]
        losses = self.detect(maps, targets)[1]
        return torch.stack(list(losses.values())).sum()

    def detect(
        self, maps: Sequence[Tensor], targets: list[dict[str, Tensor]] | None
    ) -> tuple[list[dict[str, Tensor]], dict[str, Tensor]]:
        """Detections as torchvision gives them, in pixels, or in training its losses."""
        fine, coarse = self.fitting(maps)
        features = {"0": self.neck(fine.float(), coarse.float()).float()}
        K, size = len(coarse), self.config.size
        photos = ImageList(features["0"].new_empty(K, 1, size, size), [(size, size)] * K)
        # Half precision knows a box's edge to two pixels only, so it ends here.
        with torch.autocast(coarse.device.type, enabled=False):
            proposals, first = self.rpn(photos, features, targets)
            detections, second = self.heads(features, proposals, photos.image_sizes, targets)
        return detections, first | second

    def fitting(self, maps: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """The last two maps; ValueError unless their shapes are those of training."""
        config, cells = self.config, self.config.size // STRIDE
        expected = [[config.fine, 2 * cells, 2 * cells], [config.coarse, cells, cells]]
        shapes = [[*feature_map.shape[1:]] for feature_map in maps[-2:]]
        if shapes != expected:
            raise ValueError(
                f"these proposals look at maps {expected} of photos of {config.size} pixels, not "
                f"at {shapes}: use the backbone and the size that they were trained with, or "
                "windows"
            )
        return maps[-2], maps[-1]


def proposal_network(config: Config) -> RegionProposalNetwork:
    """The first stage: anchors in every cell, cut to 150."""
    shapes = len(config.anchors) * len(RATIOS)
    return RegionProposalNetwork(
        AnchorGenerator((config.anchors,), (RATIOS,)),
        RPNHead(config.channels, shapes),
        fg_iou_thresh=0.6,
        bg_iou_thresh=0.3,
        batch_size_per_image=128,
        positive_fraction=0.5,
        pre_nms_top_n={"training": 600, "testing": 600},
        post_nms_top_n={"training": 150, "testing": 150},
        nms_thresh=0.7,
    )


def refining_heads(config: Config) -> RoIHeads:
    """The second stage: refined boxes and their objectness."""
    return RoIHeads(
        MultiScaleRoIAlign(["0"], CELLS, sampling_ratio=2),
        BoxHead(config),
        FastRCNNPredictor(config.hidden, num_classes=2),
        fg_iou_thresh=0.5,
        bg_iou_thresh=0.5,
        batch_size_per_image=32,
        positive_fraction=0.33,
        bbox_reg_weights=None,
        score_thresh=0.0,
        nms_thresh=config.overlap,
        detections_per_img=config.most,
    )
