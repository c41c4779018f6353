"""Photos with complete labels: all things of a list in each."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.data import catalogue
from training.data.corpus import Corpus, Example

HELD_OUT = 600  # photos to measure on, of a file without val; half of them with sentences
LEAST_SHARE = 5  # but no more than every fifth photo


@dataclass(frozen=True, slots=True)
class LabelledPhotos:
    """Photos to fit and to measure on, and the things' names.

    `labels` of an example's metadata are the names that apply; no other one does.
    """

    names: tuple[str, ...]
    train: tuple[Example, ...]
    val: tuple[Example, ...]


def read(file: Path, images: Path | None = None) -> LabelledPhotos:
    """Read a .jsonl of photos with `labels`.

    A row has image and labels, and may have id, split and sentences.

    Without rows of split val, HELD_OUT photos are set apart by their ids. Errors are those of
    catalogue.read; ValueError for rows without labels.
    """
    splits = catalogue.read(file, images).splits
    every = {split: tuple(map(with_sentences, rows)) for split, rows in splits.items()}
    train, val = every.get("train", ()), every.get("val", ())
    if not val:
        train, val = hold_out(train)
    names = sorted({name for example in (*train, *val) for name in labels_of(example)})
    return LabelledPhotos(tuple(names), train, val)


def join(corpus: Corpus, labelled: LabelledPhotos, name: str) -> Corpus:
    """Add photos with labels, but held-out ones, to a corpus's train."""
    added = [("train", with_labels(photo)) for photo in labelled.train]
    rows = [(split, example) for split, examples in corpus.splits.items() for example in examples]
    return Corpus.of(f"{corpus.name} + {name}", [*rows, *added])


def read_described(file: Path) -> list[Example]:
    """Read the held-out photos with sentences and labels.

    LookupError without any; other errors as `read`.
    """
    described = [with_labels(photo) for photo in read(file).val if photo.sentences]
    if not described:
        raise LookupError(f"{file} holds out no photo with sentences: leave --labels out")
    return described


def with_labels(example: Example) -> Example:
    """A photo with the labels of its row."""
    return replace(example, labels=tuple(labels_of(example)))


def labels_of(example: Example) -> list[str]:
    """The labels of a photo; ValueError without a list of names."""
    labels = example.metadata.get("labels")
    if not isinstance(labels, list) or not all(isinstance(name, str) and name for name in labels):
        raise ValueError(f"{example.id}: 'labels' must be a list of names, got {labels!r:.60}")
    return labels


def with_sentences(example: Example) -> Example:
    """A photo with the sentences of its row, if it has any."""
    sentences = example.metadata.get("sentences") or ()
    return replace(example, sentences=tuple(map(str, sentences)))


def hold_out(
    examples: Sequence[Example],
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Photos to fit on, and photos to measure on.

    The latter have the smallest digests of ids.

    Half of the latter have sentences, as far as there are such photos.
    """
    count = min(HELD_OUT, len(examples) // LEAST_SHARE)
    ordered = sorted(examples, key=lambda example: hashlib.sha256(example.id.encode()).hexdigest())
    written = [example for example in ordered if example.sentences][: count // 2]
    chosen = {example.id for example in written}
    others = [example for example in ordered if not example.sentences]
    chosen |= {example.id for example in others[: count - len(written)]}
    return (
        tuple(example for example in examples if example.id not in chosen),
        tuple(example for example in examples if example.id in chosen),
    )


def mark(examples: Sequence[Example], names: Sequence[str]) -> NDArray[np.bool_]:
    """Whether photos show things, (K, N)."""
    rows = [[name in set(labels_of(example)) for name in names] for example in examples]
    return np.array(rows, dtype=np.bool_).reshape(len(examples), len(names))
