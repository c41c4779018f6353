"""Queries: what is searched with, in weighted parts."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import chain
from typing import Any

import torch

from models.text.reading import (
    NOTHING_KNOWN,
)
from models.text.spelling import Correction
from models.text.things import Condition
from models.types import FragmentBag


@dataclass(frozen=True, slots=True)
class Counting:
    """How much a part's score counts; see Query.floored and Condition.count."""

    weight: float
    floored: bool = False
    condition: Condition | None = None

    def of(self, similarity: float) -> float:
        """The weighted similarity of a link, or of all of a part with a condition."""
        if self.condition is not None:
            return self.weight * self.condition.count_one(similarity, negated=self.weight < 0)
        return 0.0 if self.floored and similarity < 0 else self.weight * similarity


PLAIN = Counting(1.0)


@dataclass(frozen=True)
class Query:
    """S = Σ_p w_p S_p: the weighted sum of the scores of a query's parts.

    A photo is one part, and so is a plain text. A negated phrase is a part with a weight below 0;
    see `floored`. A part with a condition asks whether a thing is there. A text of which no word is
    known has no part. Spans point into `text`, which has the `spellings` of words that were typed
    otherwise; `notes` say what a person should know about the query.
    """

    parts: tuple[FragmentBag, ...]
    weights: tuple[float, ...]
    text: str | None = None
    notes: tuple[str, ...] = ()
    conditions: tuple[Condition | None, ...] = ()
    spellings: tuple[Correction, ...] = ()
    typed: str | None = None

    def __post_init__(self) -> None:
        assert len(self.parts) == len(self.weights)
        if not self.conditions:
            object.__setattr__(self, "conditions", (None,) * len(self.parts))
        assert len(self.parts) == len(self.conditions)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone, as queries are sent to other machines."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def of(cls, bag: FragmentBag, notes: tuple[str, ...] = ()) -> Query:
        """One bag as a query."""
        return cls((bag,), (1.0,), None, notes)

    def with_photo(self, photo: FragmentBag, weight: float, notes: tuple[str, ...] = ()) -> Query:
        """The text and a photo in one query; a negative weight excludes its likes."""
        combined = tuple(note for note in self.notes if note != NOTHING_KNOWN) + notes
        return replace(
            self,
            parts=(*self.parts, photo),
            weights=(*self.weights, weight),
            conditions=(*self.conditions, None),
            notes=combined,
        )

    @cached_property
    def floored(self) -> tuple[bool, ...]:
        """The parts with S_p = Σ_t max(0, max_i v_iᵀ s_t): negated ones among others.

        They count where the photo has them, and not where it speaks against them. Where nothing
        else is asked for, that alone tells which photos are least like what is negated.
        """
        positive = any(weight > 0 for weight in self.weights)
        return tuple(positive and weight < 0 for weight in self.weights)

    @property
    def of_things(self) -> bool:
        """Whether it asks for nothing but whether things are there."""
        return bool(self.parts) and all(self.conditions)

    @cached_property
    def countings(self) -> tuple[Counting, ...]:
        """How much the score of each part counts."""
        counted = zip(self.weights, self.floored, self.conditions, strict=True)
        return tuple(Counting(*values) for values in counted)

    @cached_property
    def bag(self) -> FragmentBag:
        """The fragments of all parts, one after another, as links count them."""
        if len(self.parts) == 1:
            return self.parts[0]
        vectors = [part.vectors for part in self.parts]
        return FragmentBag(
            torch.cat(vectors) if vectors else torch.empty(0, 0),
            tuple(chain.from_iterable(part.places for part in self.parts)),  # type: ignore[arg-type]
            tuple(chain.from_iterable(part.labels for part in self.parts)),
            max((part.of_terms for part in self.parts), default=0),
        )
