"""Commands to train, change and measure captioners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from training.cli.options import (
    FEATURES,
    Cache,
    ChangedOut,
    CheckpointOut,
    Data,
    Device,
    Images,
    Labels,
    Numbers,
    Resume,
    TrueBoxes,
    add_labels,
    make_reporter,
    plain_errors,
    read_boxes,
    read_described,
    refuse_state,
    report_shared,
)

if TYPE_CHECKING:
    from models.captions.captioning import LanguageCaptioner
    from models.checkpoint import Checkpoint
    from training.data.corpus import Corpus, Example


def train_captioner(
    data: Data,
    out: CheckpointOut,
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
        Path | None,
        typer.Option(help="A captioner's checkpoint to go on with.", callback=refuse_state),
    ] = None,
    images: Images = None,
    labels: Labels = None,
    cache: Cache = FEATURES,
    seed: int = 0,
    device: Device = "cpu",
    resume: Resume = False,
) -> None:
    """Train a captioner, and measure it on split val.

    Photos without sentences are left out.

    Example: tessera train-captioner captioner.safetensors --data flickr8k/
    """
    console = Console(stderr=True)
    with plain_errors(console, device=device):
        from training.captioners import preset as captioner_presets
        from training.captioners import train as captioning
        from training.markdown import slashed
        from training.runs.folder import RunPlace

        score = captioning.train(
            report_shared(console, add_labels(read_described(console, data, images), labels)),
            RunPlace(out, cache, device, seed, start),
            captioner_presets.read(preset),
            text=text,
            resume=resume,
            reporter=make_reporter(console),
        )
        typer.echo(f"{out}: BLEU-1 to 4 on val {slashed(score.bleu)}, CIDEr-D {score.cider:.1f}")


def add_kinds(
    file: Annotated[
        Path, typer.Argument(metavar="CHECKPOINT", help="A captioner.", callback=refuse_state)
    ],
    data: Data,
    images: Images = None,
    labels: Labels = None,
    out: ChangedOut = None,
    cache: Cache = FEATURES,
    device: Device = "cpu",
) -> None:
    """Teach a captioner to see photos without persons or animals.

    It names none in their captions.

    Measured on split train, with WordNet's nouns. The captions change, so the checkpoint loses the
    results of `tessera calibrate`.

    Example: tessera add-kinds captioner.safetensors --data flickr8k/
    """
    console = Console(stderr=True)
    with plain_errors(console, device=device):
        from training.captioners import kinds
        from training.runs import progress
        from training.runs.folder import RunPlace

        place, bars = RunPlace(file, cache, device), progress.on(console)
        rewrite(
            file,
            out,
            add_labels(read_described(console, data, images), labels),
            device,
            lambda loaded, examples: kinds.add_kinds(loaded, examples, place, bars),
        )


def add_endings(
    file: Annotated[
        Path, typer.Argument(metavar="CHECKPOINT", help="A captioner.", callback=refuse_state)
    ],
    data: Data,
    images: Images = None,
    out: ChangedOut = None,
    device: Device = "cpu",
) -> None:
    """Teach a captioner unfinished endings, such as "a" and "large".

    Measured on split train. The captions change, so the checkpoint loses the results of `tessera
    calibrate`.

    Example: tessera add-endings captioner-regions.safetensors --data flickr8k/
    """
    console = Console(stderr=True)
    with plain_errors(console, device=device):
        from training.captioners import endings

        corpus = read_described(console, data, images)
        rewrite(file, out, corpus, device, endings.with_endings)


def rewrite(
    file: Path,
    out: Path | None,
    corpus: Corpus,
    device: str,
    change: Callable[[Checkpoint, Sequence[Example]], LanguageCaptioner],
) -> None:
    """Change a captioner by train's examples with sentences, and write `out`.

    Without `out` it replaces the file.
    """
    from models import checkpoint

    loaded, examples = checkpoint.load(file, device), corpus.list_described("train")
    checkpoint.save(out or file, loaded.kind, loaded.name, change(loaded, examples), loaded.facts)
    typer.echo(out or file)


def evaluate_regions(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="CHECKPOINT", help="A captioner or a matcher.", callback=refuse_state
        ),
    ],
    data: Data,
    images: Images = None,
    boxes: TrueBoxes = None,
    split: str = "val",
    cache: Cache = FEATURES,
    json_file: Numbers = None,
    beam: Annotated[
        int | None, typer.Option(min=1, max=20, help="Hypotheses that a captioner follows.")
    ] = None,
    device: Device = "cpu",
) -> None:
    """Measure captions of true boxes.

    With a matcher, the texts that it retrieves for them.

    A matcher retrieves parts of train's sentences. Scores are against the phrases of a box.

    Example: tessera evaluate-regions captioner-regions.safetensors --data flickr8k/
    """
    console = Console(stderr=True)
    with plain_errors(console, device=device):
        from models import checkpoint
        from models.registry import BEAM
        from training import analysis
        from training.captioners import regions as region_captions
        from training.evaluation.captions.measure import list_missing
        from training.markdown import one_decimal, slashed
        from training.runs import progress
        from training.runs.folder import RunPlace

        loaded, corpus = checkpoint.load(file, device), read_described(console, data, images)
        score, numbers = region_captions.measure_region_captions(
            loaded,
            corpus,
            read_boxes(data, boxes),
            split,
            RunPlace(cache, cache, device),
            progress.on(console),
            beam or BEAM,
        )
        typer.echo(
            f"{numbers['regions']:,} true boxes: BLEU-1 to 4 {slashed(score.bleu)}, METEOR "
            f"{one_decimal(score.meteor)}, ROUGE-L {score.rouge:.1f}, CIDEr-D {score.cider:.1f}"
        )
        for missing in list_missing(score):
            typer.echo(missing)
        data_facts = {"data": corpus.name, "digest": corpus.digest(), "split": split}
        analysis.store(json_file, analysis.name_checkpoint(loaded) | data_facts | numbers)
