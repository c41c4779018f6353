"""Bags of real photos and sentences, embedded once and kept as arrays.

    python -m benchmarks.index.speed embed flickr8k --features ../cache

Features in the cache of `tessera train --cache` are reused; each other photo takes about 0.3 s. The
first split of `--splits` is held out: queries are made of it, and benchmarks/index/growth.py grows
nothing from it.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.matcher import TwoTowerMatcher
from models.types import PaddedBags
from training.data.corpus import Corpus, Example
from training.matchers.frozen import FrozenInputs
from training.runs.folder import RunPlace
from training.runs.progress import Progress

Side = Literal["images", "sentences"]  # of the collection: what is searched for
SIDES: tuple[Side, ...] = ("images", "sentences")
Floats = NDArray[np.float32]
Halves = NDArray[np.float16]

BATCH = 128
PRECISION = "bfloat16"  # of the cached features: what the presets train with


@dataclass(frozen=True, slots=True)
class Bags:
    """Bags one after another: bag b has vectors[offsets[b] : offsets[b + 1]].

    Shapes: vectors (N, D) in half precision, offsets (B + 1,).
    """

    vectors: Halves
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, bags: Sequence[NDArray[Any]]) -> Bags:
        """Bags (F_b, D) put together."""
        sizes = [len(bag) for bag in bags]
        offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        return cls(np.concatenate(bags).astype(np.float16), offsets)

    @classmethod
    def join(cls, parts: Sequence[Bags]) -> Bags:
        """Several lots of bags as one."""
        sizes = np.concatenate([np.diff(part.offsets) for part in parts])
        offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        return cls(np.concatenate([part.vectors for part in parts]), offsets)

    @classmethod
    def load(cls, folder: Path, name: str) -> Bags:
        """Bags as `save` wrote them, mapped."""
        vectors = np.load(folder / f"{name}.npy", mmap_mode="r")
        return cls(vectors, np.load(folder / f"{name}-offsets.npy"))

    def save(self, folder: Path, name: str) -> None:
        """Write the bags as two arrays.

        The vectors come last, to mark them complete.
        """
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / f"{name}-offsets.npy", self.offsets)
        partial = folder / f"{name}.partial.npy"
        np.save(partial, self.vectors)
        partial.replace(folder / f"{name}.npy")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Floats]:
        return (self[bag] for bag in range(len(self)))

    def __getitem__(self, bag: int) -> Floats:
        """One bag's vectors (F, D), in single precision."""
        return self.vectors[self.offsets[bag] : self.offsets[bag + 1]].astype(np.float32)

    @property
    def dimension(self) -> int:
        """The length D of a vector."""
        return int(self.vectors.shape[1])

    @property
    def longest(self) -> int:
        """The most fragments of a bag."""
        return int(np.diff(self.offsets).max())

    @property
    def fragments(self) -> int | None:
        """The number of fragments of every bag.

        None if bags differ.
        """
        sizes = np.diff(self.offsets)
        return int(sizes[0]) if len(sizes) and bool((sizes == sizes[0]).all()) else None

    def part(self, start: int, stop: int) -> Bags:
        """The bags of a range, not copied."""
        offsets = self.offsets[start : stop + 1]
        return Bags(self.vectors[offsets[0] : offsets[-1]], offsets - offsets[0])

    def firsts(self) -> Floats:
        """The first fragment of each bag, (B, D): of images, the whole photo's."""
        return self.vectors[self.offsets[:-1]].astype(np.float32)

    def summaries(self, side: Side) -> Floats:
        """The summary (B, D) of each: the whole photo's vector, or the words' sum."""
        return self.firsts() if side == "images" else self.sums()

    def sums(self) -> Floats:
        """The sum of each bag's fragments, (B, D)."""
        return np.add.reduceat(self.vectors.astype(np.float32), self.offsets[:-1], axis=0)


class BagSource(Protocol):
    """Bags of one side in blocks.

    A collection need not fit in memory.
    """

    def __len__(self) -> int:
        """The number of bags."""
        ...

    def __hash__(self) -> int:
        """The hash of the object, for caches."""
        ...

    @property
    def side(self) -> Side:
        """The side of the bags: images or sentences."""
        ...

    @property
    def dimension(self) -> int:
        """The length D of a vector."""
        ...

    @property
    def key(self) -> str:
        """Changes whenever a bag would."""
        ...

    @property
    def fragments(self) -> int:
        """The approximate number of fragments in all bags."""
        ...

    def blocks(self) -> Iterator[Bags]:
        """All bags in order; the same ones each time."""
        ...


@dataclass(frozen=True, slots=True)
class Real:
    """The bags of a data folder: held-out queries, and others.

    `references` (N, D') are the photos that sentences' offsets are measured with, see
    models.scores.offsets; there are none where the matcher has no offsets.
    """

    folder: Path

    def images(self, split: str) -> Bags:
        """The `held` or the `other` photos."""
        return Bags.load(self.folder, f"images-{split}")

    def sentences(self, split: str) -> Bags:
        """The `held` or the `other` sentences; a photo's are neighbours."""
        return Bags.load(self.folder, f"sentences-{split}")

    def of(self, side: Side, split: str) -> Bags:
        """The bags of a side."""
        return self.images(split) if side == "images" else self.sentences(split)

    @property
    def key(self) -> str:
        """A value for the matcher and the counts of photos and sentences."""
        bags = [self.of(side, split) for side in SIDES for split in ("held", "other")]
        sizes = np.array([len(part) for part in bags])
        first = b"".join(part[0].tobytes() for part in bags)
        return hashlib.sha256(sizes.tobytes() + first).hexdigest()[:8]

    @property
    def references(self) -> Floats:
        """The reference photos' vectors (N, D')."""
        vectors: Floats = np.load(self.folder / "references.npy")
        return vectors

    @property
    def texts(self) -> list[str]:
        """The held-out sentences, in the order of their bags."""
        return (self.folder / "texts.txt").read_text("utf-8").splitlines()


def embed(
    matcher: TwoTowerMatcher,
    corpus: Corpus,
    splits: Sequence[str],
    folder: Path,
    features: Path,
    progress: Progress,
) -> Real:
    """Embed splits of a corpus into a folder.

    What is there already is left alone.
    """
    frozen = FrozenInputs(matcher, RunPlace(folder, features), PRECISION, progress)
    held, *others = splits
    for name, chosen in (("held", [held]), ("other", others)):
        if (folder / f"sentences-{name}.npy").exists():
            continue
        examples = [example for split in chosen for example in corpus.split(split)]
        for side, bags in zip(
            ("images", "sentences"), encode_examples(frozen, examples), strict=True
        ):
            bags.save(folder, f"{side}-{name}")
    texts = [text for example in corpus.split(held) for text in example.sentences]
    (folder / "texts.txt").write_text("\n".join(texts), "utf-8")
    references = matcher.offsets.references.numpy() if matcher.offsets else np.zeros((0, 0))
    np.save(folder / "references.npy", references)
    return Real(folder)


def encode_examples(frozen: FrozenInputs, examples: Sequence[Example]) -> tuple[Bags, Bags]:
    """Photos and sentences of examples, from cached features if any."""
    pairs = frozen.pairs(examples, "the benchmark")
    matcher = frozen.matcher
    images = encode_batches(matcher.encode_images, pairs.images)
    return Bags.of(images), Bags.of(encode_batches(matcher.encode_sentences, pairs.sentences))


@torch.inference_mode()
def encode_batches(encode: Any, inputs: Sequence[Tensor]) -> list[Halves]:
    """Each input's fragments (F, D), a batch at a time."""
    bags: list[Halves] = []
    for at in range(0, len(inputs), BATCH):
        encoded = encode(PaddedBags.of(inputs[at : at + BATCH]))
        halves = encoded.vectors.half().numpy()
        bags += [bag[real] for bag, real in zip(halves, encoded.mask.numpy(), strict=True)]
    return bags


def add_sentences(
    real: Real, matcher: TwoTowerMatcher, texts: Iterable[str], most: int, progress: Progress
) -> None:
    """Embed further sentences and keep them, until there are `most`."""
    bags = [real.sentences("other")]
    missing = [text for _, text in zip(range(most - len(bags[0])), texts, strict=False)]
    for at in progress(range(0, len(missing), BATCH), -(-len(missing) // BATCH), "sentences"):
        embedded = matcher.embed_sentences(missing[at : at + BATCH])
        bags.append(Bags.of([bag.vectors.numpy() for bag in embedded]))
    if missing:
        Bags.join(bags).save(real.folder, "sentences-other")


def lines(path: Path, without: Iterable[str]) -> Iterator[str]:
    """The lines of a gzipped text file, without some."""
    known = set(without)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return iter([line for row in file if (line := row.strip()) and line not in known])
