"""Region encoders: CNN features pooled in boxes, then an affine map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.layers import PrincipalComponents
from models.types import Box
from models.vision.backbones import Backbone, squash
from models.vision.operators import roi_align
from models.vision.proposals import Proposer

FLAT = 1e-6  # features from which gradients flow
SAMPLE = 20_000  # regions that components are found on
BATCH = 16  # photos that are embedded together


def pool(maps: Tensor, boxes: Tensor) -> Tensor:
    """The mean feature inside each box: maps (K, C, h, w), boxes (K, R, 4) give (K, R, C)."""
    K, C, h, w = maps.shape
    scaled = boxes * boxes.new_tensor([w, h, w, h])  # (K, R, 4) in map cells
    pooled = roi_align(maps, list(scaled), output_size=1, sampling_ratio=-1, aligned=True)
    features: Tensor = pooled.view(K, boxes.shape[1], C)
    return features


def crop(image: Tensor, box: Box) -> Tensor:
    """Cut a box, at least a pixel, from a photo (3, H, W)."""
    height, width = image.shape[1:]
    left, top = int(box.left * width), int(box.top * height)
    right, bottom = round(box.right * width), round(box.bottom * height)
    return image[:, top : max(bottom, top + 1), left : max(right, left + 1)]


class RegionFeatures(nn.Module):
    """CNN_θ(I_b) of eq. 1: CNN features of boxes, at several resolutions.

    One pass over the whole photo for each size, then means inside the boxes: twenty boxes cost
    two passes, not twenty. Photos are squashed to squares, so that the frame is always whole. With
    `crop_size` each box is cut from the photo and seen alone, as R-CNN does, at this size instead:
    twenty boxes cost twenty passes, and `sizes` only find them.
    """

    def __init__(
        self, backbone: Backbone, channels: int, sizes: tuple[int, ...], crop_size: int = 0
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.sizes, self.crop_size = sizes, crop_size
        self.channels = channels if crop_size else channels * len(sizes)

    def forward(self, images: Sequence[Tensor], proposer: Proposer) -> tuple[Tensor, Tensor]:
        """Features (K, R, C · sizes) and boxes (K, R, 4) of uint8 photos (3, H, W)."""
        device = next(self.backbone.parameters()).device
        sizes = self.sizes[-1:] if self.crop_size else self.sizes
        pyramids = [self.backbone.pyramid(squash(images, size, device)) for size in sizes]
        boxes = proposer.propose(images, pyramids[-1])
        if self.crop_size:
            return torch.stack(list(map(self.look_inside, images, boxes))), boxes
        return torch.cat([pool(maps[-1], boxes) for maps in pyramids], dim=-1), boxes

    def look_inside(self, image: Tensor, boxes: Tensor) -> Tensor:
        """Features (R, C) of boxes (R, 4), each cut from the photo (3, H, W)."""
        parts = [crop(image, Box(*corners)) for corners in boxes.tolist()]
        crops = squash(parts, self.crop_size, boxes.device)
        features: Tensor = self.backbone.pyramid(crops)[-1].mean((2, 3))
        return features


class Standardize(nn.Module):
    """Square roots of unit length, standardized by channel as on training data.

    The square root tames the few channels that dominate rectified features (Hellinger kernel).
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("deviation", torch.ones(channels))

    def root(self, features: Tensor) -> Tensor:
        """Non-negative features (…, C) with unit length after their square root."""
        features = features.float()
        if not features.requires_grad:  # in place: fresh memory costs more than the numbers
            roots = features.clamp(min=0).sqrt_()
            return F.normalize(roots, dim=-1, out=roots)
        # At zero a root is infinitely steep: such features move no backbone in training.
        features = torch.where(features > FLAT, features, features.detach())
        return F.normalize(features.clamp(min=0).sqrt(), dim=-1)

    @torch.no_grad()
    def fit(self, features: Iterable[Tensor]) -> None:
        """Measure mean and deviation over training features, each (R, C), one pass."""
        count, total, squares = 0, torch.zeros_like(self.mean), torch.zeros_like(self.mean)
        for photo in features:
            rooted = self.root(photo.to(self.mean.device))
            count += len(rooted)
            total += rooted.sum(0)
            squares += rooted.square().sum(0)
        self.mean.copy_(total / count)
        deviation = (squares / count - self.mean.square()).clamp(min=0).sqrt()
        # Channels that hardly move on training photos must not explode on others.
        self.deviation.copy_(deviation.clamp(min=max(0.1 * float(deviation.median()), 1e-4)))

    def forward(self, features: Tensor) -> Tensor:
        """(…, C) to (…, C)."""
        return self.root(features).sub_(self.mean).div_(self.deviation)


class RegionEncoder(nn.Module):
    """v_i = W_m CNN(I_b) + b_m        (Karpathy & Fei-Fei 2015, eq. 1).

    Shapes: features (…, C) give (…, D). Features are standardized first: `fit` measures how. With
    `components` they are reduced to so many numbers as well, by `precompute`.
    """

    def __init__(self, features: int, embedding: int, dropout: float, components: int = 0) -> None:
        super().__init__()
        self.inputs = components or features
        self.standardize = Standardize(features)
        self.reduce = (
            PrincipalComponents(features, components, whiten=False) if components else None
        )
        self.dropout = nn.Dropout(dropout, inplace=not components)
        self.project = nn.Linear(self.inputs, embedding)

    def fit(self, features: Sequence[Tensor]) -> None:
        """Measure training features, each (R, C); a sample of photos gives the components."""
        self.standardize.fit(features)
        if self.reduce:
            device = self.standardize.mean.device
            every = -(-sum(map(len, features)) // SAMPLE)
            sample = torch.cat([photo.to(device) for photo in features[::every]])
            self.reduce.fit(self.standardize(sample))

    def precompute(self, features: Tensor) -> Tensor:
        """Features (…, C) along their components (…, C'), or as they are without such."""
        return self.reduce(self.standardize(features)) if self.reduce else features

    def forward(self, features: Tensor) -> Tensor:
        """Embed precomputed CNN features of boxes."""
        inputs = features if self.reduce else self.standardize(features)
        embedded: Tensor = self.project(self.dropout(inputs))
        return embedded
