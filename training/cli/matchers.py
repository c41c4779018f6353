"""Commands to make matchers, and a corpus: train, average, scenes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from training.cli.options import (
    FEATURES,
    RUNS,
    Cache,
    Data,
    Device,
    Images,
    Labels,
    NewCheckpoint,
    Parser,
    Photos,
    Resume,
    Runs,
    add_labels,
    format_epoch,
    plain_errors,
    read_described,
    refuse_crowded,
    refuse_state,
    report_shared,
)

if TYPE_CHECKING:
    from training.data.corpus import Corpus
    from training.matchers.preset import Preset
    from training.runs.folder import RunPlace


def train(
    preset: Annotated[str, typer.Argument(help="A preset's name, or a path to a .toml.")],
    data: Data,
    images: Images = None,
    out: Runs = RUNS,
    cache: Cache = FEATURES,
    seed: int = 0,
    device: Device = "cpu",
    parser: Parser = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Instead of the preset's; teachers keep theirs.")
    ] = None,
    photos: Photos = None,
    start: Annotated[
        Path | None,
        typer.Option(help="A checkpoint of the same model to begin with.", callback=refuse_state),
    ] = None,
    labels: Labels = None,
    field: Annotated[
        list[str] | None,
        typer.Option(help="A catalogue's field to make texts of.", show_default="all that fit"),
    ] = None,
    clicks: Annotated[
        Path | None,
        typer.Option(help="A catalogue's queries: .csv or .jsonl of query, id, weight."),
    ] = None,
    resume: Resume = False,
    workers: Annotated[
        int,
        typer.Option(min=1, help="Processes that share each batch, a GPU each where there are."),
    ] = 1,
) -> None:
    """Train a matcher, its preset's teachers first.

    It begins from the start, or from another's weights.

    Examples: tessera train scenes --data scenes/ --epochs 5

    tessera train products --data my-catalogue.jsonl
    """
    console = Console(stderr=True)
    with plain_errors(console, parser, device):
        from training.matchers import preset as presets
        from training.runs.folder import RunPlace
        from training.runs.workers import launch

        refuse_crowded(workers, device)
        shipped = presets.read(preset, start=start)
        catalogue = Catalogue(tuple(field or ()), clicks)
        corpus = report_shared(
            console, add_labels(read_corpus(shipped, data, images, catalogue, console), labels)
        )
        if bool(labels) != bool(shipped.labels):
            raise ValueError(f"--labels and [labels] in the preset {preset} need each other")
        chosen = shipped.with_photos(photos).with_epochs(epochs).fit_to(corpus)
        for change in presets.describe_changes(shipped, chosen):
            console.print(change, markup=False, soft_wrap=True)
        place = RunPlace(out, cache, device, seed, start)
        arguments = chosen, corpus, place, resume, parser
        best = launch(workers, train_in, *arguments) if workers > 1 else train_in(False, *arguments)
        draw_run(best, corpus, place, console)
        typer.echo(best)


def train_in(
    again: bool, preset: Preset, corpus: Corpus, place: RunPlace, resume: bool, parser: str | None
) -> Path:
    """Train in this process, perhaps a worker.

    `again` after a worker was lost.
    """
    from models.text import parsing
    from training.matchers import train as run
    from training.matchers.folders import open_folder
    from training.runs import progress, workers
    from training.runs.folder import SILENT, Reporter

    if parser:
        parsing.choose(parser)
    if place.device == "cuda":
        place = replace(place, device=f"cuda:{workers.local_rank()}")
    console = Console(stderr=True)
    reporter = Reporter(
        progress.on(console), lambda record: console.print(format_epoch(record)), console.print
    )
    begun = again and open_folder(preset, corpus, place).record.is_file()
    return run.train(
        preset,
        corpus,
        place,
        resume=resume or begun,
        reporter=reporter if workers.is_first() else SILENT,
    )


def draw_run(best: Path, corpus: Corpus, place: RunPlace, console: Console) -> None:
    """Draw a run's curves and examples into its folder."""
    from training.report import drawing, run_pictures

    if not drawing.is_available():
        console.print(f"no pictures of the run without matplotlib: {drawing.INSTALL}", markup=False)
        return
    run_pictures.draw_history(best.parent)
    run_pictures.draw_examples(best, corpus, place)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The reading of a catalogue: its fields and customers' queries."""

    fields: tuple[str, ...] = ()
    clicks: Path | None = None


def read_corpus(
    preset: Preset, data: Path, images: Path | None, options: Catalogue, console: Console
) -> Corpus:
    """Read a preset's corpus, and report the fields' roles."""
    from training.data import catalogue

    if not preset.sampling:
        if options != Catalogue():
            raise ValueError(
                f"--field and --clicks need a catalogue, as `products` does: {preset.name}"
            )
        return read_described(console, data, images)
    products = catalogue.training_corpus(data, images, options.fields, options.clicks)
    console.print(products.describe(), markup=False, soft_wrap=True)
    return products.corpus


def write_average(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="CHECKPOINT…", help="Matchers of one preset.", callback=refuse_state
        ),
    ],
    data: Data,
    out: NewCheckpoint,
    start: Annotated[
        float, typer.Option(min=0, max=1, help="The share of what pretrained weights were.")
    ] = 0.0,
    embedding: Annotated[
        int | None,
        typer.Option(min=1, help="Numbers of the joint space to keep.", show_default="all"),
    ] = None,
    conse: Annotated[
        int | None,
        typer.Option(
            min=0, help="Numbers that name a photo, for short texts.", show_default="as trained"
        ),
    ] = None,
    references: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Photos that texts are compared with, for offsets.",
            show_default="as trained",
        ),
    ] = None,
    reference_sentences: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Texts that photos are compared with, for offsets.",
            show_default="as trained",
        ),
    ] = None,
    offset_weights: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Weights of texts' and photos' offsets.", show_default="as trained"),
    ] = None,
    images: Images = None,
    labels: Labels = None,
    cache: Cache = FEATURES,
    device: Device = "cpu",
) -> None:
    """Average matchers of different seeds, and validate the average.

    Options from --embedding to --offset-weights change its vectors; a single checkpoint may be
    given. Where --labels are given, references are of both kinds of photos.

    Example: tessera average runs/x-*/matcher.safetensors --data flickr8k/ --out mean.safetensors
    """
    console = Console(stderr=True)
    with plain_errors(console, device=device):
        from training.matchers import average as averaging
        from training.runs import progress
        from training.runs.folder import RunPlace

        validation = averaging.write(
            files,
            add_labels(read_described(console, data, images), labels),
            start,
            RunPlace(out, cache, device),
            progress.on(console),
            averaging.VectorSizes(
                embedding, conse, references, reference_sentences, offset_weights
            ),
        )
        typer.echo(
            f"{out}: R@1 {validation.annotation.recall_1:.1f} {validation.search.recall_1:.1f}  "
            f"sum {validation.recall_sum:.1f}"
        )


def blend(
    new: Annotated[
        Path,
        typer.Argument(help="A matcher of the preset tessera or its heirs.", callback=refuse_state),
    ],
    former: Annotated[
        Path, typer.Argument(help="Another one of the same shape.", callback=refuse_state)
    ],
    data: Data,
    out: NewCheckpoint,
    share: Annotated[float, typer.Option(min=0, max=1, help="The share of the former one.")] = 0.0,
    network: Annotated[
        float, typer.Option(min=0, max=1, help="The share of the packaged CNN in the tuned one.")
    ] = 0.0,
    images: Images = None,
) -> None:
    """Draw a matcher and its CNN towards former ones.

    Joint spaces are rotated onto each other by texts of train. Calibrate the blend again; its CNN
    goes back to the packaged one.

    Example: tessera blend new.safetensors models/pretrained/matcher.safetensors --share 0.4
    --network 0.35 --data flickr8k/ --out matcher.safetensors
    """
    console = Console(stderr=True)
    with plain_errors(console):
        from training.matchers import blend as blending

        corpus = read_described(console, data, images)
        typer.echo(blending.write(new, former, corpus, share, network, out))


def scenes(
    folder: Annotated[Path, typer.Argument(help="Where to write the corpus.")],
    count: Annotated[int, typer.Option("--train", min=2, help="Scenes to train on.")] = 400,
    val: Annotated[int, typer.Option(min=2, help="Scenes to validate on.")] = 100,
    seed: int = 0,
) -> None:
    """Write a corpus of synthetic scenes with true boxes.

    Example: tessera scenes scenes/ && tessera train scenes --data scenes/
    """
    with plain_errors(Console(stderr=True)):
        from training.data import synthetic

        synthetic.write(folder, {"train": count, "val": val}, seed)
    typer.echo(folder)
