"""Pooled patches and candidates against all: recall, bytes and time.

    python -m benchmarks.index.late_interaction
    python -m benchmarks.index.late_interaction --noise 1.8 --factors 1
    python -m benchmarks.index.late_interaction --small 12 --factors 1

Made photos have 128 patches: each shows a few of many things, a thing in patches next to each other
that differ by noise, and queries have tokens of some things of one photo and marks that say
nothing. So it tells what pooling and the index cost where patches are as much alike, and nothing of
a retriever's own quality.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from index.catalog.catalog import Catalog
from index.items import Entry, Picture
from index.search.index import Index
from index.search.requests import Request
from index.segments.follower import Follower
from models.encoders.pooling import PatchBag, pool
from models.scores.scoring import SCORES
from models.text.queries import Query
from models.types import Box, FragmentBag, PaddedBags, Span

PATCHES, DIMENSION, THINGS = 128, 128, 3_000
SHOWN, ASKED, WORDS, MARKS = 12, 3, 2, 10  # things of a photo and a query, tokens of each, marks
NOISE = 0.7  # length of the noise of a patch or token, next to a thing's 1
TOP = 10
FACTORS = (1, 2, 3, 4, 8)
PICTURE = Picture(b"jpeg", 4, 3, "0" * 64)


@dataclass(frozen=True, slots=True)
class MadePhotos:
    """Patches (K, P, D) of photos, and queries (L, T, D) of the first of them."""

    patches: Tensor
    queries: Tensor


@dataclass(frozen=True, slots=True)
class PooledSearch:
    """Cost and finds of an index of pooled photos.

    recall: of the best TOP by all patches. first: of queries whose own photo is the first hit.
    seconds: of a query. The `exact` ones are of searches of all photos instead of candidates.
    """

    factor: int
    bytes: int
    recall: float
    first: float
    seconds: float
    exact_recall: float
    exact_seconds: float
    pooling: float


def make_photos(
    photos: int, queries: int, strength: float = NOISE, small: int = 0, seed: int = 0
) -> MadePhotos:
    """Make photos and queries of things, `small` ones of one patch each."""
    generator = torch.Generator().manual_seed(seed)

    def noise(*shape: int) -> Tensor:
        return F.normalize(torch.randn(*shape, DIMENSION, generator=generator), dim=-1)

    things, marks = noise(THINGS), noise(MARKS)
    shown = torch.randint(THINGS, (photos, SHOWN), generator=generator)
    owners = torch.arange(PATCHES) * SHOWN // PATCHES  # (P,) the thing of each patch
    placed = shown[:, owners]  # (K, P)
    if small:
        shown = torch.randint(THINGS, (photos, small), generator=generator)
        placed[:, -small:] = shown
    patches = things[placed] + strength * noise(photos, PATCHES)
    asked = shown[:queries, :ASKED].repeat_interleave(WORDS, dim=1)  # (L, T)
    tokens = things[asked] + strength * noise(*asked.shape)
    every = torch.cat([tokens, marks.expand(queries, -1, -1)], dim=1)
    return MadePhotos(F.normalize(patches, dim=-1), F.normalize(every, dim=-1))


def find_best(made: MadePhotos) -> list[list[int]]:
    """Find each query's best TOP photos by all patches, without index."""
    asked = PaddedBags(made.queries, torch.ones(made.queries.shape[:2], dtype=torch.bool))
    scores = torch.cat(
        [
            SCORES["max_sim"](PaddedBags(part, torch.ones(part.shape[:2], dtype=torch.bool)), asked)
            for part in torch.split(made.patches, 256)
        ]
    )  # (K, L)
    best: list[list[int]] = scores.topk(TOP, dim=0).indices.T.tolist()
    return best


def pool_photo(patches: Tensor, factor: int) -> FragmentBag:
    """A photo's bag, its patches in columns of a row."""
    count = len(patches)
    edges = torch.linspace(0, 1, count + 1)
    zeros, ones = torch.zeros(count), torch.ones(count)
    boxes = torch.stack([edges[:-1], zeros, edges[1:], ones], dim=1)
    pooled = pool(PatchBag(patches, boxes), factor)
    places = tuple(Box(*box) for box in pooled.boxes.tolist())
    return FragmentBag(pooled.vectors, places, tuple(f"region {at}" for at in range(len(places))))


def search(made: MadePhotos, truth: list[list[int]], factor: int, folder: Path) -> PooledSearch:
    """Index pooled photos and search them."""
    start = time.perf_counter()
    bags = [pool_photo(patches, factor) for patches in made.patches]
    pooling = time.perf_counter() - start
    catalog = Catalog.in_folder(folder)
    home = catalog.names.make(
        "made", fingerprint="f", dimension=made.patches.shape[2], score="max_sim"
    )
    for at in range(0, len(bags), 256):
        part = enumerate(bags[at : at + 256], start=at)
        catalog.put_many(
            home, [Entry(f"{n}", pictures=(PICTURE,), images=(bag,)) for n, bag in part]
        )
    segments = folder / "segments"
    follower = Follower(catalog, home, segments / home.token)
    while follower.step(flush=True):
        pass
    index = Index(catalog, home, segments)
    answers, seconds = ask(index, made.queries, exact=False)
    exact, exact_seconds = ask(index, made.queries, exact=True)
    index.close()
    catalog.close()
    first = [hits[0] == at for at, hits in enumerate(answers)]
    size = sum(file.stat().st_size for file in segments.rglob("*") if file.is_file())
    return PooledSearch(
        factor,
        size,
        count_recall(truth, answers),
        float(np.mean(first)),
        seconds,
        count_recall(truth, exact),
        exact_seconds,
        pooling,
    )


def ask(index: Index, queries: Tensor, *, exact: bool) -> tuple[list[list[int]], float]:
    """Search for queries (L, T, D); return hits and the median of seconds."""
    answers, seconds = [], []
    for vectors in (queries[0], *queries):  # the first one warms up
        places = (Span(0, 1),) * len(vectors)
        query = Query.of(FragmentBag(vectors, places, ("word",) * len(vectors)))
        start = time.perf_counter()
        hits = index.best(Request("images", query, limit=TOP, exact=exact)).hits
        seconds.append(time.perf_counter() - start)
        answers.append([int(hit.item) for hit in hits])
    return answers[1:], float(np.median(seconds[1:]))


def count_recall(truth: Sequence[Sequence[int]], answers: Sequence[Sequence[int]]) -> float:
    """The mean share of true hits."""
    pairs = zip(truth, answers, strict=True)
    return float(np.mean([len(set(best) & set(hits)) / TOP for best, hits in pairs]))


def main() -> None:
    """Print a line for each factor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=int, default=4_000)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--noise", type=float, default=NOISE)
    parser.add_argument("--small", type=int, default=0, help="things of one patch, asked for")
    parser.add_argument("--factors", type=int, nargs="*", default=FACTORS)
    arguments = parser.parse_args()
    made = make_photos(arguments.photos, arguments.queries, arguments.noise, arguments.small)
    truth = find_best(made)
    for factor in arguments.factors:
        with tempfile.TemporaryDirectory() as folder:
            measured = search(made, truth, factor, Path(folder))
        print(
            f"{factor} patches a vector: recall@{TOP} {measured.recall:.3f}, of all photos "
            f"{measured.exact_recall:.3f}, own photo first {measured.first:.3f}, "
            f"{measured.bytes / arguments.photos / 1e3:.1f} KB a photo in the index, "
            f"{1e3 * measured.seconds:.0f} ms a query, {1e3 * measured.exact_seconds:.0f} of all, "
            f"pooling {1e3 * measured.pooling / arguments.photos:.0f} ms a photo"
        )


if __name__ == "__main__":
    main()
