"""Recall and cost of candidates, without a catalog: python -m benchmarks.index.candidate_recall.

    python -m benchmarks.index.candidate_recall --real .bench/real --work .bench/work \\
        --photos 1000000

Keeps one summary a photo and the true answers in --work: 0.5 GB for 1,000,000 photos. Photos are
grown once, block after block, which takes two to three minutes of a core for 1,000,000 and 20
queries of each kind. Segments are as large as the follower's largest. What a query negates is left
out of the choice here.
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.index import questions, truth
from benchmarks.index.bags import Bags, BagSource, Floats, Halves, Real
from benchmarks.index.growth import GrownCollection, add_places
from benchmarks.index.truth import TOP, TrueAnswers
from index.segments import candidates
from index.segments.candidates import Structure
from index.segments.follower import Sizes
from index.segments.rows import Rows, empty
from models.scores.half_dots import HalfDots
from models.text.queries import Query

SHARES = (0.5, 0.75, 1.0, 1.5)  # of the candidates that a search takes


@dataclass(frozen=True, slots=True)
class ChosenPhotos:
    """A query's photos, the most promising first, and both steps' milliseconds."""

    photos: NDArray[np.int64]
    by_codes: float
    by_summaries: float


def prepare(source: BagSource, queries: Sequence[Query], work: Path) -> tuple[Halves, TrueAnswers]:
    """The first fragment of every photo (B, D) and the true answers, cached."""
    path = work / f"summaries-{source.key}.npy"
    best = truth.find(source, queries, work, lambda: summarize(source, path))
    if not path.exists():  # the answers were there
        deque(summarize(source, path), maxlen=0)
    mapped: Halves = np.load(path, mmap_mode="r")
    return mapped, best


def summarize(source: BagSource, path: Path) -> Iterator[Bags]:
    """A source's blocks; their summaries are in a file after the last."""
    partial = path.with_suffix(".partial")
    shape = (len(source), source.dimension)
    array = np.lib.format.open_memmap(partial, "w+", np.float16, shape)
    start = 0
    for block in source.blocks():
        array[start : start + len(block)] = block.vectors[block.offsets[:-1]]
        start += len(block)
        yield block
    array.flush()
    partial.replace(path)


def rows_of(summaries: Halves) -> Rows:
    """Rows of summaries (B, D) alone, without fragments."""
    none, count = empty(summaries.shape[1]), len(summaries)
    numbers = np.arange(count)
    ones, live = np.ones(count, np.float32), np.ones(count, np.bool_)
    return Rows(
        codes=none.codes,
        offsets=np.zeros(count + 1, np.int64),
        scales=ones,
        reach=ones,
        bases=ones,
        summaries=summaries,
        revisions=numbers,
        positions=numbers.astype(np.int32),
        live=live,
    )


@dataclass(frozen=True, slots=True)
class RowsWithCodes:
    """A segment's rows, from photo `first` on, and their codes."""

    first: int
    rows: Rows
    structure: Structure


def divide(summaries: Halves) -> list[RowsWithCodes]:
    """Divide summaries (B, D) into segments, and learn their codes."""
    parts = []
    for first in range(0, len(summaries), Sizes().largest):
        rows = rows_of(summaries[first : first + Sizes().largest])
        structure = candidates.build(rows)
        if structure is None:
            raise SystemExit(f"all of {len(rows):,} photos are scored; give more than 2,048")
        parts.append(RowsWithCodes(first, rows, structure))
    return parts


def choose(parts: Sequence[RowsWithCodes], query: Query, wanted: int) -> ChosenPhotos:
    """The candidate photos of a search for a query."""
    pairs = zip(query.parts, query.weights, strict=True)
    asked = [weight * part.vectors.numpy().sum(0) for part, weight in pairs if weight > 0]
    summed: Floats = np.sum(asked, axis=0, dtype=np.float32)
    begun = time.thread_time()
    coarse = [part.structure.nearest(summed, wanted, None) for part in parts]
    promising = zip(parts, candidates.best(coarse, wanted), strict=True)
    halfway, dots = time.thread_time(), HalfDots(summed[None])
    fine = [
        candidates.multiply_summaries(part.rows, listed.rows, dots) for part, listed in promising
    ]
    ended = time.thread_time()
    found = [part.first + listed.rows for part, listed in zip(parts, fine, strict=True)]
    order = np.argsort(-np.concatenate([listed.products for listed in fine]))
    return ChosenPhotos(
        np.concatenate(found)[order], 1000 * (halfway - begun), 1000 * (ended - halfway)
    )


def report(
    parts: Sequence[RowsWithCodes], queries: Sequence[Query], best: TrueAnswers, first: int
) -> str:
    """Recall by the number of candidates, and both steps' median processor time."""
    pairs = zip(queries[0].parts, queries[0].weights, strict=True)
    words = sum(len(part) for part, weight in pairs if weight > 0)
    rows = sum(len(part.rows) for part in parts)
    wider = candidates.WIDER if min(queries[0].weights) < 0 else 1
    most = candidates.count_candidates(rows, TOP, words)
    wanted, most = wider * candidates.count_by_codes(rows, most), wider * most
    choices = [choose(parts, query, wanted) for query in queries]
    recalls = []
    for share in SHARES:
        count = round(share * most)
        photos = [choice.photos[:count].tolist() for choice in choices]
        each = [best.recall(number, listed) for number, listed in enumerate(photos, first)]
        recalls.append(f"{count}: {np.mean(each):.4f}")
    by_codes = np.median([choice.by_codes for choice in choices])
    by_summaries = np.median([choice.by_summaries for choice in choices])
    return f"{', '.join(recalls)}; codes {by_codes:.2f} ms, summaries {by_summaries:.2f} ms"


def main() -> None:
    """Print a line for each kind of query."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_places(parser)
    parser.add_argument("--photos", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=60, help="of each kind")
    asked = parser.parse_args()
    source = GrownCollection(Real(asked.real), "images", asked.photos)
    kinds = questions.KINDS["images"]
    queries = [questions.read(source.real, kind, asked.queries) for kind in kinds]
    asked.work.mkdir(parents=True, exist_ok=True)
    summaries, best = prepare(source, [*chain.from_iterable(queries)], asked.work)
    begun = time.perf_counter()
    parts = divide(summaries)
    taken = time.perf_counter() - begun
    size = (parts[0].structure.index.code_size + 8) * len(summaries)  # with the numbers of rows
    print(
        f"{len(summaries):,} photos in {len(parts)} segments: codes learned and written in "
        f"{taken:.1f} s, {size / 1e6:,.0f} MB; summaries {summaries.nbytes / 1e6:,.0f} MB"
    )
    first = 0
    for kind, kind_queries in zip(kinds, queries, strict=True):
        print(f"{kind:9} {report(parts, kind_queries, best, first)}", flush=True)
        first += len(kind_queries)


if __name__ == "__main__":
    main()
