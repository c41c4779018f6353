"""Pictures of a training in its folder: curves and examples."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from models import checkpoint
from models.matcher import TwoTowerMatcher
from training.data.corpus import Corpus
from training.evaluation.embedding import read_pixels
from training.evaluation.score_matrix import score_matrix
from training.matchers.frozen import FrozenInputs, precision_of
from training.matchers.matching import encode_split
from training.report.drawing import Curve, draw_curves, new_figure, save
from training.report.examples import Row, Shown, draw
from training.runs.folder import RunPlace

CURVES, EXAMPLES = "curves.png", "examples.png"
QUERIES, BEST = 5, 4  # sentences of val, and photos for each


def draw_history(folder: Path) -> Path | None:
    """Draw loss, terms and recalls by epoch; None without epochs.

    LookupError without matplotlib.
    """
    epochs = json.loads((folder / "run.json").read_text("utf-8"))["epochs"]
    panels = [
        ("loss", [curve_of("loss", epochs, lambda epoch: epoch["loss"])]),
        ("terms, before weights", list(term_curves(epochs))),
        ("sum of six recalls", [curve_of("recalls", epochs, lambda epoch: epoch["recall_sum"])]),
    ]
    shown = [(title, curves) for title, curves in panels if curves and curves[0].values]
    if len(epochs) < 2 or not shown:
        return None
    figure, axes = new_figure(3.0, panels=len(shown))
    for panel, (title, curves) in zip(axes, shown, strict=True):
        draw_curves(panel, curves, title, "epoch")
        if len(curves) > 1:
            panel.set_yscale("log")  # a term may be a thousand times another
    return save(figure, folder / CURVES)


def curve_of(label: str, epochs: Sequence[Mapping[str, Any]], value: Any) -> Curve:
    """Make a curve of a value by its measured epochs."""
    points = [(epoch["epoch"], value(epoch)) for epoch in epochs if value(epoch) is not None]
    return Curve(label, [place for place, _ in points], [number for _, number in points])


def term_curves(epochs: Sequence[Mapping[str, Any]]) -> Iterable[Curve]:
    """Give a curve of each of several terms of the loss."""
    names = dict.fromkeys(name for epoch in epochs for name in epoch.get("terms") or ())
    if len(names) > 1:
        for name in names:
            yield curve_of(name, epochs, lambda epoch, name=name: epoch["terms"].get(name))


def draw_examples(file: Path, corpus: Corpus, place: RunPlace) -> Path | None:
    """Draw the photos of val found for some sentences; None without any.

    Green: the photo that the sentence describes. LookupError without matplotlib.
    """
    loaded = checkpoint.load(file, place.device)
    model, examples = loaded.model, corpus.split("val")
    assert isinstance(model, TwoTowerMatcher)
    pairs = FrozenInputs(model, place, precision_of(loaded)).pairs(examples, "val")
    if pairs.truth or not pairs.counts:
        return None
    bags = encode_split(model, pairs, place.device)
    count = min(QUERIES, len(bags.sentences))
    chosen = torch.linspace(0, len(bags.sentences) - 1, count).round().long().tolist()
    sentences = [bags.sentences[position] for position in chosen]
    scores = torch.from_numpy(score_matrix(bags.images, sentences, model.score, place.device))
    texts = [sentence for example in examples for sentence in example.sentences]
    owners, rows = pairs.owners, []
    for column, position in enumerate(chosen):
        best = scores[:, column].topk(min(BEST, len(examples))).indices.tolist()
        photos = [
            Shown(read_pixels(examples[photo].image), f"{rank}. {examples[photo].image.name}",
                  right=photo == owners[position])
            for rank, photo in enumerate(best, 1)
        ]  # fmt: skip
        rows.append(Row(texts[position], photos))
    return draw(rows, file.parent / EXAMPLES)
