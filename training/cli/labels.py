"""Commands for photos with complete labels: add-presence, evaluate-labels."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from training.cli.options import (
    Data,
    Device,
    Images,
    Numbers,
    plain_errors,
    read_described,
    refuse_state,
)

File = Annotated[
    Path, typer.Argument(metavar="CHECKPOINT", help="A calibrated matcher.", callback=refuse_state)
]
Labelled = Annotated[
    Path, typer.Option("--labels", help="Folder or .jsonl of photos with complete `labels`.")
]
Limit = Annotated[
    int | None, typer.Option(min=1, help="Photos with labels.", show_default="all of the split")
]


def add_presence(
    file: File,
    labels: Labelled,
    data: Data,
    images: Images = None,
    limit: Limit = None,
    device: Device = "cpu",
) -> None:
    """Fit whether photos show a thing, for negation, captions and boxes.

    Fitted on split train of the labelled photos, and on the half of val of --data that
    `tessera calibrate` fits on. It is written next to the matcher, which stays as it is.

    Example: tessera add-presence matcher.safetensors --labels coco_everyday/ --data flickr8k/
    """
    console = Console(stderr=True)
    with plain_errors(console, device=device):
        from models import checkpoint
        from training import analysis
        from training.data import labels as labelled_photos
        from training.matchers.probabilities import presence
        from training.runs import progress

        loaded = analysis.load_matcher(file, device)
        photos = labelled_photos.read(labels)
        fitted = presence.fit_for(
            loaded,
            photos.train[:limit],
            read_described(console, data, images),
            progress.on(console),
        )
        typer.echo(checkpoint.save_presence(file, fitted))


def evaluate_labels(
    file: File,
    labels: Labelled,
    images: Images = None,
    limit: Limit = None,
    json_file: Numbers = None,
    device: Device = "cpu",
) -> None:
    """Measure searches by label: presence, things, negation and weak hits.

    On split val of the labelled photos; of a file without one, on photos that add-presence leaves
    out.

    Example: tessera evaluate-labels matcher.safetensors --labels coco_everyday/
    """
    console = Console(stderr=True)
    with plain_errors(console, device=device):
        from training import analysis
        from training.data import labels as labelled_photos
        from training.evaluation import label_searches, tables
        from training.evaluation.embedding import embed_photos
        from training.runs import progress

        loaded = analysis.load_matcher(file, device)
        photos = labelled_photos.read(labels, images)
        examples = photos.val[:limit]
        world = label_searches.LabelWorld(
            loaded.model,
            loaded.calibration,
            embed_photos(loaded.model, examples, progress.on(console)),
            photos.names,
            labelled_photos.mark(examples, photos.names),
        )
        measured = label_searches.measure(world)
        Console().print(tables.format_label_searches(measured))
        analysis.store(json_file, analysis.name_checkpoint(loaded) | asdict(measured))
