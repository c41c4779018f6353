"""Photos a second on a GPU, by kind of work.

Decoding, features of a matcher, and a network in training.

    python -m benchmarks.training.gpu_speed photos/ models/pretrained/matcher.safetensors
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor

from benchmarks.models.embedding_speed import PHOTOS
from models import checkpoint
from models.vision import backbones
from training.evaluation.embedding import read_photos
from training.report import measurements
from training.runs.cache import BATCH
from training.runs.precision import half_precision

ROUNDS = 5  # the first two, which load kernels, are not counted
SIZES = (288, 384)
PARTS = {None: "the upper half", 0: "all"}  # by the first stage that learns
HEAD = ("work", "photos a second")
SAYS = (
    "Photos a second by `python -m benchmarks.training.gpu_speed`, on one {device} and {cores} "
    "cores: batches of {batch} photos of Flickr8k, of {feature_batch} for features."
)


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


def measure_all(files: Sequence[Path], file: Path, device: str) -> dict[str, float]:
    """Measure photos a second of each kind of work."""
    speeds = {"photos decoded": measure(lambda: read_photos(files), len(files))}
    photos = [pixels.to(device) for pixels in read_photos(files)]
    matcher = checkpoint.load(file, device).model
    few = photos[:BATCH]
    with torch.inference_mode(), half_precision(device, "bfloat16"):
        speeds["features of a matcher"] = measure(lambda: matcher.image_inputs(few), len(few))
    for size in SIZES:
        for first, part in PARTS.items():
            learning = backbones.load("lite2", tuned=True, first_tuned=first).to(device)
            name = f"{part} of Lite2 learns, {size} pixels"
            speeds[name] = measure(partial(learn, learning, photos, size, device), len(photos))
    return speeds


def tabulate(measured: dict[str, Any]) -> list[list[str]]:
    """The rows of the page's table."""
    return [[work, f"{speed:,.0f}"] for work, speed in measured["speeds"].items()]


def main() -> None:
    """Print and store photos a second of each kind of work."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("photos", type=Path)
    options.add_argument("checkpoint", type=Path)
    options.add_argument("--device", default="cuda")
    options.add_argument("--batch", type=int, default=256)
    options.add_argument("--out", type=Path, default=measurements.FILE)
    chosen = options.parse_args()
    device = chosen.device
    files = sorted(file for file in chosen.photos.rglob("*") if file.suffix.lower() in PHOTOS)
    files = (files * (chosen.batch // len(files) + 1))[: chosen.batch]
    name = torch.cuda.get_device_name(device) if device != "cpu" else "the processor"
    speeds = measure_all(files, chosen.checkpoint, device)
    measured = {
        "measures": "gpu-speed",
        "device": name,
        "cores": os.cpu_count(),
        "batch": chosen.batch,
        "feature_batch": BATCH,
        "speeds": speeds,
    }
    measurements.add(chosen.out, {"gpu-speed": measured})
    for kind, speed in speeds.items():
        print(f"{kind}: {speed:.0f} photos a second")


if __name__ == "__main__":
    main()
