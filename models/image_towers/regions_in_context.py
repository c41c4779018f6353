"""Image tower of the shipped matcher: the photo, plus its regions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.text import classes
from models.text.words import MINILM_HIDDEN
from models.towers import LIKELIHOOD_SCALE, ImageTower
from models.types import PaddedBags
from models.vision import backbones
from models.vision.conse import NamedPhotos
from models.vision.regions import RegionEncoder, Standardize
from models.vision.sight import ViewSight

FRAME = -1.0  # the whole frame's prior: between the second box's and the third's
FEATURES = 4.0  # the length from which features start, where the names of classes have `names`


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes and switches of the tower's parts.

    `views` are backbones with a size, such as "lite2@260"; boxes are seen in the last view.
    `proposals` names the boxes, see models.vision.proposals; their order is their likelihood.
    With `maximum` the photo's features also have the largest value of each feature over the
    regions: a mean over the whole photo hides small things.

    `classifiers` are the views with a packaged classifier in use; without any there are no names.
    `names` and `region_names` are the first weights of names, for the whole photo and for regions.
    `region_classes` is the share of the regions' mean class probabilities in the photo's.

    `likelihood` adds one number to every vector, for a text tower with a `prior`. `conse` adds as
    many numbers for the classes' names, for a text tower with the same `conse`, see
    models.vision.conse. `temperature` is the first scale of scores.
    """

    views: tuple[str, ...] = ("lite0@224", "lite0@448")
    classifiers: tuple[str, ...] = ()
    names: float = 1.0
    region_names: float = 0.0
    region_classes: float = 0.0
    maximum: bool = False
    proposals: str = "windows"
    likelihood: bool = False
    conse: int = 0
    embedding: int = 256
    photo_dropout: float = 0.4
    region_dropout: float = 0.4
    region_scale: float = 0.01
    temperature: float = 0.05

    @property
    def reshaped(self) -> tuple[str, ...]:
        """The fields free to change in an average of trained matchers."""
        return ("conse", "embedding")


class Model(ImageTower):
    """v_0 = f of the photo, and v_i = f + l_i of each region i.

    With words s_t whose sum has length one, the sum of max is S_kl = fᵀ Σ_t s_t + Σ_t max_i l_iᵀ
    s_t (l_0 = 0): the match of the whole photo with the whole text, shared out over words, plus
    the regions' match with single words. A word without a better region links to the whole photo.

    f is the unit vector along W x + N e. x are the features of all views, and with `maximum` the
    largest over regions. e is the mean of the vectors of ImageNet's class names, weighted by the
    classifiers' probabilities (ConSE, Norouzi et al. 2014), with `region_classes` also those of
    regions. N starts as the map of a text tower with `names`: before any training, a photo matches
    the names of its classes.

    `conse` appends the names of the whole photo's classes to all fragments, so that links give
    them to the whole photo. `likelihood` appends −log r / ε for the r-th best box and −1 / ε for
    the frame. ε keeps the counterpart in words small, as words are compared with each other in
    text to text search.
    """

    stored_in_half = ("photo.", "regions.project.", "names.")

    def __init__(self, config: Config) -> None:
        sight = ViewSight(config.views, config.proposals)
        super().__init__(config, sight, config.embedding + config.conse + config.likelihood)
        C, D, V = sight.channels, config.embedding, len(config.views)
        self.standardize = nn.ModuleList(Standardize(C) for _ in range(V))
        self.maximum = Standardize(C) if config.maximum else None
        self.photo_dropout = nn.Dropout(config.photo_dropout)
        self.photo = nn.Linear((V + config.maximum) * C, D)
        self.names = ClassNames(config, D) if config.classifiers else None
        if config.conse and not self.names:
            raise ValueError("conse says what classifiers call a photo: name some in classifiers")
        self.conse = NamedPhotos(config.conse) if config.conse else None
        self.regions = RegionEncoder(C, D, config.region_dropout)
        # Regions start by adding nothing, so training starts from one vector a photo.
        nn.init.zeros_(self.regions.project.weight)
        nn.init.zeros_(self.regions.project.bias)
        # Scores are logits: the inverse temperature is a magnitude of the photo's vector.
        self.log_scale = nn.Parameter(torch.tensor(-math.log(config.temperature)))

    def begin(self) -> None:
        """Take the names of classes, and map them along their main directions."""
        for named in (self.names, self.conse):
            if named:
                named.begin()

    def prepare(self, inputs: Sequence[Tensor]) -> None:
        """Measure train's photos and regions apart: means over more cells vary less."""
        V = len(self.config.views)
        for view, standardize in enumerate(self.standardize):
            cast(Standardize, standardize).fit(photo[view : view + 1] for photo in inputs)
        if self.maximum:
            self.maximum.fit(photo[V - 1 :].amax(0, keepdim=True) for photo in inputs)
        self.regions.fit([photo[V:] for photo in inputs])

    def forward(self, inputs: PaddedBags) -> PaddedBags:
        """v_i (K, R, D) of features (K, V + R - 1, C)."""
        V, config = len(self.config.views), self.config
        boxes = inputs.vectors[:, V:]
        x = self.whole(inputs)
        f = self.photo(self.photo_dropout(x)).float()
        added = config.region_scale * self.regions(boxes).float()
        if self.names:
            f = FEATURES * f / x.shape[1] ** 0.5 + config.names * self.names.of_photos(inputs)
            if config.region_names:
                added = added + config.region_names * self.names.of_regions(boxes)
        f = F.normalize(f, dim=-1)[:, None]  # (K, 1, D)
        vectors = self.log_scale.exp() * torch.cat([f, f + added], 1)
        if self.names and self.conse:
            called = self.conse(self.names.probabilities(inputs.vectors))[:, None]  # (K, 1, E)
            called = called.expand(-1, vectors.shape[1], -1)
            vectors = torch.cat([vectors, called], -1)
        if config.likelihood:
            order = torch.arange(vectors.shape[1], device=vectors.device)
            likely = -order.clamp_min(1).float().log()  # (R,)
            likely[0] = FRAME
            likely = likely.expand(len(x), -1)[..., None] / LIKELIHOOD_SCALE
            vectors = torch.cat([vectors, likely], -1)
        return PaddedBags(vectors, inputs.mask[:, V - 1 :])

    @property
    def whole_features(self) -> int:
        """The features of all views, and the largest over regions."""
        return self.photo.in_features

    def standard_features(self, inputs: PaddedBags) -> Tensor:
        """The standardised features (K, V + R - 1, C) of all views, then of the boxes."""
        boxes = inputs.vectors[:, len(self.config.views) :]
        return torch.cat(
            [torch.stack(self.standard_views(inputs), 1), self.regions.standardize(boxes)], 1
        )

    def whole(self, inputs: PaddedBags) -> Tensor:
        """The standardised features of all views together, (K, V · C).

        With `maximum` the largest over regions follow, (K, (V + 1) · C).
        """
        x = self.standard_views(inputs)
        if self.maximum:
            first = len(self.config.views) - 1  # the whole frame is a region, too
            regions, mask = inputs.vectors[:, first:], inputs.mask[:, first:, None]
            x.append(self.maximum(regions.where(mask, 0).amax(1)))  # no feature is below zero
        return torch.cat(x, 1)

    def standard_views(self, inputs: PaddedBags) -> list[Tensor]:
        """The standardised features (K, C) of each view."""
        frames = inputs.vectors[:, : len(self.config.views)].unbind(1)
        views = zip(self.standardize, frames, strict=True)
        return [standardize(frame) for standardize, frame in views]


class ClassNames(nn.Module):
    """The meaning of ImageNet's class names for a photo: N Σ_c p(c | photo) names_c.

    p is the softmax of the mean of the classifiers' logits (ConSE with all 1,000 classes). With
    `region_classes` w it is (1 − w) p + w mean_r p(c | region r), the whole frame one of them.
    """

    vectors: Tensor
    packaged = ("heads.", "region_head.")
    known_start = ("project.",)

    def __init__(self, config: Config, embedding: int) -> None:
        super().__init__()
        views, classifiers = config.views, config.classifiers
        if unknown := sorted(set(classifiers) - set(views)):
            raise ValueError(f"classifiers {unknown} are not among views {list(views)}")
        self.first, self.share = len(views) - 1, config.region_classes
        self.views = [views.index(view) for view in classifiers]
        self.heads = nn.ModuleList(backbones.classifier(view.split("@")[0]) for view in classifiers)
        self.region_head = backbones.classifier(views[-1].split("@")[0])
        self.register_buffer("vectors", torch.zeros(backbones.CLASSES, MINILM_HIDDEN))
        self.project = nn.Linear(MINILM_HIDDEN, embedding, bias=False)
        self.dropout = nn.Dropout(0.1)

    def begin(self) -> None:
        """Take the names' vectors, and their main directions."""
        with torch.no_grad():
            self.vectors.copy_(classes.vectors())
            self.project.weight.copy_(classes.directions(len(self.project.weight)).T)

    def of_photos(self, inputs: PaddedBags) -> Tensor:
        """(K, D) of photos' features in all views and of their boxes, (K, V + R - 1, C)."""
        p = self.probabilities(inputs.vectors)
        if self.share:
            regions, mask = inputs.vectors[:, self.first :], inputs.mask[:, self.first :, None]
            by_region = self.region_head(regions.float()).softmax(-1) * mask  # (K, R, 1000)
            p = (1 - self.share) * p + self.share * by_region.sum(1) / mask.sum(1)
        return self.embed_names(p)

    def probabilities(self, frames: Tensor) -> Tensor:
        """The probabilities (K, 1000) of the classes for features in all views, (K, V, C)."""
        return self.logits(frames).softmax(-1)

    def logits(self, frames: Tensor) -> Tensor:
        """The mean of the classifiers' logits (K, 1000) for features in all views, (K, V, C)."""
        logits = [
            head(frames[:, view].float()) for head, view in zip(self.heads, self.views, strict=True)
        ]
        return torch.stack(logits).mean(0)

    def of_regions(self, boxes: Tensor) -> Tensor:
        """(K, R, D) of features of boxes (K, R, C)."""
        return self.embed_names(self.region_head(boxes.float()).softmax(-1))

    def embed_names(self, probabilities: Tensor) -> Tensor:
        """The projected mean name (…, D) of classes with probabilities (…, 1000)."""
        mean = F.normalize(probabilities @ self.vectors, dim=-1)
        embedded: Tensor = self.project(self.dropout(mean)).float()
        return embedded
