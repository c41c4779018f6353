"""Titles in the joint space next to their words.

Hits of text to text beyond BM25.

    python -m benchmarks.models.title_similarity products_fashion --limit 2000

Products have their titles alone. Each of the queries is a kind, with a colour or without one, or a
word for a kind that no title has ("shades", "timepiece"). The calibrated probability of a title as
an answer is the term `meaning` of index.products.ranking. It is asked always, or as in product
search, where an English word of the query is in no title.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
import torch

from app.engine.inference import Models
from app.settings import Settings
from benchmarks.service.product_search import LEAST, TOP, JudgedQuery, Row, choose, queries
from index.catalog.views import ItemRow
from index.documents.documents import Documents
from index.documents.languages.stems import stem
from index.documents.words import tokens
from index.products.query import read_text
from index.products.ranking import rank
from index.products.requests import ProductRequest, Weights
from index.search.requests import NONE, Shortlist
from training.evaluation.score_matrix import sum_to_units

BATCH = 64
WEIGHTS = (0.05, 0.2, 0.5)
# Words for kinds of products, by the field that says the kind; those that a title has are left out.
OTHER_WORDS: Mapping[str, tuple[str, str]] = {
    "timepiece": ("articleType", "Watches"),
    "wristwatch": ("articleType", "Watches"),
    "shades": ("articleType", "Sunglasses"),
    "spectacles": ("articleType", "Sunglasses"),
    "purse": ("articleType", "Handbags"),
    "rucksack": ("articleType", "Backpacks"),
    "knapsack": ("articleType", "Backpacks"),
    "billfold": ("articleType", "Wallets"),
    "trainers": ("articleType", "Sports Shoes"),
    "stilettos": ("articleType", "Heels"),
    "denim": ("articleType", "Jeans"),
    "pants": ("articleType", "Trousers"),
    "slacks": ("articleType", "Trousers"),
    "blouse": ("articleType", "Tops"),
    "necktie": ("articleType", "Ties"),
    "perfume": ("articleType", "Perfume and Body Mist"),
    "fragrance": ("subCategory", "Fragrance"),
    "scent": ("subCategory", "Fragrance"),
    "footwear": ("masterCategory", "Footwear"),
    "jewellery": ("subCategory", "Jewellery"),
    "jewelry": ("subCategory", "Jewellery"),
    "cosmetics": ("masterCategory", "Personal Care"),
    "makeup": ("masterCategory", "Personal Care"),
    "underwear": ("subCategory", "Innerwear"),
    "lingerie": ("subCategory", "Innerwear"),
    "clothing": ("masterCategory", "Apparel"),
    "luggage": ("subCategory", "Bags"),
}


@dataclass(frozen=True, slots=True)
class RankingWay:
    """A way to rank: weights, and when to ask titles.

    `least` is the probability from which on a title alone makes its product relevant.
    """

    name: str
    weights: Weights
    least: float
    always: bool = False


class Titles:
    """Products by their titles, as documents and as bags."""

    def __init__(self, models: Models, rows: Sequence[Row]) -> None:
        self.models, self.documents = models, Documents()
        self.documents.add(
            ItemRow(number, row["id"], {"title": row["title"]}, ())
            for number, row in enumerate(rows, start=1)
        )
        texts = [row["title"] for row in rows]
        self.units = sum_to_units(
            [
                bag
                for at in range(0, len(texts), BATCH)
                for bag in models.matcher.embed_sentences(texts[at : at + BATCH])
            ]
        )

    def near(self, text: str) -> Shortlist:
        """The probability of each title as an answer to a text."""
        calibration = self.models.calibration
        assert calibration is not None
        query = calibration.drop_terms(self.models.query(text), in_photos=False)
        if not query.parts:
            return NONE
        scores = sum_to_units(query.parts) @ self.units.T  # (P, N)
        probabilities = calibration.of_query(query, scores, in_photos=False).astype(np.float64)
        numbers = np.zeros(len(probabilities), np.int64)
        exact = np.zeros(len(probabilities))
        return Shortlist(self.documents.revisions, numbers, probabilities, exact)

    def hits(self, way: RankingWay, text: str, near: Shortlist) -> list[str]:
        """The ids of the best products."""
        product_text = read_text(text, self.documents)
        used = way.weights.meaning and (way.always or product_text.unsaid is not None)
        request = ProductRequest(text=product_text, weights=way.weights, least=way.least, limit=TOP)
        answer = rank(self.documents, request, {"meaning": near} if used else {})
        return [hit.id for hit in answer.hits]


def other_words(items: Mapping[str, Row]) -> list[JudgedQuery]:
    """Words outside all titles, and a few products of their kinds."""
    known = {stem(token.folded) for row in items.values() for token in tokens(row["title"])}
    judged = []
    for word, (field, kind) in OTHER_WORDS.items():
        ids = frozenset(name for name, row in items.items() if row[field] == kind)
        if len(ids) >= LEAST and stem(word) not in known:
            judged.append(JudgedQuery(word, ids))
    return judged


def report(titles: Titles, judged: Sequence[JudgedQuery], name: str) -> None:
    """Print the precision of words, of titles' vectors, and of both."""
    weak = titles.models.weak_below or 0.0
    near = [titles.near(query.text) for query in judged]
    ways = [
        RankingWay("words", Weights(meaning=0), weak),
        RankingWay("titles", Weights(words=0, exact=0, meaning=1), 0.0, always=True),
    ]
    for weight in WEIGHTS:
        weights = Weights(meaning=weight)
        ways.append(RankingWay(f"both at {weight}", weights, weak, always=True))
        ways.append(RankingWay(f"for unsaid words at {weight}", weights, weak))
    precisions = []
    for way in ways:
        shares = [
            sum(hit in query.ids for hit in titles.hits(way, query.text, promising)) / TOP
            for query, promising in zip(judged, near, strict=True)
        ]
        precisions.append(f"{way.name} {fmean(shares):.3f}")
    print(f"P@{TOP} of {name} ({len(judged)}): {', '.join(precisions)}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("catalogue", type=Path, help="folder of items.jsonl")
    parser.add_argument("--limit", type=int, default=2_000)
    parser.add_argument("--threads", type=int, default=1, help="of the models")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    models = Models.of(Settings(captioner=None, region_captioner=None, grounder=None))
    rows = choose(options.catalogue, options.limit)
    titles, items = Titles(models, rows), {row["id"]: row for row in rows}
    for name, judged in {**queries(items), "words that no title has": other_words(items)}.items():
        report(titles, judged, name)


if __name__ == "__main__":
    main()
