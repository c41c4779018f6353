"""A CNN that looks at boxes of photos: the frozen part of image towers."""

from __future__ import annotations

import json
from collections.abc import Sequence

from torch import Tensor, nn

from models import backbones, proposals
from models.proposals import TorchvisionDetector, Windows
from models.regions import RegionFeatures
from models.towers import Sight


class RegionSight(Sight):
    """The CNN features of a photo's boxes, at several resolutions.

    `boxes` names the boxes, see models.proposals: "frame" is the whole photo alone. With `tuned`
    the CNN trains as well.
    """

    def __init__(self, backbone: str, sizes: Sequence[int], boxes: str, tuned: bool) -> None:
        super().__init__()
        network = backbones.load(backbone).requires_grad_(tuned)
        self.features = RegionFeatures(network, network.channels, tuple(sizes))
        self.channels = self.features.channels
        self.proposer = proposals.load(boxes)
        self.backbone, self.tuned = backbone, tuned
        self.packaged = () if tuned else ("features.",)
        if tuned and not isinstance(self.proposer, Windows | TorchvisionDetector):
            raise ValueError(
                "learned proposals read what the frozen backbone sees: with a tuned backbone "
                "use proposals = 'windows', or a detector of torchvision's"
            )
        if isinstance(self.proposer, nn.Module):
            self.proposer.requires_grad_(False)

    def forward(self, images: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Features (R, C) and boxes (R, 4) of each uint8 photo (3, H, W)."""
        features, boxes = self.features(images, self.proposer)
        return list(features), list(boxes)

    def key(self) -> str:
        """The CNN, its sizes, and the boxes."""
        return json.dumps([self.backbone, list(self.features.sizes), self.proposer.key()])
