"""Nearest-neighbour baseline of captions: python -m benchmarks.models.nearest_captions.

Each photo gets a sentence of the photo of train whose CNN features are nearest by the Euclidean
distance (Karpathy & Fei-Fei 2015, section 4.2). The features are those that captioners and matchers
learn from, of the whole frame in the last view of the matcher that ships; the sentence is the first
of its photo. `tessera report --add` stores what --json writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import torch
import typer
from torch import Tensor

from models import checkpoint, shipped
from models.vision.sight import ViewSight
from training import analysis
from training.captioners.train import frozen_inputs
from training.data import entities
from training.data import readers as folders
from training.data.corpus import Example
from training.evaluation.captions.measure import GeneratedCaption, descriptions
from training.evaluation.captions.tables import format_descriptions
from training.matchers.frozen import precision_of
from training.runs.folder import RunPlace
from training.runs.progress import silent


def main(
    data: Annotated[Path, typer.Option(help="Photos with sentences, as for training.")],
    cache: Annotated[Path, typer.Option(help="Frozen features are kept in here.")],
    split: str = "val",
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the numbers.")] = None,
) -> None:
    """Measure sentences of train's nearest photos as captions of a split."""
    loaded, corpus = checkpoint.load(shipped.MATCHER), folders.read(data)
    sight = loaded.model.image.sight
    assert isinstance(sight, ViewSight)
    train, examples = corpus.split("train"), corpus.split(split)
    known, queries = (
        torch.stack([sight.regions(photo)[0] for photo in inputs])
        for inputs in (
            frozen_inputs(
                loaded.model.image, part, RunPlace(cache, cache), precision_of(loaded), silent
            )
            for part in (train, examples)
        )
    )
    captions = [GeneratedCaption(text, {}) for text in nearest(known, queries, train)]
    boxes = entities.find(data)
    measured = descriptions(captions, examples, train, entities.read(boxes) if boxes else {})
    typer.echo(format_descriptions(measured))
    about = {"name": "nearest photo of train", "checkpoint": sight.names[-1]}
    analysis.store(json_file, about | {"data": corpus.name, "split": split} | asdict(measured))


def nearest(known: Tensor, queries: Tensor, train: Sequence[Example]) -> list[str]:
    """The first sentence of train's nearest photo (N, C) to each photo (K, C)."""
    return [train[at].sentences[0] for at in torch.cdist(queries, known).argmin(1).tolist()]


if __name__ == "__main__":
    typer.run(main)
