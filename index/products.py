"""Product search: one ranking of items by their words and by how their photos look.

    score = words · S_w / bound + exact · [a field is all of the query]
          + looks · P(the photo shows it) + Σ boosts

S_w / bound is the BM25F share of index.lexical, from 0 to 1. P is the calibrated probability; it is
known of the photos that promise most, and 0 beyond them. Each term is a part of a hit, or several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from index.columns import Codes, Facet, Mask
from index.conditions import parse
from index.documents import Documents
from index.lexical import Scores
from index.photos import Photos
from index.reading import ProductText
from index.requests import FARTHEST
from index.wording import QueryWord

HALF = 0.5  # of the words' weight, which items must have where none has all words
Gains = NDArray[np.float64]
FIELDS: Mapping[str, float] = {"title": 2.0, "name": 2.0, "description": 0.5}  # others weigh 1


@dataclass(frozen=True, slots=True)
class Boost:
    """What items earn that pass a filter, or for the number they have under a key: 0 to 1 of it."""

    weight: float
    where: Mapping[str, Any] | None = None
    key: str | None = None

    @property
    def name(self) -> str:
        """What a part of a score is named after."""
        return self.key or ", ".join(self.where or {})


@dataclass(frozen=True, slots=True)
class FacetRequest:
    """A key to count values of: the `most` frequent ones; numbers in ranges that bounds part."""

    key: str
    most: int = 20
    bounds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Weights:
    """What a perfect match earns: of all words, of a whole field, and of a photo."""

    words: float = 1.0
    exact: float = 0.5
    looks: float = 0.2


@dataclass(frozen=True, slots=True)
class ProductRequest:
    """A search of items: `limit` of them from the `offset`-th on, best first.

    Without `text` and photos everything that passes the filter is relevant. `least` is the
    probability from which on a photo alone makes its item relevant.
    """

    text: ProductText | None = None
    where: Mapping[str, Any] | None = None
    least: float = 0.0
    weights: Weights = Weights()
    fields: Mapping[str, float] = field(default_factory=dict)
    boosts: tuple[Boost, ...] = ()
    facets: tuple[FacetRequest, ...] = ()
    sort: str | None = None
    descending: bool = False
    collapse: str | None = None
    limit: int = 20
    offset: int = 0

    def __post_init__(self) -> None:
        if self.offset + self.limit > FARTHEST:
            raise ValueError(f"hits beyond {FARTHEST:,} are not given; narrow the search down")

    @property
    def field_weights(self) -> Mapping[str, float]:
        """The weights of fields that are not 1."""
        return {**FIELDS, **self.fields}

    @property
    def keys(self) -> dict[str, None]:
        """The metadata keys that it counts, sorts, boosts or collapses by."""
        named = [one.key for one in self.facets] + [one.key for one in self.boosts]
        return dict.fromkeys(key for key in (*named, self.sort, self.collapse) if key)


@dataclass(frozen=True, slots=True)
class Part:
    """What one thing gave to a score: a word in a field, a whole field, the photo, or a boost."""

    kind: Literal["words", "exact", "looks", "boost"]
    gave: float
    field: str | None = None
    word: str | None = None


@dataclass(frozen=True, slots=True)
class Product:
    """A hit; its parts add up to its score. `variants` are the relevant items of its group."""

    id: str
    revision: int
    score: float
    parts: tuple[Part, ...]
    probability: float | None
    variants: int = 1


@dataclass(frozen=True, slots=True)
class ProductAnswer:
    """A page of products, and what there is to say of all relevant ones that pass the filter."""

    hits: tuple[Product, ...]
    total: int
    groups: int
    facets: tuple[Facet, ...]
    items: int
    behind: int


def passing(documents: Documents, where: Mapping[str, Any] | None) -> Mask:
    """Which documents (N,) are live and pass a filter."""
    return documents.live & documents.passing(parse(where))


class Ranking:
    """The documents that are relevant to a request, and what each part gives them.

    Made, and read, under the documents' lock.
    """

    def __init__(self, documents: Documents, request: ProductRequest, photos: Photos) -> None:
        self.documents, self.request = documents, request
        self.passing = passing(documents, request.where)
        text = request.text or ProductText("")
        self.words, self.weights = text.asked, request.field_weights
        self.lexical = self._scores(self.words)
        self.probabilities = np.zeros(len(documents))
        places, there = located(documents.revisions, photos.revisions)
        self.probabilities[places] = photos.probabilities[there]
        self.whole = documents.lexical.whole(
            [word.alternatives for word in self.words], text.length, self.weights
        )
        browsing = request.text is None and not photos.asked
        refused = (self._scores(text.refused).gains > 0).any(0)
        self.relevant: Mask = self.passing & ~refused
        if not browsing:
            self.relevant &= self._answering(self.relevant)
        self.chosen = np.flatnonzero(self.relevant)

    def _scores(self, words: Sequence[QueryWord]) -> Scores:
        asked = [word.alternatives for word in words]
        return self.documents.lexical.scores(asked, self.weights)

    def _answering(self, passing: Mask) -> Mask:
        """Which documents have all words, or a photo that answers; failing that, half the words."""
        answering: Mask = self.probabilities >= max(self.request.least, np.finfo(float).tiny)
        if not self.words:
            return answering
        having = self.lexical.gains > 0
        every: Mask = having.all(0)
        if not (every & passing).any():
            lexical = self.documents.lexical
            idf = [
                max(lexical.idf(one.term) for one in word.alternatives) * bool(own.any())
                for word, own in zip(self.words, having, strict=True)
            ]
            weight = np.array(idf) @ having
            every = np.logical_and(weight > 0, weight >= HALF * sum(idf))
        return answering | every

    def scores(self) -> Gains:
        """The scores (M,) of the chosen documents."""
        weights, chosen = self.request.weights, self.chosen
        total = weights.words * self.lexical.relative[chosen].astype(np.float64)
        total += weights.looks * self.probabilities[chosen]
        exact = np.zeros(len(self.documents), np.bool_)
        for mask in self.whole.values():
            exact |= mask
        total += weights.exact * exact[chosen]
        for boost in self.request.boosts:
            total += self._boosted(boost)[chosen]
        return total

    def _boosted(self, boost: Boost) -> Gains:
        """What a boost gives to each document (N,)."""
        size = len(self.documents)
        if boost.key is None:
            return boost.weight * self.documents.passing(parse(boost.where)).astype(np.float64)
        column = self.documents.columns.get(boost.key)
        return boost.weight * (np.zeros(size) if column is None else column.shares(size))

    def order(self, scores: Gains) -> Codes:
        """The places of the chosen documents, best first: of all, or as many as are asked for."""
        column = self.documents.columns.get(self.request.sort or "")
        first = -scores
        if column is not None:
            keys = column.sort_keys(len(self.documents), self.request.descending)
            first = keys[self.chosen].astype(np.float64)
        some = self._first(first)
        ties = self.documents.places()[self.chosen[some]]
        order: Codes = some[np.lexsort((ties, -scores[some], first[some]))]
        return order

    def _first(self, values: Gains) -> Codes:
        """The places of the smallest values: of all, or of those that a page may need."""
        needed = self.request.offset + self.request.limit
        if self.request.collapse or needed >= len(values):
            return np.arange(len(values))
        return np.flatnonzero(values <= np.partition(values, needed - 1)[needed - 1])

    def collapsed(self, order: Codes) -> tuple[Codes, Codes]:
        """The first of each group in an order, and how many each group has."""
        column = self.documents.columns.get(self.request.collapse or "")
        if column is None:
            return order, np.ones(len(order), np.int64)
        groups = column.first_codes(len(self.documents))[self.chosen[order]]
        alone = groups < 0
        groups[alone] = len(column.values) + np.flatnonzero(alone)
        _, first, counts = np.unique(groups, return_index=True, return_counts=True)
        best = np.argsort(first)
        return order[first[best]], counts[best]

    def facet(self, asked: FacetRequest) -> Facet:
        """The counts of a key's values among the relevant documents."""
        column = self.documents.columns.get(asked.key)
        if column is None:
            return Facet(asked.key, (), 0, len(self.chosen))
        return column.facet(asked.key, self.relevant, asked.most, asked.bounds)

    def parts(self, chosen: Codes) -> list[list[Part]]:
        """The parts of some documents' scores, but for their photos'."""
        found: list[list[Part]] = [[] for _ in chosen]
        scale = self.request.weights.words / (self.lexical.bound or 1.0)
        for word in self.words:
            typed = self.request.text.text[word.start : word.end] if self.request.text else ""
            shares = self.documents.lexical.shares(chosen, word.alternatives, self.weights)
            for name, gains in shares.items():
                for place in np.flatnonzero(gains).tolist():
                    gave = scale * float(gains[place])
                    found[place].append(Part("words", gave, name, word.spelling or typed))
        for place, document in enumerate(chosen.tolist()):
            whole = [name for name, mask in self.whole.items() if mask[document]]
            if whole:
                found[place].append(Part("exact", self.request.weights.exact, whole[0]))
        for boost in self.request.boosts:
            boosted = self._boosted(boost)[chosen]
            for place in np.flatnonzero(boosted).tolist():
                found[place].append(Part("boost", float(boosted[place]), boost.name))
        return found


def search(documents: Documents, request: ProductRequest, photos: Photos) -> ProductAnswer:
    """A page of the items that answer a request, with facets over all of them.

    ValueError for what is no filter.
    """
    with documents.lock:
        ranking = Ranking(documents, request, photos)
        first, variants = ranking.collapsed(ranking.order(ranking.scores()))
        page = slice(request.offset, request.offset + request.limit)
        chosen = ranking.chosen[first[page]]
        hits = [
            _product(ranking, document, parts, count)
            for document, parts, count in zip(
                chosen.tolist(), ranking.parts(chosen), variants[page].tolist(), strict=True
            )
        ]
        return ProductAnswer(
            tuple(hits),
            total=len(ranking.chosen),
            groups=len(first) if request.collapse else len(ranking.chosen),
            facets=tuple(ranking.facet(asked) for asked in request.facets),
            items=int(documents.live.sum()),
            behind=documents.behind,
        )


def _product(ranking: Ranking, document: int, parts: list[Part], variants: int) -> Product:
    probability = float(ranking.probabilities[document])
    if gave := ranking.request.weights.looks * probability:
        parts = [*parts, Part("looks", gave)]
    return Product(
        ranking.documents.ids[document],
        int(ranking.documents.revisions[document]),
        sum(part.gave for part in parts),
        tuple(parts),
        probability if gave else None,
        variants,
    )


def located(revisions: Codes, wanted: Codes) -> tuple[Codes, Codes]:
    """Where wanted revisions stand among others, which come in order; and which ones are there."""
    places = np.searchsorted(revisions, wanted)
    there = np.flatnonzero(places < len(revisions))
    there = there[revisions[places[there]] == wanted[there]]
    return places[there], there
