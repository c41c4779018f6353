"""Category search: each value of a field is a query.

Such as a kind of product, over all photos.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

import torch

from training.data.corpus import Example
from training.evaluation.average_precision import average_precision, precision_at
from training.evaluation.retrieval import Floats

LEAST = 5  # photos of a category: with fewer, precision at 5 cannot be 100 %


@dataclass(frozen=True, slots=True)
class CategorySearch:
    """Means over the categories of a field, in percent.

    chance: the mean share of photos in a category, which is the expected precision of a random
    order. rare: the number of categories with fewer than LEAST photos; they are no queries, and
    their photos stay among the answers.
    """

    field: str
    photos: int
    categories: int
    rare: int
    mean_precision: float
    precision_1: float
    precision_5: float
    chance: float


def category_search(
    field: str, scores: Floats, members: Sequence[Sequence[int]], rare: int = 0
) -> CategorySearch:
    """Rank all photos for each category.

    members[l] are the photos of category l.

    Shapes: scores (K, L). ValueError for another shape, or for a NaN score.

    >>> import numpy as np
    >>> scores = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 2.0]], dtype=np.float32)
    >>> search = category_search("kind", scores, [[0, 2], [2]])
    >>> round(search.mean_precision, 1), search.precision_1, round(search.precision_5, 1)
    (91.7, 100.0, 30.0)
    """
    columns = torch.from_numpy(scores).T  # (L, K)
    if columns.shape != (len(members), len(scores)):
        raise ValueError(f"scores are {scores.shape} for {len(members)} categories")
    if columns.isnan().any():
        raise ValueError(f"{int(columns.isnan().sum()):,} of the scores are NaN")
    relevant = torch.zeros(columns.shape, dtype=torch.bool)
    for row, photos in zip(relevant, members, strict=True):
        row[list(photos)] = True
    pairs = list(zip(columns, relevant, strict=True))
    return CategorySearch(
        field=field,
        photos=len(scores),
        categories=len(members),
        rare=rare,
        mean_precision=100 * mean(average_precision(*pair) for pair in pairs),
        precision_1=100 * mean(precision_at(1, *pair) for pair in pairs),
        precision_5=100 * mean(precision_at(5, *pair) for pair in pairs),
        chance=100 * float(relevant.double().mean()),
    )


def members_of(examples: Sequence[Example], field: str) -> Mapping[str, list[int]]:
    """Group the positions of photos by a field's value, in lower case.

    Fields joined by "+" make one category of their values together: "navy blue tshirts". Photos
    without the field, or with a value that is no text, have no category. LookupError if no photo
    has one.
    """
    members: dict[str, list[int]] = defaultdict(list)
    for position, example in enumerate(examples):
        values = [example.metadata.get(part) for part in field.split("+")]
        texts = [value.strip().lower() for value in values if isinstance(value, str)]
        if len(texts) == len(values) and all(texts):
            members[" ".join(texts)].append(position)
    if not members:
        available = sorted({name for example in examples for name in example.metadata})
        raise LookupError(f"no photo has a field {field!r}; there are: {', '.join(available)}")
    return dict(sorted(members.items()))


def frequent(members: Mapping[str, list[int]], least: int = LEAST) -> dict[str, list[int]]:
    """The categories with at least `least` photos; LookupError if there is none."""
    enough = {value: photos for value, photos in members.items() if len(photos) >= least}
    if not enough:
        raise LookupError(f"no category has {least} photos, so there is nothing to ask for")
    return enough
