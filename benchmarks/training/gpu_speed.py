"""Photos a second on a GPU, by kind of work.

Decoding, features of a matcher, and a network in training.

    python -m benchmarks.training.gpu_speed photos/ models/pretrained/matcher.safetensors
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median

import torch
from torch import Tensor

from benchmarks.models.embedding_speed import PHOTOS
from models import checkpoint
from models.vision import backbones
from training.evaluation.embedding import read_photos
from training.runs.cache import BATCH
from training.runs.precision import half_precision

ROUNDS = 5  # the first two, which load kernels, are not counted
SIZES = (288, 384)


def wait() -> None:
    """Wait until a GPU is done."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def measure(work: Callable[[], object], photos: int) -> float:
    """Measure photos a second, the median of the counted rounds."""
    seconds = []
    for _ in range(ROUNDS):
        wait()
        began = time.perf_counter()
        work()
        wait()
        seconds.append(time.perf_counter() - began)
    return photos / median(seconds[2:])


def learn(network: backbones.Backbone, photos: Sequence[Tensor], size: int, device: str) -> None:
    """Pass photos forwards and backwards."""
    with half_precision(device, "bfloat16"):
        maps = network.pyramid(backbones.squash(photos, size, device))[-1]
    loss = maps.float().mean((2, 3)).square().mean()
    loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped


def main() -> None:
    """Print photos a second of each kind of work."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("photos", type=Path)
    options.add_argument("checkpoint", type=Path)
    options.add_argument("--device", default="cuda")
    options.add_argument("--batch", type=int, default=256)
    chosen = options.parse_args()
    device = chosen.device
    files = sorted(file for file in chosen.photos.rglob("*") if file.suffix.lower() in PHOTOS)
    files = (files * (chosen.batch // len(files) + 1))[: chosen.batch]
    name = torch.cuda.get_device_name(device) if device != "cpu" else "the processor"
    print(f"{name}, batches of {chosen.batch}, of {BATCH} for features")
    print(f"decoded: {measure(lambda: read_photos(files), len(files)):.0f} photos a second")
    photos = [pixels.to(device) for pixels in read_photos(files)]
    matcher = checkpoint.load(chosen.checkpoint, device).model
    with torch.inference_mode(), half_precision(device, "bfloat16"):
        speed = measure(lambda: matcher.image_inputs(photos[:BATCH]), len(photos[:BATCH]))
    print(f"features of {chosen.checkpoint.name}: {speed:.0f} photos a second")
    for size in SIZES:
        for first in (None, 0):
            network = backbones.load("lite2", tuned=True, first_tuned=first).to(device)
            speed = measure(partial(learn, network, photos, size, device), len(photos))
            part = "the upper half of Lite2" if first is None else "all of Lite2"
            print(f"{part} learns at {size} pixels: {speed:.0f} photos a second")


if __name__ == "__main__":
    main()
