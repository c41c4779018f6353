"""Bags without an embedding, grown from real ones.

Any number, with the same statistics.

The form is that of the matcher that ships (models/image_towers/regions_in_context.py): a photo's
fragments are v_0 = f and v_i = f + l_i, and a sentence's add up to a vector of length one. Numbers
that are the same in all photos, fragment by fragment, stay as they are: the boxes' likelihood and
what meets the offsets of sentences.
"""

from __future__ import annotations

import hashlib
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import faiss
import numkong
import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.index.bags import Bags, Floats, Real, Side
from models.scores.offsets import SCALE, Offsets

BLOCK = 2048  # bags of a block: 85 MB of 20 × 256 in single precision
STEP = 16  # photos whose arrays lie in the processor's second cache together
MEMBERS = 60  # bags of a cluster, on average
SHARES = (0.25, 0.5)  # of a new photo's second parent
TURN = 0.25  # radians by which what regions add is turned away from a real photo's
CONSTANT = 1e-3  # numbers that vary less than this are the same everywhere

Random = np.random.Generator
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GrownCollection:
    """The first `count` of held-out, other real, then grown bags."""

    real: Real
    side: Side
    count: int
    seed: int = 1
    grown_only: bool = False  # to compare with real ones

    def __len__(self) -> int:
        return self.count

    @property
    def dimension(self) -> int:
        """The length D of a vector."""
        return self.real.of(self.side, "held").dimension

    @property
    def key(self) -> str:
        """Changes whenever a bag would."""
        recipe = (self.real.key, self.seed, self.grown_only, BLOCK, MEMBERS, SHARES, TURN)
        digest = hashlib.sha256(repr(recipe).encode()).hexdigest()[:8]
        return f"{self.side}-{self.count}-{digest}"

    def blocks(self) -> Iterator[Bags]:
        """All bags in order; the same ones each time."""
        left = self.count
        for block in self._endless():
            yield block.part(0, min(left, len(block)))
            left -= len(block)
            if left <= 0:
                return

    @property
    def fragments(self) -> int:
        """The approximate number of fragments in all bags, by the held-out ones."""
        bags = self.real.of(self.side, "held")
        return len(bags.vectors) * self.count // len(bags)

    def grower(self) -> PhotoGrower | SentenceGrower:
        """The maker of new bags, made once."""
        return photos(self.real) if self.side == "images" else sentences(self.real)

    def _endless(self) -> Iterator[Bags]:
        for split in () if self.grown_only else ("held", "other"):
            bags = self.real.of(self.side, split)
            for start in range(0, len(bags), BLOCK):
                yield bags.part(start, min(start + BLOCK, len(bags)))
        grower = self.grower()
        number = 0
        while True:
            yield grower.block(np.random.default_rng((self.seed, number)))
            number += 1


@lru_cache(maxsize=1)
def photos(real: Real) -> PhotoGrower:
    """New photos from the real ones outside the held-out split."""
    return PhotoGrower(real.images("other"))


@lru_cache(maxsize=1)
def sentences(real: Real) -> SentenceGrower:
    """New sentences from the real ones outside the held-out split."""
    return SentenceGrower(real.sentences("other"), real.references)


class Clusters:
    """Clusters of similar real bags: k-means over one vector each (B, D)."""

    def __init__(self, vectors: Floats) -> None:
        count = max(1, len(vectors) // MEMBERS)
        kmeans = faiss.Kmeans(vectors.shape[1], count, niter=10, seed=1, min_points_per_centroid=1)
        kmeans.train(np.ascontiguousarray(vectors))
        cluster = kmeans.index.search(np.ascontiguousarray(vectors), 1)[1][:, 0]
        self.order = np.argsort(cluster, kind="stable")
        self.cluster = cluster
        self.firsts = np.searchsorted(cluster[self.order], np.arange(count + 1))

    def relatives(self, random: Random, of: Numbers) -> Numbers:
        """A random bag of the cluster of each."""
        first, end = self.firsts[self.cluster[of]], self.firsts[self.cluster[of] + 1]
        return self.order[random.integers(first, end)]


class PhotoGrower:
    """f' = a + w (b − a) + √(2w (1 − w)) (c − d) / √2, with the length of a; all of one cluster.

    Within the cluster the covariance of f' is that of f, for every w: that of the first two terms
    is ((1 − w)² + w²) of it and that of the last is 2w (1 − w) of it. The regions add
    cos(θ) l_a + sin(θ) l_b: where two photos' l_i are independent this keeps their covariance too.
    """

    def __init__(self, seeds: Bags) -> None:
        assert seeds.fragments, "the photos of the matcher that ships have equally many fragments"
        vectors = seeds.vectors.astype(np.float32)
        vectors = vectors.reshape(len(seeds), seeds.fragments, -1)  # (B, F, D)
        self.fixed = vectors.std(0).max(0) < CONSTANT  # (D,)
        self.constants = vectors[0, :, self.fixed].T.copy()  # (F, of D)
        self.whole = vectors[:, 0].copy()  # (B, D)
        self.whole[:, self.fixed] = 0
        self.added = vectors - vectors[:, :1]  # (B, F, D)
        self.clusters = Clusters(self.whole)

    def block(self, random: Random) -> Bags:
        """BLOCK new photos."""
        a = random.integers(len(self.whole), size=BLOCK)
        b, c, d = (self.clusters.relatives(random, a) for _ in range(3))
        whole = self.photo(random, a, b, c, d)  # (B, D)
        F, D = self.added.shape[1:]
        grown = np.empty((BLOCK, F, D), np.float16)
        for start in range(0, BLOCK, STEP):
            step = slice(start, start + STEP)
            vectors = self.added[a[step]]  # (STEP, F, D)
            vectors *= np.float32(np.cos(TURN))
            vectors += np.float32(np.sin(TURN)) * self.added[b[step]]
            vectors += whole[step, None]
            vectors[:, :, self.fixed] = self.constants
            grown[step] = numkong.astype(vectors, "float16")
        return Bags(grown.reshape(BLOCK * F, D), np.arange(BLOCK + 1) * F)

    def photo(self, random: Random, a: Numbers, b: Numbers, c: Numbers, d: Numbers) -> Floats:
        """The vectors f' (B, D) of whole photos."""
        w = random.uniform(*SHARES, (len(a), 1)).astype(np.float32)
        f = self.whole
        mixed = f[a] + w * (f[b] - f[a]) + np.sqrt(w * (1 - w)) * (f[c] - f[d])
        length = np.linalg.norm(f[a], axis=1, keepdims=True)
        scaled: Floats = mixed * (length / np.linalg.norm(mixed, axis=1, keepdims=True))
        return scaled


class SentenceGrower:
    """A real sentence's start and the end of a neighbour.

    Both are of one cluster.

    All words are real ones. They are scaled so that their sum has the length of the first
    sentence's, and the sentence gets the offset that the matcher would give it.
    """

    def __init__(self, seeds: Bags, references: Floats) -> None:
        self.seeds = seeds
        self.vectors = np.asarray(seeds.vectors)
        self.sums = seeds.sums()
        self.offset_at = len(references[0]) if len(references) else seeds.dimension
        others = np.setdiff1d(np.arange(seeds.dimension), [self.offset_at])
        constant = self.sums[:, others].std(0) < CONSTANT
        self.shared, self.free = others[constant], others[~constant]  # shared: one sum for all
        self.references = references
        self.clusters = Clusters(np.ascontiguousarray(self.sums[:, self.free]))

    @cached_property
    def offsets(self) -> Offsets | None:
        """The matcher's offsets; None if it has none."""
        if not len(self.references):
            return None
        photos, dimension = self.references.shape
        offsets = Offsets(photos, 0, dimension)
        offsets.refer(torch.from_numpy(self.references))
        return offsets

    def block(self, random: Random) -> Bags:
        """BLOCK new sentences."""
        a = random.integers(len(self.seeds), size=BLOCK)
        b = self.clusters.relatives(random, a)
        taken, sizes = self.words(random.random(BLOCK), a, b)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        vectors = self.vectors[taken].astype(np.float32)  # (N, D)
        sums = np.add.reduceat(vectors, offsets[:-1], axis=0)  # (B, D)
        lengths, first_lengths = (
            np.linalg.norm(x[:, self.free], axis=1) for x in (sums, self.sums[a])
        )
        scale = first_lengths / np.maximum(lengths, CONSTANT)
        vectors[:, self.free] *= np.repeat(scale, sizes)[:, None]
        for number in self.shared:
            vectors[:, number] = np.repeat(self.sums[0, number] / sizes, sizes)
        sums = np.add.reduceat(vectors, offsets[:-1], axis=0)
        if self.offsets:
            share = SCALE * self.offset(sums[:, : self.offset_at]) / sizes
            vectors[:, self.offset_at] = np.repeat(share, sizes)
        return Bags(vectors.astype(np.float16), offsets)

    def words(self, cut: NDArray[np.float64], a: Numbers, b: Numbers) -> tuple[Numbers, Numbers]:
        """Rows of seeds' vectors, and counts.

        a's before the cut and b's after.
        """
        starts, ends = self.seeds.offsets[:-1], self.seeds.offsets[1:]
        heads = np.maximum(np.rint(cut * (ends - starts)[a]).astype(np.int64), 1)
        tails = np.rint((1 - cut) * (ends - starts)[b]).astype(np.int64)
        spans = np.stack([starts[a], starts[a] + heads, ends[b] - tails, ends[b]], 1)
        rows = [np.r_[span[0] : span[1], span[2] : span[3]] for span in spans.tolist()]
        return np.concatenate(rows), heads + tails

    def offset(self, sums: Floats) -> Floats:
        """The offset of each sentence, (B,), from the sum of its words."""
        assert self.offsets is not None
        with torch.inference_mode():
            offsets: Floats = self.offsets.of(torch.from_numpy(sums)).numpy()
        return offsets


def add_places(parser: ArgumentParser) -> None:
    """Add the options for the folders of real bags and of stores."""
    parser.add_argument("--real", type=Path, default=Path(".bench/real"), help="real bags")
    parser.add_argument("--work", type=Path, default=Path(".bench/work"), help="stores, truth")
