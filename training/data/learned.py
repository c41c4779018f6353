"""Photos of a training, to be left out of measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from training.data.corpus import Corpus, Example
from training.data.digests import file_digest

DIGITS = 12  # of a photo's digest: enough to tell millions apart
KEY = "learned"  # the fact of a checkpoint
LEARNED, MEASURED = ("train", "restval"), ("val", "test")  # splits


def digest_photos(examples: Iterable[Example]) -> list[str]:
    """Compute the sorted digests of photos' bytes, a photo once."""
    paths = {example.image for example in examples}
    return sorted({file_digest(path)[:DIGITS] for path in paths})


def leave_out(examples: Sequence[Example], facts: Mapping[str, Any]) -> Sequence[Example]:
    """Leave out the photos of a checkpoint's training, also if renamed.

    `facts` are the checkpoint's. ValueError if no photo is left.
    """
    if KEY not in facts:
        return examples
    digests = set(facts[KEY])
    new = [example for example in examples if file_digest(example.image)[:DIGITS] not in digests]
    if not new:
        raise ValueError(
            f"the checkpoint learned all {len(examples):,} of these photos: measure it on others"
        )
    return new


def describe(given: int, new: int) -> str:
    """Describe the number of photos left out."""
    return f"{given - new:,} of the {given:,} photos are left out: the checkpoint learned them"


def find_shared(corpus: Corpus) -> list[Example]:
    """Find photos of val and test in train, under any name.

    Only files of equal sizes are read.
    """
    learned, measured = (
        [(example, example.image.stat().st_size) for example in list_photos(corpus, splits)]
        for splits in (LEARNED, MEASURED)
    )
    sizes = {size for _, size in learned} & {size for _, size in measured}
    digests = {file_digest(example.image) for example, size in learned if size in sizes}
    return [
        example
        for example, size in measured
        if size in sizes and file_digest(example.image) in digests
    ]


def list_photos(corpus: Corpus, splits: Iterable[str]) -> list[Example]:
    """List the examples of some splits, without missing photos."""
    examples = (example for split in splits for example in corpus.splits.get(split, ()))
    return [example for example in examples if example.image.is_file()]


def describe_shared(shared: Sequence[Example]) -> str:
    """Describe the photos of val and test in train."""
    advice = "a measurement on learned photos says nothing of new ones, so leave"
    first = shared[0].image
    if len(shared) == 1:
        return f"1 photo of val or test is in train, too, {first}: {advice} it out of train"
    return (
        f"{len(shared):,} photos of val or test are in train, too, the first is {first}: {advice} "
        "them out of train"
    )
