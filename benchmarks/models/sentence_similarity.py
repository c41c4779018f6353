"""Ranks of sentences by the similarity of texts.

For each way to compare two sentences by their bags: how often the first other sentence is of the
same photo (Socher et al. 2014, section 6.1), and the sentence itself is first of all. The ways are
the sum of max with a sentence in a photo's role, inner products and cosines of sums, cosines
without what sums have in common (their mean and first components: Mu & Viswanath 2018; whitened:
Su et al. 2021), both from sums of train, and the packaged MiniLM's own vectors of sentences, which
are means of word pieces and would have to be stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from rich.console import Console

from models import checkpoint
from models.scores.sentences import unit_sums
from models.text.parsing import parse
from models.text.words import LowerMiniLM, piece
from models.types import FragmentBag
from training.data import readers as folders
from training.evaluation.embedding import embed
from training.evaluation.retrieval import Floats, similarity
from training.evaluation.score_matrix import score_matrix
from training.markdown import line
from training.runs.progress import Progress, on

FIRST = (1, 2, 4)  # components that are taken out
POWERS = (0.25, 0.5, 1.0)  # of the whitening: 1 makes all variances equal
REFERENCES = 1_500  # photos of train, whose sentences tell what all have in common
SLACK = 1e-6  # of rounding
BATCH = 64


def main(
    file: Annotated[Path, typer.Argument(help="A matcher's checkpoint.")],
    data: Annotated[list[Path], typer.Option(help="Folders of photos with sentences.")],
    train: Annotated[Path, typer.Option(help="The folder whose split train has the references.")],
    split: Annotated[str, typer.Option(help="The split to measure on.")] = "val",
) -> None:
    """Print a Markdown table for each folder."""
    progress, matcher = on(Console(stderr=True)), checkpoint.load(file).model
    chosen = folders.read(train).split("train")
    chosen = chosen[:: max(1, len(chosen) // REFERENCES)]
    texts = [text for example in chosen for text in example.sentences]
    references = sum_bags(embed(matcher.embed_sentences, texts, progress, "references"))
    for folder in data:
        examples = folders.read(folder).split(split)
        texts = [text for example in examples for text in example.sentences]
        owners = [number for number, example in enumerate(examples) for _ in example.sentences]
        bags = embed(matcher.embed_sentences, texts, progress, "sentences")
        typer.echo(f"\n{folder.name} {split}: {len(texts):,} sentences of {len(examples):,} photos")
        typer.echo(line(["way", "R@1", "R@5", "R@10", "mean rank", "itself first"]))
        typer.echo("|" + "---|" * 6)
        for way, scores in compare(bags, references, texts, matcher.score, progress):
            ranks, itself = similarity(scores, owners), 100 * share_first(scores)
            numbers = (ranks.recall_1, ranks.recall_5, ranks.recall_10, ranks.mean_rank, itself)
            typer.echo(line([way, *(f"{number:.1f}" for number in numbers)]))


def compare(
    bags: Sequence[FragmentBag],
    references: Floats,
    texts: Sequence[str],
    score: str,
    progress: Progress,
) -> Iterator[tuple[str, Floats]]:
    """Yield each way with its scores (L, L): a row is a query."""
    vectors = [bag.vectors for bag in bags]
    yield "sum of max", score_matrix(vectors, vectors, score, progress=progress).T
    sums = sum_bags(bags)
    yield "inner product of sums", sums @ sums.T
    yield "**cosine of sums**", cosines(sums)
    mean = references.mean(0)
    yield "without the mean", cosines(sums - mean)
    _, deviations, axes = np.linalg.svd(references - mean, full_matrices=False)
    for count in FIRST:
        rest = (sums - mean) - (sums - mean) @ axes[:count].T @ axes[:count]
        yield f"without the mean and {count} components", cosines(rest)
    for power in POWERS:
        scales = (np.maximum(deviations, 1e-4 * deviations[0]) ** -power).astype(np.float32)
        yield f"whitened, power {power:g}", cosines((sums - mean) @ axes.T * scales)
    own = minilm(texts)
    yield "MiniLM's own vectors", cosines(own)
    both: Floats = np.mean([cosines(sums), cosines(own)], axis=0, dtype=np.float32)
    yield "both cosines, mean", both


def sum_bags(bags: Sequence[FragmentBag]) -> Floats:
    """Σ_t s_t of each bag, (L, D), without a catalogue's terms."""
    width = bags[0].vectors.shape[1] - bags[0].of_terms
    return torch.stack([bag.vectors[:, :width].sum(0) for bag in bags]).numpy()


def cosines(vectors: Floats) -> Floats:
    """Cosines (L, L) of vectors (L, D)."""
    units = unit_sums(vectors, np.arange(len(vectors)), vectors.shape[1])
    products: Floats = units @ units.T
    return products


@torch.inference_mode()
def minilm(texts: Sequence[str]) -> Floats:
    """The packaged MiniLM's vector of each text (L, 384)."""
    network, means = LowerMiniLM(), []
    for start in range(0, len(texts), BATCH):
        sentences = [parse(text) for text in texts[start : start + BATCH]]
        for sentence, states in zip(sentences, network(sentences), strict=True):
            ids = piece(sentence).word_ids
            counts = torch.tensor([1, *np.bincount([i for i in ids if i is not None]), 1])
            means.append((states * counts[:, None]).sum(0) / counts.sum())
    stacked: Floats = torch.stack(means).numpy()
    return stacked


def share_first(scores: Floats) -> float:
    """The share of sentences (L, L) ranked first; ties count."""
    own: NDArray[np.float32] = np.diagonal(scores)[:, None]
    return float((scores <= own + SLACK * np.abs(own)).all(axis=1).mean())


if __name__ == "__main__":
    typer.run(main)
