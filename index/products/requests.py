"""Requests and answers of product search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from index.conditions import simple_parts
from index.documents.documents import FIELDS
from index.documents.facet_counts import Facet
from index.filters import parse
from index.listing.requests import ListPlace, ListRequest
from index.products.query import ProductText
from index.segments.rows import Side

# What is near in the joint space: a photo that shows the text, or that is like a photo next to the
# text, or a sentence. Without a text, a photo that is like the one that is shown is "looks".
Near = Literal["looks", "likeness", "meaning"]
SIDE_OF: Mapping[Near, Side] = {"looks": "images", "likeness": "images", "meaning": "sentences"}


LIKELY = 0.6  # how probable a photo must be that alone makes an item an answer to words


@dataclass(frozen=True, slots=True)
class Boost:
    """A gain for items that pass a filter, or by their number under a key, scaled to 0 to 1."""

    weight: float
    where: Mapping[str, Any] | None = None
    key: str | None = None

    @property
    def name(self) -> str:
        """The name of its part of a score."""
        return self.key or ", ".join(self.where or {})


@dataclass(frozen=True, slots=True)
class Weights:
    """The gains of perfect matches: of all words, a whole field, a photo and a sentence.

    likeness: of a photo that is like the query's; below 0, it loses.
    """

    words: float = 1.0
    exact: float = 0.5
    looks: float = 0.2
    meaning: float = 0.2
    likeness: float = 0.0

    def of(self, near: Near) -> float:
        """The gain of a perfect match in the joint space."""
        return {"looks": self.looks, "likeness": self.likeness, "meaning": self.meaning}[near]


@dataclass(frozen=True, slots=True)
class ProductRequest(ListRequest):
    """A search of items: `limit` of them, best first, behind a place.

    Without `text` and photos everything that passes the filter is relevant. `least` is the
    probability from which on a photo, or a sentence, alone makes its item relevant; with `likely`,
    only where no item has the words or such a photo. `pinned` are revisions of items that come
    first, in this order, if they pass the filter and are not refused.
    """

    text: ProductText | None = None
    where: Mapping[str, Any] | None = None
    least: float = 0.0
    likely: float | None = None
    weights: Weights = Weights()
    fields: Mapping[str, float] = field(default_factory=dict)
    boosts: tuple[Boost, ...] = ()
    pinned: tuple[int, ...] = ()

    @property
    def field_weights(self) -> Mapping[str, float]:
        """The weights of fields that are not 1."""
        return {**FIELDS, **self.fields}

    @property
    def keys(self) -> dict[str, None]:
        """The metadata keys that it counts, sorts, boosts or collapses by."""
        boosted = [boost.key for boost in self.boosts if boost.key]
        return self.listed_keys | dict.fromkeys(boosted)

    @property
    def keys_with_filters(self) -> list[str]:
        """The metadata keys that it names, those of filters first."""
        filters = [self.where, *(boost.where for boost in self.boosts)]
        filtered = [part.key for where in filters for part in simple_parts(parse(where))]
        return list(dict.fromkeys([*filtered, *self.keys]))


@dataclass(frozen=True, slots=True)
class ScorePart:
    """A part of a score: by a word, a field, a photo, a pin."""

    kind: Literal["words", "exact", "looks", "likeness", "meaning", "boost", "pinned"]
    gave: float
    field: str | None = None
    word: str | None = None


@dataclass(frozen=True, slots=True)
class Product:
    """A hit; its parts add up to its score. `variants` are the relevant items of its group.

    `stated` are the parts that words and boosts gave. `probabilities` are those of its best photos
    and sentence, where they gave something; `weights` say how much.
    """

    id: str
    revision: int
    stated: tuple[ScorePart, ...]
    probabilities: Mapping[Near, float]
    weights: Weights
    variants: int = 1

    @property
    def parts(self) -> tuple[ScorePart, ...]:
        """All parts of its score."""
        near = (
            ScorePart(
                kind, self.weights.of(kind) * chance, "sentences" if kind == "meaning" else None
            )
            for kind, chance in self.probabilities.items()
        )
        return (*self.stated, *near)

    @property
    def score(self) -> float:
        """The score: the sum of its parts."""
        return sum(part.gave for part in self.parts)


@dataclass(frozen=True, slots=True)
class ProductAnswer:
    """A page of products, with counts of all relevant ones.

    least: from which probability on a photo, or a sentence, alone made its item relevant.
    """

    hits: tuple[Product, ...]
    total: int
    groups: int
    facets: tuple[Facet, ...]
    items: int
    behind: int
    least: float
    place: ListPlace | None = None  # where the next page begins, if there is one
