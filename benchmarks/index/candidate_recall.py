"""Recall and cost of candidates, without a catalog: python -m benchmarks.index.candidate_recall.

    python -m benchmarks.index.candidate_recall --real .bench/real --work .bench/work \\
        --photos 1000000

Keeps one summary a photo and the true answers in --work: 0.5 GB for 1,000,000 photos. Photos are
grown once, block after block, which takes two to three minutes of a core for 1,000,000 and 20
queries of each kind. Segments are as large as the follower's largest of photos without sentences,
where --segment says nothing else. What a query negates is left out of the choice here.
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

from benchmarks import machine
from benchmarks.index import questions, truth
from benchmarks.index.bags import Bags, BagSource, Floats, Halves, Real
from benchmarks.index.growth import GrownCollection, add_places
from benchmarks.index.truth import TOP, TrueAnswers
from index.search.shortlist import SummaryQuery, find_promising
from index.segments import candidates
from index.segments.follower import Sizes
from index.segments.rows import Rows, Side, empty
from index.segments.segment import RevisionSpan, Segment
from models.text.queries import Query
from models.threads import Workers

SHARES = (0.5, 0.75, 1.0, 1.5)  # of the candidates that a search takes


@dataclass(frozen=True, slots=True)
class ChosenPhotos:
    """A query's photos, the most promising first.

    spent and taken: the milliseconds of choosing them, of the processor and by the clock.
    """

    photos: NDArray[np.int64]
    spent: float
    taken: float


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


def divide(summaries: Halves, largest: int) -> list[Segment]:
    """Divide summaries (B, D) into segments of at most `largest` rows."""
    segments = []
    for first in range(0, len(summaries), largest):
        rows, none = rows_of(summaries[first : first + largest]), empty(summaries.shape[1])
        structure = candidates.build(rows)
        span = RevisionSpan(first, first + len(rows), first + len(rows), "")
        sides: dict[Side, Rows] = {"images": rows, "sentences": none}
        segments.append(Segment(span, sides, {"images": structure} if structure else {}))
    return segments


def choose(
    segments: Sequence[Segment], query: Query, by_codes: int, workers: Workers
) -> ChosenPhotos:
    """The candidate photos of a search, of as many rows by codes."""
    pairs = zip(query.parts, query.weights, strict=True)
    asked = [weight * part.vectors.numpy().sum(0) for part, weight in pairs if weight > 0]
    summed: Floats = np.sum(asked, axis=0, dtype=np.float32)
    masks = [segment.sides["images"].live for segment in segments]
    sizes = [len(mask) for mask in masks]
    spent, taken = time.process_time(), time.perf_counter()
    by_summary = SummaryQuery.of("images", summed)
    promising = find_promising(segments, by_summary, by_codes, masks, sizes, workers)
    spent, taken = time.process_time() - spent, time.perf_counter() - taken
    rows = zip(segments, promising, strict=True)
    photos = np.concatenate([segment.span.after + listed.rows for segment, listed in rows])
    order = np.argsort(-np.concatenate([listed.products for listed in promising]))
    return ChosenPhotos(photos[order], 1000 * spent, 1000 * taken)


def report(
    segments: Sequence[Segment],
    queries: Sequence[Query],
    best: TrueAnswers,
    first: int,
    workers: Workers,
) -> str:
    """Recall by the number of candidates, and medians of times."""
    pairs = zip(queries[0].parts, queries[0].weights, strict=True)
    words = sum(len(part) for part, weight in pairs if weight > 0)
    sizes = [len(segment.sides["images"]) for segment in segments]
    fine = candidates.are_fine([segment.structures.get("images") for segment in segments], sizes)
    wider = candidates.WIDER if min(queries[0].weights) < 0 else 1
    most = candidates.count_candidates(sum(sizes), TOP, words)
    by_codes = wider * candidates.count_by_codes(sum(sizes), most, fine=fine)
    choices = [choose(segments, query, by_codes, workers) for query in queries]
    recalls = []
    for share in SHARES:
        count = round(share * wider * most)
        photos = [choice.photos[:count].tolist() for choice in choices]
        each = [best.recall(number, listed) for number, listed in enumerate(photos, first)]
        recalls.append(f"{count}: {np.mean(each):.4f}")
    spent = np.median([choice.spent for choice in choices])
    slowest, taken = np.quantile([choice.taken for choice in choices], (0.99, 0.5))
    clock = f"{taken:.2f} by the clock, p99 {slowest:.2f}"
    return f"{', '.join(recalls)}; {spent:.2f} ms of the processor, {clock}"


def main() -> None:
    """Print a line for each kind of query."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_places(parser)
    parser.add_argument("--photos", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=60, help="of each kind")
    parser.add_argument(
        "--segment", type=int, default=Sizes().largest_at_rest, help="rows of a segment"
    )
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    machine.use(asked.threads)
    source = GrownCollection(Real(asked.real), "images", asked.photos)
    kinds = questions.KINDS["images"]
    queries = [questions.read(source.real, kind, asked.queries) for kind in kinds]
    asked.work.mkdir(parents=True, exist_ok=True)
    summaries, best = prepare(source, [*chain.from_iterable(queries)], asked.work)
    begun = time.perf_counter()
    segments = divide(summaries, asked.segment)
    taken = time.perf_counter() - begun
    print(
        f"{len(summaries):,} photos in {len(segments)} segments: codes learned and written in "
        f"{taken:.1f} s; summaries {summaries.nbytes / 1e6:,.0f} MB"
    )
    first, workers = 0, Workers(asked.threads)
    for kind, kind_queries in zip(kinds, queries, strict=True):
        print(f"{kind:9} {report(segments, kind_queries, best, first, workers)}", flush=True)
        first += len(kind_queries)


if __name__ == "__main__":
    main()
