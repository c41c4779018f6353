"""Milliseconds of new texts' vectors, by torch and by compiled loops.

    python -m benchmarks.models.text_speed models/pretrained/matcher.safetensors

Texts are those of `benchmarks.index.stages`; parts of them go to both in turns. Vectors are
compared with each other, and by their best of the held-out photos.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median

import numpy as np
import torch

from benchmarks import machine
from benchmarks.index.bags import Bags, Real
from benchmarks.index.stages import read_texts
from benchmarks.index.truth import TOP
from models import checkpoint
from models.registry import Matcher
from models.scores.kernels import Floats
from models.text import parsing
from models.text.words import quicken

PART = 20  # texts that one of them gets before the other
BATCH = 64  # texts of an import that are embedded together
WARM = 5  # of these, those that are not counted


def embed(matcher: Matcher, texts: Sequence[str]) -> tuple[list[Floats], list[float]]:
    """Compute the vectors (T, D) of each text, and its milliseconds."""
    vectors, milliseconds = [], []
    for text in texts:
        parsing.parse(text)  # which is remembered, and the same for both
        began = time.perf_counter()
        (bag,) = matcher.embed_sentences([text])
        milliseconds.append(1000 * (time.perf_counter() - began))
        vectors.append(bag.vectors.numpy())
    return vectors, milliseconds[WARM:]


def embed_together(matcher: Matcher, texts: Sequence[str]) -> float:
    """Compute the vectors of many texts; returns the milliseconds of one."""
    began = time.perf_counter()
    matcher.embed_sentences(texts)
    return 1000 * (time.perf_counter() - began) / len(texts)


def find_best(photos: Bags, vectors: Floats) -> list[int]:
    """Find the photos with the highest sums of maxima, best first."""
    products = photos.vectors.astype(np.float32) @ vectors.T
    scores = np.maximum.reduceat(products, photos.offsets[:-1], axis=0).sum(axis=1)
    best: list[int] = np.argsort(-scores)[:TOP].tolist()
    return best


def compare(ours: Sequence[Floats], theirs: Sequence[Floats], photos: Bags) -> str:
    """Describe the differences of vectors, and of their best photos."""
    apart = [
        float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in zip(ours, theirs, strict=True)
    ]
    answers = [
        (find_best(photos, a), find_best(photos, b)) for a, b in zip(ours, theirs, strict=True)
    ]
    first = mean(a[0] == b[0] for a, b in answers)
    shared = mean(len({*a} & {*b}) / TOP for a, b in answers)
    return (
        f"vectors differ by {median(apart):.1e} of their length, at most {max(apart):.1e}; the "
        f"same best of {len(photos):,} photos for {first:.4f} of {len(answers)} texts, and "
        f"{shared:.4f} of their best ten"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--real", type=Path, default=Path(".bench/real"))
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    machine.use(asked.threads)
    real = Real(asked.real)
    exact, quick = (checkpoint.load(asked.checkpoint).model for _ in range(2))
    quicken(quick)
    with torch.inference_mode():
        for kind, texts in read_texts(real, asked.texts).items():
            vectors: tuple[list[Floats], ...] = [], []
            times: tuple[list[float], ...] = [], []
            for start in range(0, len(texts), PART):
                for matcher, listed, spent in zip((exact, quick), vectors, times, strict=True):
                    embedded, milliseconds = embed(matcher, texts[start : start + PART])
                    listed += embedded
                    spent += milliseconds
            torch_ms, loops_ms = map(median, times)
            ratio = median(a / b for a, b in zip(*times, strict=True))
            print(f"{kind}: torch {torch_ms:.2f} ms, loops {loops_ms:.2f} ms, ratio {ratio:.2f}")
            print(compare(vectors[1], vectors[0], real.images("held")), flush=True)
            many = [texts[at : at + BATCH] for at in range(0, len(texts) - BATCH + 1, BATCH)]
            torch_ms, loops_ms = (
                median(embed_together(matcher, part) for part in many) for matcher in (exact, quick)
            )
            print(f"{BATCH} together, each: torch {torch_ms:.2f} ms, loops {loops_ms:.2f} ms")


if __name__ == "__main__":
    main()
