"""Processor time and memory of encoders of real sizes.

Their weights are random.

One encoder a process, so that memory is its own: python -m benchmarks.models.encoder_speed clip-b32
With eight bits: python -m benchmarks.models.encoder_speed clip-b32 --precision int8 --recipe value
With torch.compile: python -m benchmarks.models.encoder_speed clip-b32 --compile --recipe value
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import nn

from benchmarks.models.tiny_encoders import MAKERS, Size, save
from models import checkpoint
from models.matcher import TwoTowerMatcher
from training.encoders import adopt as adopting

TEXTS = (
    "a red bus in front of a house",
    "two dogs run along the beach at sunset",
    "a child with a yellow umbrella",
    "people at a long table in a garden",
)
TALL, WIDE = 480, 640  # pixels of a photo
SIZES = {
    "clip-b32": ("clip", Size(768, 12, 12, 224, 32, 77, 512, 8, 49408)),
    "clip-b16": ("clip", Size(768, 12, 12, 224, 16, 77, 512, 8, 49408)),
    "clip-l14": ("clip", Size(1024, 24, 16, 224, 14, 77, 768, 12, 49408)),
    "siglip2-b16": ("siglip", Size(768, 12, 12, 224, 16, 64, 768, 12, 256000)),
    "tipsv2-b14": ("tipsv2", Size(768, 12, 12, 448, 14, 64, 768, 12, 32000)),
}


def adopt(name: str, folder: Path, choice: adopting.Choice) -> TwoTowerMatcher:
    """A matcher with random weights of a real size, adopted as usual."""
    family, size = SIZES[name]
    torch.manual_seed(0)
    save(*MAKERS[family](TEXTS, size), folder / name)
    out = folder / f"{name}.safetensors"
    adopting.adopt(folder / name, out, choice, "", name)
    matcher: TwoTowerMatcher = checkpoint.load(out).model
    return matcher


def seconds(compute: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Median processor and wall time of a few rounds, after a warm-up."""
    compute()
    spent = []
    for _ in range(rounds):
        begun, wall = time.process_time(), time.perf_counter()
        compute()
        spent.append((time.process_time() - begun, time.perf_counter() - wall))
    return median(processor for processor, _ in spent), median(wall for _, wall in spent)


def in_eight_bits(network: nn.Module) -> nn.Module:
    """A copy with affine maps of 8-bit weights, by torch's dynamic quantisation.

    Each row has a scale.

    torch deprecates it, and says so: here it tells what eight bits are worth (decision 0022).
    """
    from torch.ao import quantization

    rows = {nn.Linear: quantization.per_channel_dynamic_qconfig}
    quantise: Any = quantization.quantize_dynamic  # untyped, as torch has it
    quantised: nn.Module = quantise(network, rows, dtype=torch.qint8)
    return quantised


def main() -> None:
    """Print photos and queries a second, weights, and peak memory."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("encoder", choices=SIZES)
    options.add_argument("--batch", type=int, default=2)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--precision", default="float32", help="or bfloat16, or int8 of photos")
    options.add_argument("--recipe", help="the usual one if it is not given")
    options.add_argument("--compile", action="store_true", help="what sees photos, by torch")
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    with tempfile.TemporaryDirectory() as folder:
        eight_bits = chosen.precision == "int8"
        precision = "float32" if eight_bits else chosen.precision
        choice = adopting.Choice(precision=precision, recipe=chosen.recipe)
        matcher = adopt(chosen.encoder, Path(folder), choice)
        if eight_bits:
            vision: Any = matcher.image.sight.vision
            vision.network = in_eight_bits(vision.network)
        if chosen.compile:
            sight: Any = matcher.image.sight
            sight.vision.network = torch.compile(sight.vision.network)
        held = sum(weight.numel() * weight.element_size() for weight in matcher.parameters())
        photos = list(torch.randint(0, 256, (chosen.batch, 3, TALL, WIDE), dtype=torch.uint8))
        photo, wall = seconds(lambda: matcher.embed_images(photos), chosen.rounds)
        query, _ = seconds(lambda: matcher.embed_sentences(TEXTS[:1]), chosen.rounds)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(
        f"{chosen.encoder} {chosen.precision}, {matcher.config.image.options.recipe}, "
        f"{chosen.threads} thread{', compiled' if chosen.compile else ''}: "
        f"{1000 * photo / chosen.batch:.0f} ms of processor time a photo "
        f"({1000 * wall / chosen.batch:.0f} ms on the clock), {1000 * query:.0f} ms a query, "
        f"{held / 1e6:.0f} MB of weights, {matcher.dimension} numbers a fragment, "
        f"{most:.0f} MB in memory at most, making them included"
    )


if __name__ == "__main__":
    main()
