"""Searches with equal answers by several kinds of indexes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from index.items import Entry
from index.search.index import Index
from index.search.requests import Hit, Request
from models.scores.calibration import Calibration
from models.text.queries import Query
from models.text.things import Condition
from tests.index.conftest import DIMENSION, MakeBag, MakeEntry

CALIBRATION = Calibration(
    torch.ones(2, DIMENSION) / DIMENSION,
    torch.ones(2, DIMENSION) / DIMENSION,
    torch.tensor([[0.5, -0.1, 0.1, -1.0]] * 3),
    weak_below=0.5,
)


def requests_of(sentence_bag: MakeBag, image_bag: MakeBag) -> list[Request]:
    """Requests of all directions, with and without options.

    Filters, negation and a least probability.
    """
    query = Query((sentence_bag(3), sentence_bag(2)), (1.0, -0.4))
    there = Condition(threshold=0.4, bias=-0.5, usual=-1.0)
    one, other = sentence_bag(1), sentence_bag(1)
    things = Query((one, other), (1.0, -1.0), "a dog, no cat", conditions=(there, there))
    return [
        Request("images", things, limit=7),
        Request("images", things, limit=7, least=0.2),
        Request("images", replace(things, weights=(-1.0, -1.0)), limit=7),
        Request("images", replace(query, conditions=(None, there)), limit=7),
        Request("images", query, limit=7),
        Request("images", query, limit=7, where={"n": [1, 2]}),
        Request("images", query, limit=7, least=0.2),
        Request("images", replace(query, weights=(-0.6, -0.4)), limit=7),
        Request("images", replace(query, weights=(-0.6, -0.4)), limit=7, least=0.2),
        Request("images", Query.of(image_bag(3)), limit=7, exact=True),
        Request("images", query, limit=7, per_photo=1),
        Request("images", query, limit=7, per_photo=3, where={"n": [1, 2]}),
        Request("sentences", Query.of(image_bag(4)), limit=7),
        Request("sentences", Query.of(image_bag(4)), limit=7, where={"n": 3}),
        Request("sentences", Query((sentence_bag(3),), (1.0,), "a text"), limit=7),
    ]


def pages(index: Index, request: Request) -> tuple[list[Any], Any]:
    """All pages of a request.

    Keys, probabilities and links of hits, and what was searched.
    """
    hit: Hit | None = None
    found: list[Any] = []
    while True:
        answer = index.best(request.behind(hit, len(found)))
        assert answer.complete
        assert answer.behind == 0
        found += [(one.key, one.probability, one.links, one.bag.labels) for one in answer.hits]
        if not answer.more:
            return found, (answer.rows, answer.exact)
        hit = answer.hits[-1]


def stored(entry: MakeEntry, count: int, start: int = 0) -> list[Entry]:
    """Entries, a quarter of them alike but for ids."""
    new = [entry(f"{i:03}", metadata={"n": i % 4}) for i in range(start, start + count)]
    return new + [replace(one, id=f"again {one.id}") for one in new[: count // 4]]
