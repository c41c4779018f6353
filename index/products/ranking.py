"""One ranking of items by their words and by how their photos look.

    score = words · S_w / bound + exact · [a field is all of the query]
          + looks · P(the photo shows it) + likeness · P(the photo is like the query's)
          + meaning · P(a sentence says it) + Σ boosts + 100 · (n - k) [pinned as k-th of n, from 0]

S_w / bound is the BM25F share of index.documents.bm25, from 0 to 1. P is the calibrated
probability; it is known of the photos and sentences that promise most, and 0 beyond them. Codes
estimate it: where their errors leave open what is relevant, or on the page, it is settled exactly.
Each term is a part of a hit, or several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from index.documents.bm25 import Scores
from index.documents.columns import Codes, Mask
from index.documents.documents import Documents
from index.documents.query_words import QueryWord
from index.filters import parse
from index.listing.listing import count_facets, find_page, locate, mask_passing
from index.listing.paging import RankedPage
from index.products.query import ProductText
from index.products.requests import (
    Boost,
    Near,
    Product,
    ProductAnswer,
    ProductRequest,
    ScorePart,
)
from index.search.requests import Shortlist

PIN = 100.0  # more than weights of up to 10 and boosts can give together
HALF = 0.5  # of the words' weight, which items must have where none has all words
Gains = NDArray[np.float64]
Neighbours = Mapping[Near, Shortlist]  # what is near the query in the joint space
Settle = Callable[[Neighbours, Sequence[int]], Neighbours]  # makes items' probabilities exact


@dataclass(frozen=True, slots=True)
class NearEstimate:
    """Probabilities of documents (N,), and how far each may be off (N,)."""

    value: Gains
    error: Gains

    @classmethod
    def of(cls, rows: Shortlist, documents: Documents) -> NearEstimate:
        """Estimate documents by their best rows: 0 without one."""
        value, error = np.zeros((2, len(documents)))
        places, present = locate(documents.revisions, rows.revisions)
        np.maximum.at(value, places, rows.probabilities[present])
        np.maximum.at(error, places, rows.errors[present])
        return cls(value, error)

    def without(self, other: NearEstimate) -> NearEstimate:
        """Estimate what one has and the other lacks."""
        value = np.minimum(self.value, 1 - other.value)
        return NearEstimate(value, np.maximum(self.error, other.error))


class Ranking:
    """The documents that are relevant to a request, and what each part gives them.

    Made, and read, under the documents' lock, as long as these are at its `stamp`.
    """

    def __init__(self, documents: Documents, request: ProductRequest) -> None:
        self.documents, self.request = documents, request
        self.stamp = documents.stamp
        self.passing = mask_passing(documents, request.where)
        text = request.text or ProductText("")
        self.words, self.weights = text.asked, request.field_weights
        self.scored = (*text.asked, *text.lacking)
        self.lexical = self._scores(self.scored)
        self.having = self.lexical.gains[: len(self.words)] > 0
        self.whole = documents.lexical.whole(
            np.flatnonzero(self.having.all(axis=0)),
            [word.alternatives for word in self.words],
            self.weights,
        )
        self.least = request.least
        self.asked_for = documents.live  # not refused
        for refusal in text.refused:
            alternatives = [word.alternatives for word in refusal.words]
            self.asked_for &= ~documents.lexical.mask_refused(alternatives, self.weights)
        self.pins = self._find_pins()

    def choose(self, near: Neighbours) -> None:
        """Choose the relevant documents, with what is near the query."""
        self.probabilities = {
            kind: NearEstimate.of(rows, self.documents) for kind, rows in near.items()
        }
        self.doubtful: Mask = np.zeros(len(self.documents), np.bool_)
        self.relevant: Mask = self.passing & self.asked_for
        if self._is_selective(near):
            # What a filter leaves is relevant where it is without the filter, as facets count.
            answers = self._mask_answers(self.asked_for)
            if not (answers & self.relevant).any():
                answers = self._mask_answers(self.relevant)
            self.relevant &= answers | (self.pins > 0)
        self.chosen = np.flatnonzero(self.relevant)

    def _find_pins(self) -> Gains:
        """The gain of each document (N,) by being pinned."""
        gains = np.zeros(len(self.documents))
        pinned = np.array(self.request.pinned, np.int64)
        places, order = locate(self.documents.revisions, pinned)
        gains[places] = PIN * (len(pinned) - order)
        return gains

    def _is_selective(self, near: Neighbours) -> bool:
        """Return whether there is something to find; else all that is not refused is relevant.

        A text that only refuses finds nothing: what its photos look like ranks all the rest.
        """
        if self.words:
            return True
        if self.request.text is not None and self.request.text.only_refuses:
            return "likeness" in near and self.request.weights.likeness > 0
        return self.request.text is not None or any(rows.asked for rows in near.values())

    def _scores(self, words: Sequence[QueryWord]) -> Scores:
        alternatives = [word.alternatives for word in words]
        return self.documents.lexical.scores(alternatives, self.weights)

    def _mask_answers(self, passing: Mask) -> Mask:
        """Mark the documents with all words or likely answers, else near ones."""
        having = self._mask_having(passing)
        if self.request.likely is not None:
            likely = having | self._mask_near(self.request.likely, passing & ~having)
            if (likely & passing).any():
                self.least = self.request.likely
                return likely
        self.least = self.request.least
        return having | self._mask_near(self.least, passing & ~having)

    def _mask_near(self, least: float, among: Mask) -> Mask:
        """Mark the documents with a probable photo or sentence.

        Of some documents, those that may or may not have one are doubtful.
        """
        surely, near, perhaps = np.zeros((3, len(self.documents)), np.bool_)
        bound = max(least, np.finfo(float).tiny)
        for estimate in self._decisive_probabilities():
            having = estimate.value >= bound
            near |= having
            surely |= estimate.value - estimate.error >= bound if least > 0 else having
            perhaps |= estimate.value + estimate.error >= bound
        self.doubtful |= among & perhaps & ~surely
        return near

    def _mask_having(self, passing: Mask) -> Mask:
        """Mark the documents with all words; if none has all, with half."""
        if not self.words:
            return np.zeros(len(self.documents), np.bool_)
        every: Mask = np.all(self.having, axis=0)
        if (every & passing).any():
            return every
        lexical = self.documents.lexical
        idf = [
            max(lexical.idfs(word.alternatives)) * bool(mask.any())
            for word, mask in zip(self.words, self.having, strict=True)
        ]
        weight: Gains = np.array(idf) @ self.having
        half: Mask = weight >= max(HALF * sum(idf), np.finfo(float).tiny)
        return half

    def _decisive_probabilities(self) -> list[NearEstimate]:
        """The probabilities (N,) any of which, if high enough, makes a document relevant.

        A photo next to a text finds what it finds alone, and the text ranks that: else a word that
        no item has would leave nothing. A photo whose weight is below 0 finds nothing, and what is
        like it has to go.
        """
        deciding = dict(self.probabilities)
        likeness = deciding.pop("likeness", None)
        if likeness is not None:
            towards = self.request.weights.likeness > 0
            deciding["looks"] = likeness if towards else deciding["looks"].without(likeness)
        return list(deciding.values())

    def scores(self) -> Gains:
        """The scores (M,) of the chosen documents."""
        weights, chosen = self.request.weights, self.chosen
        total = weights.words * self.lexical.relative[chosen].astype(np.float64)
        for kind, estimate in self.probabilities.items():
            total += weights.of(kind) * estimate.value[chosen]
        exact = np.zeros(len(self.documents), np.bool_)
        for rows in self.whole.values():
            exact[rows] = True
        total += weights.exact * exact[chosen]
        for boost in self.request.boosts:
            total += self._boost(boost)[chosen]
        return total + self.pins[chosen]

    def _boost(self, boost: Boost) -> Gains:
        """The gain of each document (N,) by a boost."""
        size = len(self.documents)
        if boost.key is None:
            return boost.weight * self.documents.passing(parse(boost.where)).astype(np.float64)
        column = self.documents.columns.get(boost.key)
        return boost.weight * (np.zeros(size) if column is None else column.shares(size))

    def errors(self) -> Gains:
        """How far the scores (M,) of the chosen documents may be off."""
        total = np.zeros(len(self.chosen))
        for kind, estimate in self.probabilities.items():
            total += abs(self.request.weights.of(kind)) * estimate.error[self.chosen]
        return total

    def page(self) -> RankedPage:
        """Rank the chosen documents behind the place where the request begins."""
        errors = self.errors()
        page = find_page(self.documents, self.request, self.chosen, self.scores(), errors)
        self.doubtful[self.chosen[page.doubtful]] = True
        return page

    def list_doubtful(self) -> list[int]:
        """The revisions of documents that may be relevant, or on the page, or not."""
        revisions: list[int] = self.documents.revisions[self.doubtful].tolist()
        return revisions

    def near(self, document: int) -> dict[Near, float]:
        """The probabilities of a document's best photos and sentence that gave it something."""
        return {
            kind: probability
            for kind, estimate in self.probabilities.items()
            if self.request.weights.of(kind) * (probability := float(estimate.value[document]))
        }

    def _name_whole(self, chosen: Codes) -> dict[int, str]:
        """The first whole field of some documents, by their places."""
        names: dict[int, str] = {}
        for name, rows in self.whole.items():
            for place in np.flatnonzero(np.isin(chosen, rows)).tolist():
                names.setdefault(place, name)
        return names

    def list_stated_parts(self, chosen: Codes) -> list[list[ScorePart]]:
        """List the parts of some documents' scores, without photos and sentences."""
        parts: list[list[ScorePart]] = [[] for _ in chosen]
        scale = self.request.weights.words / (self.lexical.bound or 1.0)
        for word in self.scored:
            typed = self.request.text.text[word.start : word.end] if self.request.text else ""
            shares = self.documents.lexical.shares(chosen, word.alternatives, self.weights)
            for name, gains in shares.items():
                for place in np.flatnonzero(gains).tolist():
                    gave = scale * float(gains[place])
                    parts[place].append(ScorePart("words", gave, name, word.spelling or typed))
        for place, name in self._name_whole(chosen).items():
            parts[place].append(ScorePart("exact", self.request.weights.exact, name))
        for boost in self.request.boosts:
            boosted = self._boost(boost)[chosen]
            for place in np.flatnonzero(boosted).tolist():
                parts[place].append(ScorePart("boost", float(boosted[place]), boost.name))
        for place in np.flatnonzero(self.pins[chosen]).tolist():
            parts[place].append(ScorePart("pinned", float(self.pins[chosen][place])))
        return parts

    def answer(self, page: RankedPage) -> ProductAnswer:
        """The hits of a page, with facets over all that is relevant."""
        documents, request = self.documents, self.request
        chosen = self.chosen[page.first]
        hits = [
            Product(
                documents.ids[document],
                int(documents.revisions[document]),
                tuple(parts),
                self.near(document),
                request.weights,
                count,
            )
            for document, parts, count in zip(
                chosen.tolist(),
                self.list_stated_parts(chosen),
                page.variants.tolist(),
                strict=True,
            )
        ]
        return ProductAnswer(
            tuple(hits),
            total=len(self.chosen),
            groups=page.groups,
            facets=count_facets(documents, request, self.relevant)[0],
            items=int(documents.live.sum()),
            behind=documents.behind,
            least=self.least,
            place=page.place,
        )


def rank(
    documents: Documents, request: ProductRequest, near: Neighbours, settle: Settle | None = None
) -> ProductAnswer:
    """Rank the items that answer a request: a page of them, with facets over all.

    `settle` makes probabilities exact, of items that they leave open; without it, they stay as they
    are. ValueError for what is no filter.
    """
    ranking = None
    while True:
        with documents.lock:
            if ranking is None or ranking.stamp != documents.stamp:
                ranking = Ranking(documents, request)
            ranking.choose(near)
            page = ranking.page()
            doubtful = ranking.list_doubtful() if settle else []
            if settle is None or not doubtful:
                return ranking.answer(page)
        near = settle(near, doubtful)
