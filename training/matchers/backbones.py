"""Backbones tuned by matchers, as files for other matchers."""

from __future__ import annotations

from pathlib import Path

from models import checkpoint, registry
from models.vision import backbones


def extract(file: Path, out: Path) -> Path:
    """Write a matcher's tuned CNN to a file, in half precision.

    Matchers look for it in models.shipped.BACKBONES. ValueError if the checkpoint is no matcher or
    tuned no CNN, LookupError if it tuned one of torchvision's.
    """
    loaded = checkpoint.load(file)
    if loaded.kind != registry.MATCHERS or not loaded.model.tuned:
        raise ValueError(
            f"{file} did not tune a CNN: give a matcher that was trained with tuned = true, such "
            "as one of the preset lite2-tuned"
        )
    sight = loaded.model.sight
    state = checkpoint.collect_weights(sight.features.backbone)
    described = {
        "kind": "backbones",
        "name": out.stem,
        "config": {"start": backbones.origin(sight.backbone)},
        "facts": loaded.facts,
    }
    checkpoint.write(out, {key: value.half() for key, value in state.items()}, described)
    return out
