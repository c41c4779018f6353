"""Contenders: every row with a chance stays."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from index.search import exact_scores
from index.search.contenders import NONE, SPARE, Contenders
from index.search.requests import HitKey, Request
from models.text.queries import Query


def contenders(totals: list[float], off: float, per_item: int = 1) -> Contenders:
    """Rows of items' photos with errors of scores."""
    total = np.array(totals, np.float32)
    numbers = np.arange(len(total))
    error = np.full(len(total), off, np.float32)
    return Contenders(numbers // per_item, -1 - numbers % per_item, total, error, total + error)


@pytest.fixture
def request_of(sentence_bag):
    query = Query.of(sentence_bag(3))
    return lambda side="images", **more: Request(side, query, **more)


def test_a_row_is_left_out_once_enough_others_certainly_come_before_it(request_of):
    rows = contenders([float(score) for score in range(100)], off=3.0)
    # Of limit 10 the 11th best row reaches 89 - 3 at least, and a row of 83 reaches 86 at most.
    assert rows.among_best(request_of(limit=10)).total.tolist() == list(range(83, 100))
    close = contenders([float(score) for score in range(100)], off=0.1)
    assert len(close.among_best(request_of(limit=10))) == 11 + SPARE


def test_photos_of_an_item_count_once(request_of):
    rows = contenders([float(score) for score in range(100)], off=0.1, per_item=4)
    kept = rows.among_best(request_of(limit=10))
    # The 11th best item's best photo has 59 and may be lower by 0.1; sentences are hits each.
    assert kept.total.tolist() == list(range(59, 100))
    assert len(rows.among_best(request_of("sentences", limit=10))) == 11 + SPARE


def test_what_may_have_been_shown_takes_no_place_of_a_hit(request_of):
    rows = contenders([float(score) for score in range(100)], off=2.0)
    after = request_of(limit=10, after=HitKey(-80.0, "an item", -1), seen=19)
    # Rows of 78 and more may have been shown. Of the others the 11th has 67, and may have 65.
    assert rows.among_best(after).total.tolist() == list(range(63, 100))
    assert len(rows.among_best(request_of(limit=10, least=0.5))) == 100


def test_the_best_are_never_left_out(request_of):
    random = np.random.default_rng(1)
    for per_item in (1, 3):
        for limit in (1, 5, 20):
            rows = contenders(random.normal(size=200).tolist(), 0.3, per_item)
            exact = rows.total + random.uniform(-0.3, 0.3, 200)
            kept = rows.among_best(request_of(limit=limit))
            assert len(kept) < 200
            best: Counter[int] = Counter()
            for revision, score in zip(rows.revisions.tolist(), exact.tolist(), strict=True):
                best[revision] = max(best.get(revision, -9.0), score)
            wanted = {item for item, _ in best.most_common(limit + 1)}
            assert wanted <= set(kept.revisions.tolist())


def test_those_of_several_shards_are_one():
    parts = [contenders([1.0, 2.0], 0.1), NONE, contenders([3.0], 0.1)]
    assert Contenders.together(parts).total.tolist() == [1.0, 2.0, 3.0]
    assert len(Contenders.together([])) == 0


@pytest.mark.parametrize("sorted_at_once", [2, 4_096])
def test_places_come_in_batches_that_double_the_highest_first(
    sorted_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact_scores, "SORTED", sorted_at_once)
    values = np.array([1, 9, 3, 9, 5, 7, 2, 8], np.float32)
    listed = [batch.tolist() for batch in exact_scores.batches(values, 3)]
    assert [sorted(batch) for batch in listed] == [[1, 3, 7], [0, 2, 4, 5, 6]]
    assert listed[1] == [5, 4, 2, 6, 0]
    assert not [*exact_scores.batches(values[:0], 3)]
