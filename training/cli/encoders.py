"""Commands for pretrained encoders: adopt, tune."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console, Group

from index import printing
from training.cli.options import (
    ChangedOut,
    Data,
    Device,
    Images,
    Numbers,
    plain_errors,
    read_described,
    refuse_state,
    require_checkpoint_or_folder,
)

if TYPE_CHECKING:
    from training.encoders.tune import Tuning


def adopt(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FOLDER|HUB-ID",
            help="Weights in the layout of transformers, or a CLIP in open_clip's.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The checkpoint to write, or its folder.",
            show_default="NAME.safetensors",
            callback=require_checkpoint_or_folder,
        ),
    ] = None,
    regions: Annotated[
        float,
        typer.Option(
            "--lambda", min=0, max=1, help="Weight of boxes; 0 leaves the encoder's own score."
        ),
    ] = 0.2,
    recipe: Annotated[
        str | None,
        typer.Option(
            help="Recipe of boxes' vectors: masked, value, tokens, contributed, rollout, or "
            "occluded, the most reliable, a pass for each box.",
            show_default="rollout",
        ),
    ] = None,
    against: Annotated[
        str, typer.Option(help="What boxes are compared with: the photo, or all boxes.")
    ] = "boxes",
    proposals: Annotated[
        str, typer.Option(help="Boxes: windows, or learned (from data for research only).")
    ] = "windows",
    precision: Annotated[
        str, typer.Option(help="Precision of the weights: float32 or bfloat16.")
    ] = "float32",
    pool: Annotated[
        int,
        typer.Option(min=1, help="Patches that share a vector, of retrievers such as ColPali."),
    ] = 1,
    revision: Annotated[
        str | None, typer.Option(help="A commit, tag or branch of the hub's repository.")
    ] = None,
    photos: Annotated[
        Path | None,
        typer.Option(
            "--reference",
            exists=True,
            file_okay=False,
            help="A folder of photos like those to search; up to 2,000 join the packaged ones.",
        ),
    ] = None,
    calibrated: Annotated[
        bool, typer.Option("--calibrate/--no-calibrate", help="Estimate probabilities.")
    ] = True,
) -> None:
    """Adopt a pretrained CLIP, SigLIP, TIPSv2 or ColPali.

    Writes a small checkpoint that names its weights, with probabilities that are estimated without
    captions. `tessera serve --model` does this and serves it.

    If the folder has moved, adopt it again into the same --out: tuned options, maps and calibration
    stay.

    Examples: tessera adopt ~/models/tipsv2-b14 --out tips.safetensors

    tessera adopt google/siglip2-base-patch16-224 --reference ~/Pictures
    """
    console = Console(stderr=True)
    with plain_errors(console):
        from training.encoders import adopt as adopting
        from training.encoders import hub, reference
        from training.runs import progress

        weights = hub.locate(source, revision, partial(console.print, markup=False, soft_wrap=True))
        licence = adopting.check_licence(weights.folder, source)
        for warning in licence.warnings:
            console.print(f"warning: {warning}", style="yellow", markup=False)
        file = adopting.name_checkpoint(weights, out)
        choice = adopting.Choice(regions, recipe, against, proposals, precision, pool)
        adopted = adopting.adopt(
            weights.folder, file, choice, licence.name, weights.name, weights.revision
        )
        for line in adopted.about:
            console.print(line, markup=False, soft_wrap=True)
        if calibrated:
            for line in reference.calibrate_once(file, photos, progress.on(console)):
                console.print(line, markup=False, soft_wrap=True)
    typer.echo(file)


def tune(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="CHECKPOINT",
            help="A checkpoint of `tessera adopt`, not yet trained.",
            callback=refuse_state,
        ),
    ],
    data: Data,
    images: Images = None,
    split: str = "val",
    limit: Annotated[
        int, typer.Option(min=2, help="Photos, drawn at random if there are more.")
    ] = 1000,
    cost: Annotated[
        float,
        typer.Option(min=0, help="Largest loss by boxes, in points of the sum of six recalls."),
    ] = 3.0,
    out: ChangedOut = None,
    json_file: Numbers = None,
    recipe: Annotated[
        list[str] | None,
        typer.Option(
            help="How to make boxes, tried alone; may be repeated.", show_default="all but occluded"
        ),
    ] = None,
    device: Device = "cpu",
) -> None:
    """Choose the weight, making and temperature of boxes on captioned photos.

    Probabilities are estimated again; `tessera calibrate --data` afterwards measures them.

    Example: tessera tune tips.safetensors --data flickr8k/
    """
    console = Console(stderr=True)
    with plain_errors(console, device=device):
        from models import checkpoint
        from training import analysis
        from training.encoders import reference
        from training.encoders import tune as tuning
        from training.runs import progress

        loaded = checkpoint.load(file, device)
        tuning.refuse_others(loaded)
        corpus = read_described(console, data, images)
        examples, part = analysis.sample(corpus.split(split), split, limit)
        matcher, tuned = tuning.tune(
            loaded, examples, cost, progress.on(console), device, recipe or ()
        )
        tuning.store(out or file, loaded, matcher, tuned, f"{corpus.name} {part}")
        for line in reference.calibrate_once(out or file, None, progress.on(console)):
            console.print(line, markup=False, soft_wrap=True)
        printing.print_out(make_tables(tuned))
        analysis.store(json_file, asdict(tuned) | {"data": f"{corpus.name} {part}"})
        typer.echo(out or file)


def make_tables(tuned: Tuning) -> Group:
    """All ways and weights as tables, the chosen one marked."""
    ways = printing.make_table(
        "boxes", "against", "cosine lost with the box grey", "with another box grey"
    )
    for way in tuned.ways:
        ways.add_row(way.recipe, way.against, f"{way.fall:.4f}", f"{way.elsewhere:.4f}")
    trials = printing.make_table(
        "boxes", "against", "λ", "image → text R@1", "text → image R@1", "sum", ""
    )
    for trial in tuned.tried:
        cells = (f"{value:.1f}" for value in (trial.annotation_1, trial.search_1, trial.recall_sum))
        mark = f"chosen, scale {tuned.scale:.0f}" if trial == tuned.chosen else ""
        trials.add_row(trial.recipe, trial.against, f"{trial.regions:g}", *cells, mark)
    return Group(ways, trials)
