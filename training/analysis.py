"""The commands that measure a checkpoint and look inside: evaluate, magnitudes, regions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from models import checkpoint
from models.checkpoint import Checkpoint
from training import captioning, contact_sheet, grounding, progress, proposals
from training.data import entities, folders
from training.data.corpus import Corpus, Example
from training.evaluation import magnitudes as words
from training.evaluation import measure, regions, tables
from training.evaluation.regions import Region
from training.options import FEATURES, Cache, Data, Device, Images, TrueBoxes, plain_errors
from training.parts import true_boxes
from training.report import slashed

app = typer.Typer()

File = Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="A .safetensors file.")]
Numbers = Annotated[Path | None, typer.Option("--json", help="Write the numbers.")]
Sheet = Annotated[Path, typer.Option("--out", help="The .png of regions to write.")]
Count = Annotated[int, typer.Option(min=1, help="Regions on the sheet.")]


@app.command()
def evaluate(
    file: File,
    data: Data,
    images: Images = None,
    split: str = "val",
    boxes: TrueBoxes = None,
    json_file: Numbers = None,
    cache: Cache = FEATURES,
    device: Device = "cpu",
) -> None:
    """Measure a checkpoint on a split: retrieval and links, captions, localisation or proposals.

    Example: tessera evaluate runs/dvsa-0/matcher.safetensors --data flickr8k/ --split val
    """
    console = Console(stderr=True)
    with plain_errors(console):
        loaded = checkpoint.load(file, device)
        corpus = folders.read(data, images)
        examples, watch = corpus.split(split), progress.on(console)
        title = f"{loaded.name} {loaded.fingerprint}, {corpus.name} {split}"
        shown: Table | str
        if loaded.kind == "captioners":
            score = captioning.evaluate(loaded.model, examples, progress=watch)
            shown, numbers = f"BLEU-1 to 4: {slashed(score.scores)}", {"bleu": score.scores}
        elif loaded.kind in PARTS:
            truth = true_boxes(data, boxes)
            shown, numbers = PARTS[loaded.kind](loaded, examples, truth, cache, watch, device)
        else:
            found = boxes or entities.find(data if data.is_dir() else data.parent)
            truth = entities.read(found) if found else None
            measured = measure.measure(loaded.model, examples, truth, watch, device)
            shown, numbers = tables.metrics(measured, title), asdict(measured)
        Console().print(shown)
    ...
