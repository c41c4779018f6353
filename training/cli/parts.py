"""Commands that train and measure a part: captioner, parser, proposals, grounder."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from models import shipped
from training.cli.options import (
    FEATURES,
    Cache,
    Data,
    Device,
    Images,
    Resume,
    TrueBoxes,
    find_boxes,
    plain_errors,
)

if TYPE_CHECKING:
    from models.captions.captioning import Captioner
    from models.checkpoint import Checkpoint
    from training.data.corpus import Example
    from training.data.entities import GroundTruth
    from training.runs.folder import Reporter


def train_captioner(
    data: Data,
    out: Annotated[Path, typer.Argument(help="The .safetensors file to write.")],
    preset: Annotated[
        str, typer.Option(help="One of training/presets/captioners, or a path to a .toml.")
    ] = "attentive",
    text: Annotated[
        Path | None,
        typer.Option(
            help="Sentences without photos, one a line, .txt or .gz, to learn from first."
        ),
    ] = None,
    start: Annotated[
        Path | None, typer.Option(help="A captioner's checkpoint, for presets with a reward.")
    ] = None,
    images: Images = None,
    cache: Cache = FEATURES,
    seed: int = 0,
    device: Device = "cpu",
    resume: Resume = False,
) -> None:
    """Train a captioner, and measure it on split val.

    Example: tessera train-captioner captioner.safetensors --data flickr8k/
    """
    console = Console(stderr=True)
    with plain_errors(console):
        from training.captioners import preset as captioner_presets
        from training.captioners import train as captioning
        from training.data import readers as folders
        from training.markdown import slashed
        from training.runs.folder import Place

        score = captioning.train(
            folders.read(data, images),
            Place(out, cache, device, seed, start),
            captioner_presets.read(preset),
            text=text,
            resume=resume,
            reporter=make_reporter(console),
        )
        typer.echo(f"{out}: BLEU-1 to 4 on val {slashed(score.bleu)}, CIDEr-D {score.cider:.1f}")


def add_kinds(
    file: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="A captioner.")],
    data: Data,
    images: Images = None,
    out: Annotated[
        Path | None, typer.Option(help="The checkpoint to write. [default: CHECKPOINT, anew]")
    ] = None,
    cache: Cache = FEATURES,
    device: Device = "cpu",
) -> None:
    """Teach a captioner of which photos it must name no person, and no animal.

    Measured on split train, with WordNet's nouns. Its captions are others then, so what
    `tessera calibrate` measured is left out. Example: tessera add-kinds captioner.safetensors
    --data flickr8k/
    """
    console = Console(stderr=True)
    with plain_errors(console):
        from training.captioners import kinds
        from training.runs import progress
        from training.runs.folder import Place

        place, bars = Place(file, cache, device), progress.on(console)
        rewrite(
            file,
            out,
            data,
            images,
            device,
            lambda loaded, examples: kinds.add_kinds(loaded, examples, place, bars),
        )


def add_endings(
    file: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="A captioner.")],
    data: Data,
    images: Images = None,
    out: Annotated[
        Path | None, typer.Option(help="The checkpoint to write. [default: CHECKPOINT, anew]")
    ] = None,
    device: Device = "cpu",
) -> None:
    """Teach a captioner which words end no caption, such as "a" and "large".

    Measured on split train. Its captions are others then, so what `tessera calibrate` measured is
    left out. Example: tessera add-endings captioner-regions.safetensors --data flickr8k/
    """
    with plain_errors(Console(stderr=True)):
        from training.captioners import endings

        rewrite(file, out, data, images, device, endings.with_endings)


def rewrite(
    file: Path,
    out: Path | None,
    data: Path,
    images: Path | None,
    device: str,
    change: Callable[[Checkpoint, Sequence[Example]], Captioner],
) -> None:
    """Write a captioner as a change by the examples of train makes it, to `out` or anew."""
    from models import checkpoint
    from training.data import readers as folders

    loaded, examples = checkpoint.load(file, device), folders.read(data, images).split("train")
    checkpoint.save(out or file, loaded.kind, loaded.name, change(loaded, examples), loaded.facts)
    typer.echo(out or file)


def evaluate_regions(
    file: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="A captioner or a matcher.")],
    data: Data,
    images: Images = None,
    boxes: TrueBoxes = None,
    split: str = "val",
    cache: Cache = FEATURES,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the numbers.")] = None,
    beam: Annotated[
        int | None, typer.Option(min=1, max=20, help="Hypotheses that a captioner follows.")
    ] = None,
    device: Device = "cpu",
) -> None:
    """Measure what a captioner says of true boxes, or what a matcher retrieves for them.

    A matcher retrieves parts of train's sentences. BLEU is against the phrases that name a box.

    Example: tessera evaluate-regions captioner-regions.safetensors --data flickr8k/
    """
    console = Console(stderr=True)
    with plain_errors(console):
        from models import checkpoint
        from models.registry import BEAM
        from training import analysis
        from training.captioners import regions as region_captions
        from training.data import readers as folders
        from training.markdown import slashed
        from training.runs import progress
        from training.runs.folder import Place

        loaded, corpus = checkpoint.load(file, device), folders.read(data, images)
        score, numbers = region_captions.measure_region_captions(
            loaded,
            corpus,
            read_boxes(data, boxes),
            split,
            Place(cache, cache, device),
            progress.on(console),
            beam or BEAM,
        )
        typer.echo(f"{numbers['regions']:,} true boxes: BLEU-1 to 4 {slashed(score.scores)}")
        about = analysis.name_checkpoint(loaded) | {"data": corpus.name, "split": split}
        analysis.store(json_file, about | numbers)


def train_parser(
    treebank: Annotated[Path, typer.Argument(help="Folder of *-train, -dev, -test.conllu[.gz].")],
    out: Annotated[Path, typer.Argument(help="The pipeline's folder to write.")],
    seed: int = 0,
) -> None:
    """Train the parser of sentences with spaCy, and measure it on split test.

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
    """Measure a parser on a treebank's gold tokens: tags, lemmas, UAS and LAS.

    Example: tessera evaluate-parser ud_english_ewt/en_ewt-ud-test.conllu
    """
    with plain_errors(Console(stderr=True)):
        from training.language import parser

        typer.echo(parser.evaluate(treebank, pipeline))


def train_proposals(
    data: Data,
    out: Annotated[Path, typer.Argument(help="The .safetensors file to write.")],
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
    with plain_errors(console):
        from training.data import readers as folders
        from training.proposers import preset as proposer_presets
        from training.proposers import train as proposals
        from training.runs.folder import Place

        recalls = proposals.train(
            folders.read(data, images),
            read_boxes(data, boxes),
            Place(out, cache, device, seed),
            proposer_presets.read(preset),
            resume=resume,
            reporter=make_reporter(console),
        )
        shown = ", ".join(f"{recall:.1f} in {count}" for count, recall in recalls.items())
        typer.echo(f"{out}: recall of phrases on val {shown}")


def extract_backbone(
    file: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="A matcher with its own CNN.")],
    out: Annotated[Path, typer.Argument(help="The .safetensors file to write.")],
) -> None:
    """Write the CNN that a matcher tuned to a file of its own, for other matchers.

    Example: tessera extract-backbone runs/lite2-tuned-0/matcher.safetensors
    models/pretrained/lite2-sentences.safetensors
    """
    with plain_errors(Console(stderr=True)):
        from training.matchers import backbones

        typer.echo(backbones.extract(file, out))


def train_grounder(
    data: Data,
    out: Annotated[Path, typer.Argument(help="The .safetensors file to write.")],
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
    """Train which box a phrase means, and measure it on split val.

    Example: tessera train-grounder grounder.safetensors --data flickr8k/
    """
    console = Console(stderr=True)
    with plain_errors(console):
        from training.data import readers as folders
        from training.grounders import preset as grounder_presets
        from training.grounders import train as grounding
        from training.runs.folder import Place

        recipe = grounder_presets.read(preset)
        localisation = grounding.train(
            folders.read(data, images),
            read_boxes(data, boxes),
            Place(out, cache, device, seed),
            recipe,
            resume=resume,
            reporter=make_reporter(console),
        )
        typer.echo(f"{out}: {json.dumps(asdict(localisation))}")


def make_reporter(console: Console) -> Reporter:
    """Reports each epoch on a console."""
    from training.runs import progress
    from training.runs.folder import Reporter

    return Reporter(
        progress.on(console),
        lambda record: console.print(f"epoch {record.epoch:3}  loss {record.loss:.3f}"),
    )


def read_boxes(data: Path, boxes: Path | None) -> GroundTruth:
    """The true boxes of a corpus; LookupError where there are none."""
    from training.data import entities

    file = find_boxes(data, boxes)
    if file is None:
        raise LookupError(f"no {' or '.join(entities.FILES)} beside {data}; give one by --boxes")
    return entities.read(file)
