"""Photos of a training, to be left out of measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from training.data.corpus import Example
from training.data.digests import file_digest

DIGITS = 12  # of a photo's digest: enough to tell millions apart
KEY = "learned"  # the fact of a checkpoint


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
    known = set(facts[KEY])
    new = [example for example in examples if file_digest(example.image)[:DIGITS] not in known]
    if not new:
        raise ValueError(
            f"the checkpoint learned all {len(examples):,} of these photos: measure it on others"
        )
    return new


def describe(given: int, new: int) -> str:
    """Describe the number of photos left out."""
    return f"{given - new:,} of the {given:,} photos are left out: the checkpoint learned them"
