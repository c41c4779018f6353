"""Processor time of checkpoints, from bytes to vectors.

And their ratio.

Checkpoints take turns over the same photos, so that other load affects all of them.

    python -m benchmarks.models.embedding_speed photos/ \\
        models/pretrained/matcher-light.safetensors models/pretrained/matcher.safetensors
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median

import torch

from models import checkpoint
from models.registry import Matcher
from models.vision.images import decode
from models.vision.photo_decoding import DISPLAY_SIDE

PHOTOS = (".jpg", ".jpeg", ".png", ".webp")


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
    options.add_argument("--threads", type=int, default=torch.get_num_threads())
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    files = sorted(file for file in chosen.photos.rglob("*") if file.suffix.lower() in PHOTOS)
    batch = [file.read_bytes() for file in files[: chosen.batch]]
    matchers = [checkpoint.load(file).model for file in chosen.checkpoints]
    for matcher in matchers:
        seconds(matcher, batch)  # memory and caches
    rounds = [[seconds(matcher, batch) for matcher in matchers] for _ in range(chosen.rounds)]
    print(f"{len(batch)} photos a pass, {chosen.rounds} rounds, {chosen.threads} threads")
    for number, file in enumerate(chosen.checkpoints):
        each = [1000 * round_[number] for round_ in rounds]
        ratio = median(round_[number] / round_[0] for round_ in rounds)
        spread = f"{min(each):.0f}–{max(each):.0f}"
        print(f"{file.name}: {median(each):.0f} ms a photo ({spread}), {ratio:.2f} of the first")


if __name__ == "__main__":
    main()
