"""Mean ranks (Socher et al. 2014): similarity, search, description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from training.markdown import line, section
from training.report.claims import SIMILARITY, SOLVED, Result
from training.report.measurements import Measurement, name_data
from training.report.papers import DTRNN, NO_CONSTITUENTS, Paper

SAYS = (
    "The mean rank of the nearest sentence of the same photo, of the photo that a sentence "
    "describes, and of a photo's best sentence; lower is better. Published: tables 1 and 2 of "
    "Socher et al. 2014, of 500 sentences and 100 photos."
)
HEAD = ("model", "data", "seeds", "sentences of one photo", "text → image", "image → text",
        "published")  # fmt: skip
MODELS = {  # the paper's names; published ranks of sentences, of search, of description
    "bow": ("BoW", (11.8, 14.6, 21.1)),
    "ctrnn": (f"CT-RNN: {NO_CONSTITUENTS}, not comparable", (15.8, 16.1, 23.9)),
    "rnn": ("Recurrent NN", (18.5, 19.2, 27.1)),
    "cca": ("kCCA, linear kernels", (10.7, 15.9, 18.0)),
    "kcca": ("CCA with radial kernels, not in the paper", ()),
    "dtrnn": ("DT-RNN", (11.1, 13.6, 19.2)),
    "sdtrnn": ("SDT-RNN", (10.5, 12.5, 16.9)),
    "bow-squared": ("BoW, squared loss", (None, 24.7, 30.7)),
    "ctrnn-squared": ("CT-RNN, squared loss, not comparable", (None, 22.2, 29.4)),
    "rnn-squared": ("Recurrent NN, squared loss", (None, 28.4, 31.4)),
    "dtrnn-squared": ("DT-RNN, squared loss", (None, 13.3, 26.8)),
    "sdtrnn-squared": ("SDT-RNN, squared loss", (None, 15.8, 37.5)),
}  # fmt: skip


def sections(
    paper: Paper,
    data: str,
    runs: Mapping[str, Mapping[int, Result]],
    stored: Sequence[Measurement],
) -> list[str]:
    """Write a paper's table of mean ranks."""
    if paper.name != DTRNN:
        return []
    rows = [
        line([MODELS[preset][0], where, seeds, *map(write_rank, ranks), write_ranks(preset)])
        for preset in MODELS
        for where, seeds, ranks in list_ranks(preset, data, runs, stored)
    ]
    return section(f"Mean ranks, of {data}", SAYS, HEAD, rows)


def list_ranks(
    preset: str,
    data: str,
    runs: Mapping[str, Mapping[int, Result]],
    stored: Sequence[Measurement],
) -> Iterator[tuple[str, Any, tuple[float | None, ...]]]:
    """List a model's ranks by data."""
    if results := runs.get(preset):
        seeds = "–" if SOLVED in results else len(results)
        yield data, seeds, average_ranks(list(results.values()))
    for row in stored:
        if row.get("preset") == preset and "retrieval" in row and "photos" not in data:
            ranks = {**row["retrieval"], SIMILARITY: row.get(SIMILARITY)}
            yield name_data(row), 1, average_ranks([ranks])


def average_ranks(results: Sequence[Result]) -> tuple[float | None, ...]:
    """Average the three mean ranks over seeds; None if incomplete."""
    return tuple(
        mean(result[way]["mean_rank"] for result in results)
        if all(result.get(way) for result in results)
        else None
        for way in (SIMILARITY, "search", "annotation")
    )


def write_ranks(preset: str) -> str:
    """Write published ranks."""
    return " / ".join(map(write_rank, MODELS[preset][1])) or "–"


def write_rank(rank: float | None) -> str:
    """Write a rank, a dash for none."""
    return "–" if rank is None else f"{rank:.1f}"
