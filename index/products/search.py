"""Product search: words, photos and sentences asked for together, and the hits explained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from index.documents.documents import Schema
from index.items import Item
from index.listing.listing import mask_passing
from index.products.query import read_text
from index.products.ranking import rank
from index.products.requests import SIDE_OF, Near, Product, ProductAnswer, ProductRequest
from index.search.index import Index
from index.search.requests import BEST, NONE, Hit, Shortlist
from models.text.queries import Query

NEAR_ORDER: tuple[Near, ...] = ("meaning", "likeness", "looks")  # the last depends on the second
UNCALIBRATED = "The matcher is not calibrated: only words count, not how photos look."
UNCOMPARED = (
    "Sentences of items were not asked: the matcher's probabilities of texts are of an earlier "
    "version. Run `tessera calibrate --texts`."
)
Embed = Callable[[str], Query]
Explained = dict[Near, dict[int, Hit]]  # photos and sentences by their items' revisions


@dataclass(frozen=True, slots=True)
class ProductResult:
    """The result of a product search: its answer, its explanation, and the read text.

    `explained` are the best photo and sentence of items by their revisions, for the `queries` that
    were asked of them. `coverage` is the share of the collection whose photos and sentences were
    searched, and `damaged` are items that were left out because what is stored of them is damaged.
    """

    answer: ProductAnswer
    explained: Explained
    request: ProductRequest
    queries: Mapping[Near, Query]
    notes: tuple[str, ...]
    schema: Schema
    coverage: float
    damaged: frozenset[str]
    items: Mapping[str, Item] = field(default_factory=dict)  # by id, once they are looked up


class ItemSearch:
    """One search of a collection's items: for a text, a photo, both or neither."""

    def __init__(
        self,
        index: Index,
        request: ProductRequest,
        text: str | None,
        photo: Query | None,
        embed: Embed | None,
    ) -> None:
        """Read the text, and embed it with `embed`, which is None without a calibration."""
        self._index, self._documents = index, index.documents.current()
        self._request = request
        self._queries: dict[Near, Query] = {} if photo is None else {"looks": photo}
        self._notes = () if photo is None else photo.notes
        self._damaged = set[str]()
        if text is not None:
            self._read_text(text, photo, embed)

    def _read_text(self, text: str, photo: Query | None, embed: Embed | None) -> None:
        """Ask photos for a text, and sentences if an English word of it is in no item."""
        product_text, weights = read_text(text, self._documents), self._request.weights
        self._request = replace(self._request, text=product_text)
        self._notes, self._queries = (*product_text.notes, *self._notes), {}
        if embed is None:
            self._notes = (*self._notes, UNCALIBRATED)
            return
        if weights.looks:
            self._queries["looks"] = embed(product_text.corrected)
            if photo is not None:
                self._queries["likeness"] = photo
        if weights.meaning and product_text.unsaid is not None:
            if self._index.compares_texts:
                self._queries["meaning"] = embed(product_text.unsaid)
            else:
                self._notes = (*self._notes, UNCOMPARED)

    def find(self) -> ProductResult:
        """Find the page of items that is asked for.

        ValueError for what is no filter, and for photos where the matcher is not calibrated.
        """
        near = self._shortlist()
        answer = rank(self._documents, self._request, near)
        explained = {kind: self._explain(kind, near[kind], answer) for kind in near}
        hits = [_with_exact_probabilities(hit, explained) for hit in answer.hits]
        if self._request.sort is None:
            hits.sort(key=lambda hit: (-hit.score, hit.id))
        with self._documents.lock:
            schema = self._documents.schema()
        return ProductResult(
            replace(answer, hits=tuple(hits)),
            explained,
            self._request,
            self._queries,
            self._notes,
            schema,
            min((rows.coverage for rows in near.values()), default=1.0),
            frozenset(self._damaged),
        )

    def _shortlist(self) -> dict[Near, Shortlist]:
        """Find the photos and sentences that promise most, of items that pass the filter."""
        revisions = None
        if self._queries and self._request.where:
            with self._documents.lock:
                passing = mask_passing(self._documents, self._request.where)
                revisions = self._documents.revisions[passing]
        near: dict[Near, Shortlist] = {}
        for kind in sorted(self._queries, key=NEAR_ORDER.index):
            query = self._queries[kind]
            near[kind] = (
                self._index.shortlist(SIDE_OF[kind], query, BEST, revisions)
                if query.parts
                else replace(NONE, asked=True)
            )
            if kind == "likeness" and self._request.weights.likeness > 0:
                # The text ranks what the photo finds: it is asked of all that, and of nothing else.
                revisions = np.unique(near[kind].revisions)
        return near

    def _explain(self, kind: Near, rows: Shortlist, answer: ProductAnswer) -> dict[int, Hit]:
        """Score exactly the best photos, or sentences, of hits that they gave something to."""
        shown = rows.of_items([hit.revision for hit in answer.hits if kind in hit.probabilities])
        if not shown:
            return {}
        return self._index.explain(SIDE_OF[kind], self._queries[kind], shown, self._damaged)


def _with_exact_probabilities(product: Product, explained: Explained) -> Product:
    """Replace the probabilities from codes by those of the explained photos and sentences."""
    probabilities = dict(product.probabilities)
    for kind in probabilities:
        hit = explained[kind].get(product.revision)
        if hit is not None and hit.probability is not None:
            probabilities[kind] = hit.probability
    return replace(product, probabilities=probabilities)
