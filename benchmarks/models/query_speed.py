"""Texts to query vectors by torch and by OpenVINO, in turns.

    python -m benchmarks.models.query_speed shared/data/flickr8k

Held-out sentences of 12 words, and their phrases of an adjective and a noun, each embedded by both
one after the other. Prints medians of milliseconds by the clock and of the process's processors,
the median ratio of torch to OpenVINO, and the largest difference of a number.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.index.questions import LONG, phrases
from models import checkpoint, inference, shipped
from models.registry import Matcher
from models.text.minilm_layers import LayerStack
from training.data import readers

WARM = 20  # texts of a kind that are not counted
PARSED = 1_500  # sentences that phrases are taken from


def compare(matcher: Matcher, texts: Sequence[str]) -> str:
    """Embed texts by both in turns; return a line of the results."""
    compiled = {
        stack: stack.compiled for stack in matcher.modules() if isinstance(stack, LayerStack)
    }
    taken, difference = [], 0.0
    for number, text in enumerate(texts):
        answers: dict[bool, tuple[list[float], Any]] = {}
        for by_openvino in (True, False) if number % 2 else (False, True):
            for stack, layers in compiled.items():
                stack.compiled = layers if by_openvino else None
            answers[by_openvino] = embed(matcher, text)
        taken.append([answers[False][0], answers[True][0]])
        difference = max(difference, float((answers[True][1] - answers[False][1]).abs().max()))
    for stack, layers in compiled.items():
        stack.compiled = layers
    times = np.array(taken[WARM:])  # (texts, torch and OpenVINO, clock and processors)
    medians, ratios = np.median(times, axis=0), np.median(times[:, 0] / times[:, 1], axis=0)
    return (
        f"clock {medians[0, 0]:.1f} and {medians[1, 0]:.1f} ms, ratio {ratios[0]:.2f}; processors "
        f"{medians[0, 1]:.1f} and {medians[1, 1]:.1f} ms, ratio {ratios[1]:.2f}; largest "
        f"difference {difference:.1e}"
    )


def embed(matcher: Matcher, text: str) -> tuple[list[float], torch.Tensor]:
    """Milliseconds by the clock and of processors, and the vectors."""
    clock, processors = time.perf_counter(), time.process_time()
    (bag,) = matcher.embed_sentences([text])
    spent = time.perf_counter() - clock, time.process_time() - processors
    return [1_000 * part for part in spent], bag.vectors


def main() -> None:
    """Print a line for each kind of text."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--matcher", type=Path, default=shipped.MATCHER)
    parser.add_argument("--texts", type=int, default=120)
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    inference.choose("openvino")
    matcher = checkpoint.load(asked.matcher).model.eval()
    held_out = readers.read(asked.data).split("val")
    sentences = [text for example in held_out for text in example.sentences]
    long = [text for text in sentences if len(text.split()) == LONG]
    short, _ = phrases(sentences[:PARSED], asked.texts)
    for kind, texts in ((f"{LONG} words", long), ("2 words", short)):
        print(f"{kind}: {compare(matcher, texts[: asked.texts])}", flush=True)


if __name__ == "__main__":
    main()
