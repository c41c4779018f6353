"""Queries of benchmarks, from held-out sentences and photos.

They are embedded once and kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch

from benchmarks.index.bags import Bags, Floats, Real, Side
from models.registry import Matcher
from models.text.parsing import parse_trees
from models.text.queries import Query
from models.text.query_drafts import of_phrases
from models.types import WHOLE_FRAME, FragmentBag, Span

LONG = 12  # words
KINDS: dict[Side, tuple[str, ...]] = {
    "images": ("12 words", "2 words", "negated"),
    "sentences": ("photo",),
}
PARSED = 2000  # held-out sentences that phrases are taken from


def make(real: Real, matcher: Matcher, count: int) -> None:
    """Write `count` queries for images, of each kind."""
    bags = real.sentences("held")
    long = [bags[row] for row in np.flatnonzero(np.diff(bags.offsets) == LONG).tolist()]
    every = max(1, len(long) // count)
    write(real.folder, "12 words", [of_sentence(bag) for bag in long[::every][:count]])
    described, nouns = phrases(real.texts[:PARSED], count)
    write(real.folder, "2 words", [of_phrases(matcher, [(text, 1.0)]) for text in described])
    texts = [f"a {a} without a {b}" for a in nouns for b in nouns if a != b]
    negated: list[Query] = []
    for text in texts[:: max(1, len(texts) // (2 * count))]:
        query = of_phrases(matcher, [(text, 1.0)])
        negated += [query] if min(query.weights) < 0 < max(query.weights) else []
    write(real.folder, "negated", negated[:count])


def read(real: Real, kind: str, count: int) -> list[Query]:
    """Queries of a kind, spread evenly over those there are."""
    if kind == "photo":
        photos = real.images("held")
        chosen = np.linspace(0, len(photos) - 1, min(count, len(photos))).astype(int)
        return [of_photo(photos[row]) for row in chosen]
    bags, arrays = Bags.load(real.folder, f"queries-{kind}"), np.load(path(real.folder, kind))
    parts = [of_sentence(bag).parts[0] for bag in bags]
    ends = np.cumsum(arrays["sizes"])
    queries = [
        Query(tuple(parts[end - size : end]), tuple(arrays["weights"][end - size : end].tolist()))
        for end, size in zip(ends, arrays["sizes"], strict=True)
    ]
    return queries[:count]


def phrases(texts: Sequence[str], count: int) -> tuple[list[str], list[str]]:
    """The most frequent adjective-noun pairs, and the most frequent nouns."""
    pairs: Counter[str] = Counter()
    nouns: Counter[str] = Counter()
    for sentence in parse_trees(texts):
        words = sentence.words
        nouns.update(word.text.lower() for word in words if word.tag == "NN")
        pairs.update(
            f"{first.text} {second.text}".lower()
            for first, second in pairwise(words)
            if first.tag == "JJ" and second.tag in ("NN", "NNS")
        )
    few = int(2 * count**0.5) + 2
    return [text for text, _ in pairs.most_common(count)], [n for n, _ in nouns.most_common(few)]


def write(folder: Path, kind: str, queries: Sequence[Query]) -> None:
    """Keep the vectors and weights of queries."""
    parts = [part.vectors.numpy() for query in queries for part in query.parts]
    Bags.of(parts).save(folder, f"queries-{kind}")
    weights = [weight for query in queries for weight in query.weights]
    np.savez(path(folder, kind), weights=weights, sizes=[len(query.parts) for query in queries])


def path(folder: Path, kind: str) -> Path:
    """The file of queries' weights."""
    return folder / f"queries-{kind}.npz"


def of_sentence(vectors: Floats) -> Query:
    """A sentence's vectors (T, D) as a query."""
    places = tuple(Span(2 * t, 2 * t + 1) for t in range(len(vectors)))
    return Query.of(FragmentBag(torch.from_numpy(vectors), places, ("word",) * len(vectors)))


def of_photo(vectors: Floats) -> Query:
    """A photo's vectors (R, D) as a query."""
    places = (WHOLE_FRAME,) * len(vectors)
    return Query.of(FragmentBag(torch.from_numpy(vectors), places, ("region",) * len(vectors)))


def summary(query: Query, side: Side) -> Floats:
    """The vector (D,) to compare with summaries.

    Σ_p w_p Σ_t s_t, or the photo's.
    """
    parts = zip(query.parts, query.weights, strict=True)
    vectors = [
        weight * (part.vectors.sum(0) if side == "images" else part.vectors[0]).numpy()
        for part, weight in parts
    ]
    summed: Floats = np.sum(vectors, axis=0, dtype=np.float32)
    return summed
