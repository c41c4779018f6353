"""How long a whole search takes, and how much of the truth thinned-out candidates keep.

Random bags around shared themes stand in for photos and sentences; a query is about the themes of
a stored item. For each direction: one matrix product in numpy with a maximum over each bag
(only the scores), Index with exact candidates, and Index with centroids (both with links).

    python benchmarks/search_speed.py --images 1000 10000 --dimension 512
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from index.candidates import Centroids
from index.catalog import Catalog
from index.items import Collection, Entry, Picture
from index.rescorer import Rescorer
from index.search import Index
from models.queries import Query
from models.types import WHOLE_FRAME, FragmentBag, Span

REGIONS, WORDS, TOP = 20, 12, 10


class World:
    """Photos and sentences about themes; both kinds use the same ones."""

    def __init__(self, dimension: int, themes: int = 2000) -> None:
        self.random = np.random.default_rng(1)
        self.themes = self.random.standard_normal((themes, dimension), dtype=np.float32)
        self.about: list[np.ndarray] = []  # the themes of each item so far

    def vectors(self, about: np.ndarray, fragments: int) -> torch.Tensor:
        """Fragments (F, D) that each show one of some themes, with noise and a magnitude."""
        shape = (fragments, self.themes.shape[1])
        noise = self.random.standard_normal(shape, dtype=np.float32)
        weights = self.random.uniform(0.5, 1.5, (fragments, 1)).astype(np.float32)
        shown = self.themes[self.random.choice(about, fragments)]
        return torch.from_numpy((shown + noise) * weights / shape[1] ** 0.5)

    def entry(self, number: int) -> Entry:
        """A photo and a sentence about six themes."""
        about = self.random.integers(len(self.themes), size=6)
        self.about.append(about)
        return Entry(
            id=f"{number:07}",
            picture=Picture(b"", 1, 1, ""),
            image=self.image(about),
            sentences=("a sentence",),
            bags=(self.sentence(about),),
        )

    def image(self, about: np.ndarray) -> FragmentBag:
        """A photo about some themes."""
        places, labels = (WHOLE_FRAME,) * REGIONS, ("region",) * REGIONS
        return FragmentBag(self.vectors(about, REGIONS), places, labels)

    def sentence(self, about: np.ndarray) -> FragmentBag:
        """A sentence about some themes."""
        return FragmentBag(self.vectors(about, WORDS), (Span(0, 1),) * WORDS, ("word",) * WORDS)


def product(stored: np.ndarray, query: np.ndarray, fragments: int, direction: str) -> np.ndarray:
    """Scores by one matrix product per 500 bags: the plain way to write it."""
    scores = []
    for start in range(0, len(stored), 500 * fragments):
        links = stored[start : start + 500 * fragments] @ query.T
        links = links.reshape(-1, fragments, len(query))
        axes = (1, 1) if direction == "text to image" else (2, 1)
        scores.append(links.max(axes[0]).sum(axes[1]))
    return np.argsort(-np.concatenate(scores), kind="stable")[:TOP]


def measure(images: int, dimension: int, queries: int, centroids: int, folder: Path) -> None:
    """Fill a catalog, then ask every query of every method in turn."""
    world = World(dimension)
    catalog = Catalog.in_folder(folder)
    collection = catalog.collection(
        "default", fingerprint="benchmark", dimension=dimension, score="sum_of_max"
    )
    stored = fill(catalog, collection, world, images)
    rescorer = Rescorer("sum_of_max")
    coded = Centroids(rescorer, centroids=centroids, smallest=1)
    exact = Index(catalog, collection, folder, rescorer=rescorer)
    thinned = Index(catalog, collection, folder / "coded", candidates=coded, rescorer=rescorer)
    for name, work in (("build segments", exact.catch_up), ("learn codes", thinned.prepare)):
        begun = time.perf_counter()
        work()
        print(f"{images:6} images  {name:22} {time.perf_counter() - begun:8.1f} s")
    for direction, make in (("text to image", world.sentence), ("image to text", world.image)):
        fragments = REGIONS if direction == "text to image" else WORDS
        asked = [make(world.about[world.random.integers(images)]) for _ in range(queries)]

        def numpy_product(
            query: FragmentBag, direction: str = direction, fragments: int = fragments
        ) -> list[str]:
            found = product(stored[direction], query.vectors.numpy(), fragments, direction)
            return [f"{number:07}" for number in found]

        def searching(index: Index, direction: str = direction) -> Callable[[Any], list[str]]:
            ask = index.search_images if direction == "text to image" else index.search_sentences
            return lambda query: [hit.item for hit in ask(Query.of(query), limit=TOP)]

        methods = {
            "numpy product": numpy_product,
            "Index, exact": searching(exact),
            "Index, centroids": searching(thinned),
        }
        report(images, direction, methods, asked)


def fill(
    catalog: Catalog, collection: Collection, world: World, images: int
) -> dict[str, np.ndarray]:
    """Store the items; gives the same vectors as two plain arrays."""
    stored: dict[str, list[torch.Tensor]] = {"text to image": [], "image to text": []}
    for start in range(0, images, 200):
        entries = [world.entry(number) for number in range(start, min(start + 200, images))]
        catalog.put_many(collection, entries)
        stored["text to image"] += [entry.image.vectors for entry in entries if entry.image]
        stored["image to text"] += [entry.bags[0].vectors for entry in entries]
    return {name: torch.cat(vectors).numpy() for name, vectors in stored.items()}


def report(
    images: int,
    direction: str,
    methods: dict[str, Callable[[FragmentBag], list[str]]],
    queries: list[FragmentBag],
) -> None:
    """Print each method's median time and its share of the first method's answers."""
    taken: dict[str, list[float]] = {name: [] for name in methods}
    held: dict[str, list[float]] = {name: [] for name in methods}
    for place, query in enumerate([queries[0], *queries]):  # the first is asked twice, to warm up
        truth: list[str] = []
        for name, method in methods.items():
            begun = time.perf_counter()
            found = method(query)
            if place:
                taken[name].append(time.perf_counter() - begun)
            truth = truth or found
            held[name].append(len(set(found) & set(truth)) / TOP)
    for name, times in taken.items():
        median, slow = 1e3 * statistics.median(times), 1e3 * sorted(times)[int(0.9 * len(times))]
        print(
            f"{images:6} images  {direction:14} {name:18} median {median:7.1f} ms   "
            f"90 % {slow:7.1f} ms   recall@{TOP} {statistics.mean(held[name]):.3f}"
        )


def main() -> None:
    """Read the sizes and measure each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--dimension", type=int, default=512)
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--centroids", type=int, default=1024)
    asked = parser.parse_args()
    for images in asked.images:
        with tempfile.TemporaryDirectory() as folder:
            measure(images, asked.dimension, asked.queries, asked.centroids, Path(folder))


if __name__ == "__main__":
    main()
