"""The command `judge`: runs of a search against judgements."""

from __future__ import annotations

import filecmp
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from index import printing
from training.cli.options import Numbers, plain_errors

if TYPE_CHECKING:
    from training.evaluation.relevance import Comparison, Values


def judge(
    judged: Annotated[
        Path, typer.Argument(metavar="JUDGEMENTS", help=".csv, .jsonl, or TREC's qrels.")
    ],
    run: Annotated[Path, typer.Argument(help="A run of `tessera rank`, or TREC's.")],
    other: Annotated[
        Path | None, typer.Argument(help="The run of another configuration, to compare.")
    ] = None,
    measure: Annotated[
        list[str] | None, typer.Option(help="A measure; may be given more than once.")
    ] = None,
    json_file: Numbers = None,
) -> None:
    """Measure the results of a search against judgements, and compare two configurations.

    Example: tessera judge judgements.csv before.csv after.csv
    """
    with plain_errors(Console(stderr=True)):
        from index import trec as judgements
        from models import whole_files
        from training.evaluation.relevance import MEASURES, relevance

        grades = judgements.by_query(judgements.read(judged))
        files = [run, other] if other else [run]
        runs = [judgements.by_query(judgements.read(file)) for file in files]
        for file, results in zip(files, runs, strict=True):
            refuse_unlike(file, results, judged, grades)
        compared = relevance(grades, runs, measure or MEASURES)
        answered = sum(max(graded.values()) > 0 for graded in grades.values())
        queries = "query" if answered == 1 else "queries"
        count = f"{answered:,} {queries} with an answer"
        printing.print_out(make_table(compared, files), count, sep="\n")
        if json_file:
            numbers = {
                "queries": answered,
                "measures": [asdict(comparison) for comparison in compared],
            }
            whole_files.write_text(json_file, json.dumps(numbers, indent=2) + "\n")


def refuse_unlike(file: Path, results: Values, judged: Path, grades: Values) -> None:
    """Raise ValueError for a run of other queries, or the judgements themselves."""
    if filecmp.cmp(file, judged, shallow=False):
        raise ValueError(f"{file} holds the judgements: give a run, such as `tessera rank` writes")
    if not results.keys() & grades.keys():
        raise ValueError(
            f"{file} has none of the queries of {judged}: it has {next(iter(results))!r}, the "
            f"judgements have {next(iter(grades))!r}"
        )


def make_table(compared: list[Comparison], files: list[Path]) -> Table:
    """Make a table of measures, a column a run.

    Two runs have their difference too.
    """
    columns = ["", *(file.stem for file in files)]
    grid = printing.make_table(
        *columns, *(["difference", "better", "worse", "p"] if len(files) > 1 else [])
    )
    for comparison in compared:
        row = [comparison.measure, *(f"{value:z.3f}" for value in comparison.means)]
        if len(files) > 1:
            p = "–" if comparison.p is None else f"{comparison.p:.4f}"
            row += [
                f"{comparison.means[1] - comparison.means[0]:+z.3f}",
                str(comparison.better),
                str(comparison.worse),
                p,
            ]
        grid.add_row(*row)
    return grid
