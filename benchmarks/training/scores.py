"""Trained matchers under either paper's score: python -m benchmarks.training.scores.

A matcher that was trained with one score may retrieve better by another: eq. 6 of Karpathy et al.
(2014) with other numbers n of fragments added to a sentence's, or eq. 8 of Karpathy & Fei-Fei
(2015).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from models import checkpoint
from models.scores.kernels import SMOOTHING
from training.analysis import Exam
from training.data import readers as folders
from training.evaluation.embedding import embed
from training.evaluation.retrieval import Floats, retrieval
from training.evaluation.score_matrix import score_matrix
from training.markdown import line
from training.runs.progress import on

ADDED = (0, 5, 20)  # n of eq. 6; 5 is the paper's


def main(
    files: Annotated[list[Path], typer.Argument(help="Checkpoints of matchers.")],
    data: Annotated[Path, typer.Option(help="Folder of photos and sentences.")],
    cache: Annotated[Path, typer.Option(help="Frozen features are kept in here.")],
    split: Annotated[str, typer.Option(help="The split to measure on.")] = "val",
) -> None:
    """Print the sum of recalls of each checkpoint by each score.

    As a Markdown table.

    Photos' features are those that training keeps in the cache, or are computed into it.
    """
    progress = on(Console(stderr=True))
    examples = folders.read(data).split(split)
    texts = [text for example in examples for text in example.sentences]
    owners = [number for number, example in enumerate(examples) for _ in example.sentences]
    typer.echo(line(["checkpoint", *(f"n = {added}" for added in ADDED), "eq. 8"]))
    typer.echo("|" + "---|" * (len(ADDED) + 2))
    for file in files:
        loaded = checkpoint.load(file)
        images = Exam(examples, {}, cache, progress, "cpu", frozen=True).vectors(loaded)
        bags = embed(loaded.model.embed_sentences, texts, progress, "sentences")
        sentences = [bag.vectors for bag in bags]
        lengths = np.array([len(vectors) for vectors in sentences], np.float32)
        means, sums = (
            score_matrix(images, sentences, score, progress=progress)
            for score in ("mean_of_positive", "sum_of_max")
        )
        totals = means * (lengths + SMOOTHING)
        # Where n is 0, a sentence without fragments has the score 0, as with any other n.
        forms: list[Floats] = [
            (totals / np.maximum(lengths + added, 1)).astype(np.float32) for added in ADDED
        ]
        recalls = [f"{retrieval(scores, owners).recall_sum:.1f}" for scores in [*forms, sums]]
        typer.echo(line([f"{file.parent.name}/{file.stem}", *recalls]))


if __name__ == "__main__":
    typer.run(main)
