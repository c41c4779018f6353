"""Processor time of checkpoints, from bytes to vectors.

And their ratio.

Checkpoints take turns over the same photos, so that other load affects all of them.

    python -m benchmarks.models.embedding_speed photos/ \\
        models/pretrained/matcher-light.safetensors models/pretrained/matcher.safetensors
    python -m benchmarks.models.embedding_speed photos/ models/pretrained/matcher.safetensors \\
        --inference torch openvino
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from pathlib import Path
from statistics import median

import torch

from models import checkpoint
from models.registry import Matcher
from models.vision import backbones
from models.vision.images import decode
from models.vision.photo_decoding import DISPLAY_SIDE

PHOTOS = (".jpg", ".jpeg", ".png", ".webp")


def load(file: Path, inference: str) -> Matcher:
    """Load a matcher, with its networks run by a library."""
    backbones.choose_inference(inference)
    matcher: Matcher = checkpoint.load(file).model
    return matcher


def seconds(matcher: Matcher, batch: list[bytes]) -> float:
    """The seconds of one photo in a batch."""
    began = time.perf_counter()
    matcher.embed_images([decode(data, longest=DISPLAY_SIDE).pixels for data in batch])
    return (time.perf_counter() - began) / len(batch)


def main() -> None:
    """Time the checkpoints in turns; print medians and ratios to the first."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("photos", type=Path)
    options.add_argument("checkpoints", type=Path, nargs="+")
    options.add_argument("--batch", type=int, default=8)
    options.add_argument("--rounds", type=int, default=11)
    options.add_argument("--inference", choices=backbones.INFERENCES, nargs="+", default=["torch"])
    options.add_argument("--threads", type=int, default=torch.get_num_threads())
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    files = sorted(file for file in chosen.photos.rglob("*") if file.suffix.lower() in PHOTOS)
    batch = [file.read_bytes() for file in files[: chosen.batch]]
    kinds = list(product(chosen.checkpoints, chosen.inference))
    matchers = [load(file, inference) for file, inference in kinds]
    for matcher in matchers:
        seconds(matcher, batch)  # memory and caches
    rounds = [[seconds(matcher, batch) for matcher in matchers] for _ in range(chosen.rounds)]
    print(f"{len(batch)} photos a pass, {chosen.rounds} rounds, {chosen.threads} threads")
    for number, (file, inference) in enumerate(kinds):
        each = [1000 * round_[number] for round_ in rounds]
        ratio = median(round_[number] / round_[0] for round_ in rounds)
        spread = f"{min(each):.0f}–{max(each):.0f}"
        print(
            f"{file.name}, {inference}: {median(each):.0f} ms a photo ({spread}), "
            f"{ratio:.2f} of the first"
        )


if __name__ == "__main__":
    main()
