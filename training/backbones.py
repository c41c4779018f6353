"""Backbones that matchers tuned, as files that views of other matchers read."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from models import checkpoint, registry
from models.backbones import LITES
from models.lite import Lite
from models.sight import RegionSight


def extract(file: Path, out: Path) -> Path:
    """Write the CNN that a matcher's checkpoint tuned to a file of its own, in half precision.

    See models.shipped.BACKBONES for where views look for it. ValueError if the checkpoint is no
    matcher, tuned no CNN, or one of torchvision's.
    """
    loaded = checkpoint.load(file)
    tuned = loaded.kind == registry.MATCHERS and loaded.model.tuned
    name = cast(RegionSight, loaded.model.sight).backbone if tuned else ""
    if name not in LITES:
        raise ValueError(
            f"{file} did not tune an EfficientNet-Lite: give a matcher that was trained with "
            "tuned = true, such as one of the preset lite2-tuned"
        )
    network = cast(Lite, loaded.model.sight.features.backbone)
    weights = {key: value.half() for key, value in checkpoint.trained_state(network).items()}
    described = {
        "kind": "backbones",
        "name": out.stem,
        "config": {"start": name},
        "facts": loaded.facts,
    }
    checkpoint.write(out, weights, described)
    return out
