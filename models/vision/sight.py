"""CNNs over photos and their boxes: the frozen parts of image towers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from models import shipped
from models.registry import Captioner
from models.towers import Sight
from models.vision import backbones, proposals
from models.vision.backbones import Backbone, squash
from models.vision.proposals import TorchvisionDetector, Windows
from models.vision.regions import RegionFeatures, pool


class RegionSight(Sight):
    """The CNN features of a photo's boxes, at several resolutions.

    `boxes` names the boxes, see models.vision.proposals: "frame" is the whole photo alone. With
    `crop` each box is cut out and seen alone. With `tuned` the CNN trains as well, from the stage
    `first_tuned` on, see models.vision.lite. A trained or tuned CNN is in checkpoints, others in
    packages.
    """

    def __init__(
        self,
        backbone: str,
        sizes: Sequence[int],
        boxes: str,
        tuned: bool,
        crop: int = 0,
        first_tuned: int | None = None,
    ) -> None:
        super().__init__()
        network = backbones.load(backbone, tuned, first_tuned)
        self.features = RegionFeatures(network, network.channels, tuple(sizes), crop)
        self.channels = self.features.channels
        self.proposer = proposals.load(boxes)
        self.backbone, self.tuned = backbone, tuned
        self.retrained = backbone in shipped.BACKBONES
        self.packaged = () if tuned or self.retrained else ("features.",)
        self.stored_in_half = ("features.",) if self.retrained and not tuned else ()
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
        """The CNN, its sizes, the boxes, and weights outside packages."""
        digests = [backbones.digest(self.features.backbone)] if self.retrained else []
        sizes = list(self.features.sizes)
        digests += [f"crop {self.features.crop_size}"] if self.features.crop_size else []
        return json.dumps([self.backbone, sizes, self.proposer.key(), *digests])


class ViewSight(Sight):
    """A photo in several views, and its boxes in one.

    A view is a backbone and a size, "lite2@260"; all backbones have features of one length. `boxes`
    names the boxes, see models.vision.proposals; they are seen in the last view. Backbones tuned by
    this project are in checkpoints, others in packages.
    """

    def __init__(self, views: Sequence[str], boxes: str) -> None:
        super().__init__()
        self.views = tuple(parse_view(view) for view in views)
        self.names = tuple(views)
        networks = {name: backbones.load(name) for name, _ in self.views}
        self.backbones = nn.ModuleDict(networks)
        self.retrained = sorted(networks.keys() & shipped.BACKBONES)
        self.stored_in_half = tuple(f"backbones.{name}." for name in self.retrained)
        packaged = networks.keys() - shipped.BACKBONES
        self.packaged = tuple(f"backbones.{name}." for name in packaged)
        self.channels = next(iter(networks.values())).channels
        if any(network.channels != self.channels for network in networks.values()):
            raise ValueError(f"views {', '.join(views)}: their features differ in length")
        self.proposer = proposals.load(boxes)
        if isinstance(self.proposer, nn.Module):
            self.proposer.requires_grad_(False)

    def forward(self, images: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Features of each uint8 photo (3, H, W), and its boxes (R, 4).

        (V + R - 1, C): the whole photo in each of V views, then the boxes but the whole frame.
        """
        return self.forward_cached(images, {})

    def forward_cached(
        self, images: Sequence[Tensor], known: dict[Any, Any]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """As `forward`, with parts shared between sights computed once."""
        views = [(cast(Backbone, self.backbones[name]), size) for name, size in self.views]
        for network, size in views[:-1]:
            if (network, size) not in known:
                (*_, coarse) = maps_of(network, images, size)
                known[network, size] = coarse.float().mean((2, 3))  # (K, C)
        if ("boxes", views[-1], self.proposer) not in known:
            known["boxes", views[-1], self.proposer] = self.inside_boxes(*views[-1], images)
        frame, regions, boxes = known["boxes", views[-1], self.proposer]
        frames = [known[view] for view in views[:-1]]
        return list(torch.cat([torch.stack([*frames, frame], 1), regions], 1)), list(boxes)

    def inside_boxes(
        self, network: Backbone, size: int, images: Sequence[Tensor]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The last view of K photos: frames (K, C), regions (K, R - 1, C), boxes."""
        maps = maps_of(network, images, size)
        coarse = maps[-1].float()
        boxes = self.proposer.propose(images, maps)  # (K, R, 4)
        return coarse.mean((2, 3)), pool(coarse, boxes[:, 1:]), boxes

    def share(self, other: Sight) -> None:
        """Share networks and the proposer of an equal sight."""
        if not isinstance(other, ViewSight):
            return
        for name in self.backbones.keys() & other.backbones.keys():
            if name not in self.retrained or self.digest(name) == other.digest(name):
                self.backbones[name] = other.backbones[name]
        if self.proposer.key() == other.proposer.key():
            self.proposer = other.proposer

    def digest(self, name: str) -> str:
        """A digest of a network's weights."""
        return backbones.digest(self.backbones[name])

    def regions(self, inputs: Tensor) -> Tensor:
        """The rows (R, C) of a photo's inputs for its boxes, the frame first."""
        return inputs[len(self.views) - 1 :]

    def inside(self, images: Sequence[Tensor], boxes: Sequence[Tensor]) -> list[Tensor]:
        """Features (B, C) of given boxes (B, 4) of each photo (3, H, W), as of regions."""
        name, size = self.views[-1]
        network = cast(Backbone, self.backbones[name])
        maps = maps_of(network, images, size)[-1].float()
        device = maps.device
        return [
            pool(photo_map[None], photo_boxes[None].to(device))[0]
            for photo_map, photo_boxes in zip(maps, boxes, strict=True)
        ]

    def regions_key(self) -> str:
        """The view of the boxes, the boxes, and both's weights outside packages."""
        name = self.views[-1][0]
        retrained = [self.digest(name)] if name in self.retrained else []
        return json.dumps([self.names[-1], self.proposer.key(), *retrained])

    def key(self) -> str:
        """The views, the boxes, and weights outside packages."""
        retrained = [self.digest(name) for name in self.retrained]
        return json.dumps(["views", self.names, self.proposer.key(), *retrained])


def maps_of(network: Backbone, images: Sequence[Tensor], size: int) -> tuple[Tensor, ...]:
    """A network's maps of photos (3, H, W), squashed to squares, fine to coarse."""
    return network.pyramid(squash(images, size, next(network.parameters()).device))


def parse_view(view: str) -> tuple[str, int]:
    """The backbone and size of a view; ValueError shows the form."""
    name, _, size = view.partition("@")
    if not size.isdigit() or int(size) < 32:
        raise ValueError(f"no view {view!r}: write a backbone and a size in pixels, lite0@224")
    return name, int(size)


class Look:
    """A photo (3, height, width) with each sight's features of it, for one thread."""

    def __init__(self, pixels: Tensor) -> None:
        self.pixels = pixels
        self._by_sight: dict[Sight, tuple[Tensor, Tensor]] = {}
        self._by_part: dict[Any, Any] = {}

    @torch.inference_mode()
    def by(self, sight: Sight) -> tuple[Tensor, Tensor]:
        """Inputs (F, C) and boxes (R, 4), computed when a sight is first asked for."""
        if sight not in self._by_sight:
            (inputs,), (boxes,) = sight.forward_cached([self.pixels], self._by_part)
            self._by_sight[sight] = inputs, boxes
        return self._by_sight[sight]


def share_sight(sight: Sight, *captioners: Captioner | None) -> None:
    """Share this sight, or each other's, among captioners with equal ones.

    An equal sight is in memory once, and looks at a photo once. Different sights share their equal
    parts. A sight with a tuned CNN stays alone.
    """
    sights = {} if sight.tuned else {sight.key(): sight}
    for captioner in captioners:
        if captioner is not None and not captioner.sight.tuned:
            captioner.sight = sights.setdefault(captioner.sight.key(), captioner.sight)
            for other in sights.values():
                captioner.sight.share(other)
