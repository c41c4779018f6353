"""Commands of the parser, the proposals and the grounder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from models import shipped
from training.cli.options import (
    FEATURES,
    Cache,
    CheckpointOut,
    Data,
    Device,
    Images,
    Resume,
    TrueBoxes,
    make_reporter,
    plain_errors,
    read_boxes,
    read_described,
    refuse_state,
    report_shared,
)


def train_parser(
    treebank: Annotated[Path, typer.Argument(help="Folder of *-train, -dev, -test.conllu[.gz].")],
    out: Annotated[Path, typer.Argument(help="The pipeline's folder to write.")],
    seed: int = 0,
) -> None:
    """Train the parser with spaCy, and measure it on test.

    Example: tessera train-parser ud_english_ewt/ parser/
    """
    with plain_errors(Console(stderr=True)):
        from training.language import parser

        parser.train(treebank, out, seed)
        typer.echo(parser.evaluate(parser.split_file(treebank, "test"), out))


def evaluate_parser(
    treebank: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="A .conllu file, gzipped or not.")
    ],
    pipeline: Annotated[Path, typer.Option(help="A pipeline's folder.")] = shipped.PARSER,
) -> None:
    """Measure a parser on a treebank: tags, lemmas, UAS and LAS.

    Example: tessera evaluate-parser ud_english_ewt/en_ewt-ud-test.conllu
    """
    with plain_errors(Console(stderr=True)):
        from training.language import parser

        typer.echo(parser.evaluate(treebank, pipeline))


def train_proposals(
    data: Data,
    out: CheckpointOut,
    images: Images = None,
    boxes: TrueBoxes = None,
    preset: Annotated[
        str, typer.Option(help="One of training/presets/proposers, or a path to a .toml.")
    ] = "detector",
    cache: Cache = FEATURES,
    seed: int = 0,
    device: Device = "cpu",
    resume: Resume = False,
) -> None:
    """Train proposals on true boxes, and measure their recall on split val.

    Example: tessera train-proposals proposals.safetensors --data flickr8k/
    """
    console = Console(stderr=True)
    with plain_errors(console, device=device):
        from training.proposers import preset as proposer_presets
        from training.proposers import train as proposals
        from training.runs.folder import RunPlace

        recalls = proposals.train(
            report_shared(console, read_described(console, data, images)),
            read_boxes(data, boxes),
            RunPlace(out, cache, device, seed),
            proposer_presets.read(preset),
            resume=resume,
            reporter=make_reporter(console),
        )
        shown = ", ".join(f"{recall:.1f} in {count}" for count, recall in recalls.items())
        typer.echo(f"{out}: recall of phrases on val {shown}")


def extract_backbone(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="CHECKPOINT", help="A matcher with its own CNN.", callback=refuse_state
        ),
    ],
    out: CheckpointOut,
) -> None:
    """Write a matcher's tuned CNN to a file, for others.

    Example: tessera extract-backbone runs/lite2-tuned-0/matcher.safetensors
    models/pretrained/lite2-sentences.safetensors
    """
    with plain_errors(Console(stderr=True)):
        from training.matchers import backbones

        typer.echo(backbones.extract(file, out))


def train_grounder(
    data: Data,
    out: CheckpointOut,
    images: Images = None,
    boxes: TrueBoxes = None,
    preset: Annotated[
        str,
        typer.Option(
            help="One of training/presets/grounders, such as weak, which learns without the boxes "
            "of phrases; or a path to a .toml."
        ),
    ] = "supervised",
    cache: Cache = FEATURES,
    seed: int = 0,
    device: Device = "cpu",
    resume: Resume = False,
) -> None:
    """Train the choice of a phrase's box, and measure val.

    Example: tessera train-grounder grounder.safetensors --data flickr8k/
    """
    console = Console(stderr=True)
    with plain_errors(console, device=device):
        from training.evaluation import tables
        from training.grounders import preset as grounder_presets
        from training.grounders import train as grounding
        from training.runs.folder import RunPlace

        recipe = grounder_presets.read(preset)
        localisation = grounding.train(
            report_shared(console, read_described(console, data, images)),
            read_boxes(data, boxes),
            RunPlace(out, cache, device, seed),
            recipe,
            resume=resume,
            reporter=make_reporter(console),
        )
        typer.echo(f"{out}: {tables.format_localisation(localisation)}")
