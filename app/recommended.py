"""Recommended pretrained encoders, with published facts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Recommended:
    """An encoder of a hub, with its licence, size and speed.

    `licence` is as stated in its repository, `commercial` whether that allows commercial use.
    `megabytes` are of float32 weights, in memory and about to fetch. `photo_ms` and `query_ms` are
    those of docs/use/models.md, of one thread in float32; None if not measured. `recall_1` is text
    to image on Flickr30K in percent, as its owners published it.
    """

    id: str
    licence: str
    commercial: bool
    megabytes: int
    photo_ms: int | None
    query_ms: int | None
    recall_1: float | None


RECOMMENDED = (
    Recommended("google/siglip2-base-patch16-224", "Apache-2.0", True, 1501, 445, 1228, 80.7),
    Recommended("google/siglip2-base-patch16-naflex", "Apache-2.0", True, 1501, None, None, None),
    Recommended("laion/CLIP-ViT-B-32-laion2B-s34B-b79K", "MIT", True, 606, 165, 95, 66.8),
    Recommended("laion/CLIP-ViT-B-16-laion2B-s34B-b88K", "MIT", True, 599, 493, 90, None),
    Recommended("laion/CLIP-ViT-L-14-laion2B-s32B-b82K", "MIT", True, 2051, 2100, 327, None),
    Recommended("google/tipsv2-b14", "Apache-2.0", True, 784, 3146, 59, 80.0),
)
