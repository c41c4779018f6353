"""Commands of the results page: reproduce, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    Parser,
    Photos,
    Runs,
    format_epoch,
    plain_errors,
    read_described,
    report_shared,
)
from training.report import measurements

if TYPE_CHECKING:
    from training.report.reproduce import Training

PAGE = Path("docs/research/results.md")


def reproduce_rows(
    data: Data,
    images: Images = None,
    out: Runs = RUNS,
    cache: Cache = FEATURES,
    only: Annotated[
        list[str] | None, typer.Option(help="A preset; may be given more than once.")
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="Trainings of each preset that has epochs.")
    ] = 5,
    photos: Photos = None,
    results: Annotated[
        Path, typer.Option(help="The file that gets a line for each run.")
    ] = measurements.FILE,
    page: Annotated[Path, typer.Option(help="The page to write.")] = PAGE,
    device: Device = "cpu",
    parser: Parser = None,
) -> None:
    """Train the results page's missing rows, and write the page.

    An interrupted run continues at the next call.

    Example: tessera reproduce --data flickr8k/ --only dvsa
    """
    console = Console(stderr=True)
    with plain_errors(console, parser, device):
        from training.matchers import preset as presets
        from training.report import page as report
        from training.report import reproduce
        from training.report.systems import SYSTEMS
        from training.runs import presets as inheritance
        from training.runs import progress
        from training.runs.folder import RunPlace

        names = only or [system.preset for system in SYSTEMS]
        for name in names:
            if inheritance.needs_adopted(name):
                raise ValueError(
                    f"{name} learns on an adopted encoder, which is none of the page's rows: "
                    f"use `tessera train {name} --start CHECKPOINT`"
                )
        corpus = report_shared(console, read_described(console, data, images))
        rows = [presets.read(name).with_photos(photos).fit_to(corpus) for name in names]
        stored = report.read(results).values()
        trainings = reproduce.plan(rows, corpus, RunPlace(out, cache, device), seeds)
        begun = map(measurements.read_file, out.glob("*/run.json"))
        paces = reproduce.measure_paces([*begun, *stored])
        console.print(describe_plan(trainings, paces))
        failures = reproduce.reproduce(
            trainings,
            corpus,
            reproduce.Publisher(results, page),
            progress=progress.on(console),
            on_start=lambda job: console.print(f"{job.name}: {describe_left(job)}"),
            on_epoch=lambda record: console.print(format_epoch(record)),
        )
        if failures:
            raise ArithmeticError(
                "; ".join(f"{name}: {reason}" for name, reason in failures.items())
            )
    typer.echo(page)


def write_report(
    results: Annotated[Path, typer.Argument(help="The file of measurements, a line for each.")],
    out: Annotated[Path, typer.Argument(help="The Markdown file to write.")],
    add: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="First add a run.json, named by its folder, or a file of evaluate's --json.",
        ),
    ] = None,
) -> None:
    """Write the tables of results from stored measurements.

    Example: tessera report benchmarks/measurements.jsonl docs/research/results.md --add mine.json
    """
    console = Console(stderr=True)
    with plain_errors(console):
        from training.report import drawing
        from training.report import page as report

        if not drawing.is_available():
            console.print(f"no pictures without matplotlib: {drawing.INSTALL}", markup=False)
        report.publish(results, out, add or ())


def describe_plan(trainings: Sequence[Training], paces: Mapping[str, float]) -> str:
    """Describe the trainings to do, and their time."""
    from index.progress import duration
    from training.report import reproduce

    to_do = [training for training in trainings if training.left]
    lines = [f"{len(trainings) - len(to_do)} of {len(trainings)} trainings are finished."]
    lines += [
        f"{training.name} was made with other options than its preset has now: delete "
        f"{training.place.out / training.name} to train it again."
        for training in trainings
        if training.changed
    ]
    if to_do:
        lines.append(
            "To do: "
            + ", ".join(f"{training.name} ({describe_left(training)})" for training in to_do)
            + "."
        )
        expected = reproduce.estimate(trainings, paces)
        if expected.seconds:
            lines.append(f"About {duration(expected.seconds)} by the epochs of earlier runs.")
        if expected.unknown:
            lines.append(f"On top, with no earlier run to go by: {', '.join(expected.unknown)}.")
        lines.append("Frozen features that are not in the cache yet come on top too.")
    return "\n".join(lines)


def describe_left(training: Training) -> str:
    """Describe a training's remaining epochs."""
    if not training.preset.schedule.epochs:
        return "solved, without epochs"
    return "1 epoch" if training.left == 1 else f"{training.left} epochs"
