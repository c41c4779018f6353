"""Product search: words, photos and sentences asked for together, and the hits explained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from index.distinct import find_distinct
from index.documents.documents import Schema
from index.items import Item
from index.listing.listing import mask_passing
from index.products.query import read_text
from index.products.ranking import Neighbours, rank
from index.products.requests import SIDE_OF, Near, ProductAnswer, ProductRequest
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
        self._damaged, self._explained = set[str](), dict[Near, dict[int, Hit]]()
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
        self._explained = {kind: {} for kind in near}
        answer = rank(self._documents, self._request, near, self._settle)
        with self._documents.lock:
            schema = self._documents.schema()
            self._damaged.update(self._documents.damaged.values())
        return ProductResult(
            answer,
            self._explained,
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
                revisions = find_distinct(near[kind].revisions)
        return near

    def _settle(self, near: Neighbours, revisions: Sequence[int]) -> Neighbours:
        """Score exactly the photos, and sentences, of some items."""
        return {kind: self._score(kind, rows, revisions) for kind, rows in near.items()}

    def _score(self, kind: Near, rows: Shortlist, revisions: Sequence[int]) -> Shortlist:
        shown = rows.of_items(revisions)
        if not shown:
            return rows
        hits = self._index.explain(SIDE_OF[kind], self._queries[kind], shown, self._damaged)
        self._explained[kind].update(hits)
        exact = {revision: hit.probability or 0.0 for revision, hit in hits.items()}
        return rows.settle(revisions, exact)
