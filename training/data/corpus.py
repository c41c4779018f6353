"""Corpora: photos, their sentences, and their splits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import Any

from models.text.limits import refuse_huge

SPLITS = ("train", "val", "test", "restval")


@dataclass(frozen=True, slots=True)
class Example:
    """A photo and its sentences.

    `weights` say how much each sentence counts, where one may be true of several photos. `kind` is
    a product's, for batches by kinds. `terms` are the sentences that say one thing about a product:
    a value of a field, or a customer's query. Variants of a product share a `group`. `labels` are
    all things of a list that the photo shows, None where that is not known.
    """

    id: str
    image: Path
    sentences: tuple[str, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    weights: tuple[float, ...] = ()
    kind: str = ""
    terms: tuple[str, ...] = ()
    group: str = ""
    labels: tuple[str, ...] | None = None

    @property
    def weighted(self) -> Iterator[tuple[str, float]]:
        """Each sentence and its weight."""
        return zip(self.sentences, self.weights or repeat(1.0), strict=False)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Examples by split; the order inside a split is the file's.

    `undescribed` is the number of photos left out for want of sentences.
    """

    name: str
    splits: dict[str, tuple[Example, ...]]
    undescribed: int = 0

    @classmethod
    def of(cls, name: str, rows: Iterable[tuple[str, Example]]) -> Corpus:
        """Gather (split, example) rows; ValueError for a repeated id."""
        splits: dict[str, list[Example]] = {}
        firsts: dict[str, tuple[str, Path]] = {}
        for split, example in rows:
            if first := firsts.get(example.id):
                repeated = describe_repeated(example.id, (split, example.image), first)
                raise ValueError(f"{name}: {repeated}")
            firsts[example.id] = split, example.image
            splits.setdefault(split, []).append(example)
        return cls(name, {split: tuple(examples) for split, examples in splits.items()})

    def leave_out_undescribed(self) -> Corpus:
        """Leave out and count the photos without sentences."""
        described = {
            split: tuple(example for example in examples if example.sentences)
            for split, examples in self.splits.items()
        }
        count, left = (sum(map(len, splits.values())) for splits in (self.splits, described))
        splits = {split: examples for split, examples in described.items() if examples}
        return replace(self, splits=splits, undescribed=count - left)

    def split(self, name: str) -> tuple[Example, ...]:
        """The examples of one split.

        Raises LookupError for an absent split, or if photos of it are missing: a number measured on
        a part of a split must not pass for one of the whole.
        """
        if name not in self.splits:
            splits = ", ".join(sorted(self.splits)) or "no photo at all"
            raise LookupError(
                f"{self.name} has no split {name!r}; it has: {splits}. A column or key 'split' of "
                f"each row puts it into {', '.join(SPLITS[:-1])} or {SPLITS[-1]}"
            )
        examples = self.splits[name]
        missing = [example.image for example in examples if not example.image.is_file()]
        if missing:
            advice = ": give their folder by --images" if len(missing) == len(examples) else ""
            raise LookupError(
                f"{len(missing):,} of the {len(examples):,} photos of split {name!r} are missing, "
                f"the first is {missing[0]}{advice}"
            )
        return examples

    def list_described(self, name: str) -> tuple[Example, ...]:
        """The examples of one split with sentences; LookupError as `split`."""
        return tuple(example for example in self.split(name) if example.sentences)

    def digest(self) -> str:
        """Compute sixteen hexadecimal digits of all ids, splits and sentences."""
        described = sorted(
            (split, example.id, example.sentences, *filter(None, [example.weights, example.labels]))
            for split, examples in self.splits.items()
            for example in examples
        )
        return hashlib.sha256(repr(described).encode()).hexdigest()[:16]


def describe_repeated(id_: str, row: tuple[str, Path], first: tuple[str, Path]) -> str:
    """Describe two rows of one id.

    Each is a split and a photo.
    """
    (split, image), (first_split, first_image) = row, first
    if split == first_split or image != first_image:
        return f"the id {id_!r} comes twice; ids must be unique"
    earlier, later = sorted((split, first_split), key=SPLITS.index)
    return (
        f"the photo {id_!r} is in {earlier} and in {later}: a photo has one split, so leave its "
        f"rows of {earlier} out, or those of {later}"
    )


def join_rows(rows: Iterable[tuple[str, Example]], file: Path) -> Iterator[tuple[str, Example]]:
    """Join a photo's rows: their metadata, and sentences without repeated ones.

    Rows with one id and other photos or splits stay apart. ValueError with the file for rows with
    different values of one key.
    """
    joined: dict[tuple[str, str, Path], Example] = {}
    for split, example in rows:
        key = split, example.id, example.image
        if first := joined.get(key):
            sentences = tuple(dict.fromkeys(first.sentences + example.sentences))
            try:
                metadata = join_metadata(first.metadata, example.metadata)
            except ValueError as wrong:
                raise ValueError(f"{file}, photo {example.id}: {wrong}") from wrong
            example = replace(first, sentences=sentences, metadata=metadata)
        joined[key] = example
    return ((split, example) for (split, *_), example in joined.items())


def join_metadata(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Join a photo's metadata of two rows; ValueError for a difference."""
    for key in second:
        if key in first and first[key] != second[key]:
            raise ValueError(
                f"{key!r} is {first[key]!r:.60} in one row and {second[key]!r:.60} in another: "
                "metadata is the photo's, so give one value or leave the key out"
            )
    return {**first, **second}


def sentences_of(row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return a JSON row's sentences; ValueError for others than texts."""
    sentences = row.get(key)
    if not isinstance(sentences, list):
        raise ValueError(f"{key!r} must be a list of sentences, got {sentences!r:.60}")
    for sentence in sentences:
        if not isinstance(sentence, str) or not any(map(str.isalnum, sentence)):
            raise ValueError(f"a sentence must be a text with words, got {sentence!r:.60}")
        refuse_huge(sentence)
    return tuple(sentence.strip() for sentence in sentences)


def text_of(row: Mapping[str, Any], key: str) -> str:
    """Return a text of a JSON row.

    ValueError if it is absent, empty or no text.
    """
    text = row.get(key)
    if not isinstance(text, str) or not text:
        raise ValueError(f"{key!r} must be a text, got {text!r:.60}; the row has {sorted(row)}")
    return text


def split_of(row: Mapping[str, Any], default: str | None = None) -> str:
    """The split of a JSON row; ValueError names the ones there are."""
    split = row.get("split", default)
    if split not in SPLITS:
        raise ValueError(f"'split' must be one of {', '.join(SPLITS)}; got {split!r:.60}")
    return str(split)
