"""The command `calibrate`: probabilities, from captions or without any."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from training.cli.options import (
    FEATURES,
    Cache,
    ChangedOut,
    Device,
    File,
    Images,
    Numbers,
    Parser,
    plain_errors,
    read_described,
    refuse_state,
)


def calibrate(
    file: File,
    data: Annotated[
        Path | None,
        typer.Option(help="Photos and sentences; without, probabilities are estimated."),
    ] = None,
    images: Images = None,
    photos: Annotated[
        Path | None,
        typer.Option(
            "--reference",
            exists=True,
            file_okay=False,
            help="Without --data: a folder of photos like those to search, up to 2,000.",
        ),
    ] = None,
    check: Annotated[
        list[Path] | None, typer.Option(help="Another corpus, whose split val is measured only.")
    ] = None,
    judge: Annotated[
        Path | None,
        typer.Option("--matcher", help="Ranks the captions of a captioner.", callback=refuse_state),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Photos with complete `labels`, whose held-out ones captions are fitted on too."
        ),
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts", help="Fit texts and texts alone; quick: embeds no photo.")
    ] = False,
    cache: Cache = FEATURES,
    out: ChangedOut = None,
    json_file: Numbers = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the curves into this .svg.")] = None,
    device: Device = "cpu",
    parser: Parser = None,
) -> None:
    """Give a matcher or a captioner probabilities.

    They are fitted on half of val and measured on the other. Without --data, a matcher's are
    estimated from photos without captions: the packaged ones, and those of --reference.

    A captioner's probabilities are for captions that --matcher ranks, as in a service.

    Examples: tessera calibrate matcher.safetensors --data flickr8k/ --check pascal_part/

    tessera calibrate matcher.safetensors --reference ~/Pictures
    """
    console = Console(stderr=True)
    if data is None:
        with plain_errors(console, parser, device):
            if labels:
                raise ValueError("--labels is for the captions of a captioner: give --data, too")
            estimate(file, photos, out or file, console)
        typer.echo(out or file)
        return
    with plain_errors(console, parser, device):
        from models import checkpoint, whole_files
        from training import analysis, probabilities
        from training.data import labels as labelled_photos
        from training.evaluation import reliability, tables
        from training.runs import progress
        from training.runs.folder import RunPlace

        loaded = checkpoint.load(file, device)
        sources = [(data, images), *((folder, None) for folder in check or ())]
        corpora = [read_described(console, *source) for source in sources]
        ranking, place = analysis.load_judge(loaded, judge, device), RunPlace(file, cache, device)
        curves, facts = probabilities.calibrate(
            loaded, ranking, corpora, place, out or file, progress.on(console), texts=texts,
            others=labelled_photos.read_described(labels) if labels else None,
        )  # fmt: skip
        Console().print(tables.format_reliabilities(curves))
        analysis.store(json_file, {"checkpoint": loaded.fingerprint} | facts)
        if picture:
            whole_files.write_text(picture, reliability.draw(curves))
        typer.echo(out or file)


def estimate(file: Path, photos: Path | None, out: Path, console: Console) -> None:
    """Estimate a matcher's probabilities without captions."""
    from training import analysis
    from training.encoders import reference
    from training.runs import progress

    loaded = analysis.load_matcher(file, "cpu")
    for line in reference.calibrate(loaded, file, out, photos, progress.on(console)):
        console.print(line, markup=False, soft_wrap=True)
