"""Choice of rows, by filters and less negated parts."""

import numpy as np
import pytest
import torch

from index.bags import IMAGE
from index.search import shortlist as choice
from index.search.query import terms_of
from index.search.requests import Request
from index.segments import candidates
from index.segments.rows import empty, of_vectors
from index.segments.segment import RevisionSpan, Segment
from models.scores.scoring import SCORES
from models.text.queries import Query
from models.threads import Workers

SCORE = SCORES["sum_of_max"]
ALONE = Workers(1)


@pytest.fixture
def snapshot(catalog, collection, index, entry):
    catalog.put_many(collection, [entry(f"{i:02}") for i in range(60)])
    return index.snapshot()


def test_without_a_score_every_row_that_passes_is_chosen(snapshot, sentence_bag):
    request = Request("images", Query.of(sentence_bag()))
    passing = np.array([3, 5, 59])
    ((rows, numbers),), whole = choice.choose(
        snapshot.segments, request, terms_of(request.query, request.role), passing, None, ALONE
    )
    assert (rows.revisions[numbers].tolist(), whole) == ([3, 5, 59], True)


def test_candidates_are_those_that_promise_most_less_what_is_negated(
    snapshot, sentence_bag, monkeypatch
):
    """S = fᵀ Σ_t s_t − w Σ_t max(0, fᵀ n_t).

    Of each photo's first fragment f, the ten highest.
    """
    monkeypatch.setattr(candidates, "SCANNED", 10)
    monkeypatch.setattr(candidates, "count_candidates", lambda *_: 10)
    asked, negated = sentence_bag(3), sentence_bag(2)
    request = Request("images", Query((asked, negated), (1.0, -0.7)))
    ((rows, numbers),), whole = choice.choose(
        snapshot.segments, request, terms_of(request.query, request.role), None, SCORE, ALONE
    )
    first = torch.from_numpy(rows.summaries.astype(np.float32))
    promised = (first @ asked.vectors.T).sum(1) - 0.7 * (first @ negated.vectors.T).relu().sum(1)
    assert set(numbers.tolist()) == set(promised.topk(10).indices.tolist())
    assert set(numbers.tolist()) != set((first @ asked.vectors.T).sum(1).topk(10).indices.tolist())
    assert not whole


def test_a_shard_chooses_its_share_of_what_the_collection_would(
    snapshot, sentence_bag, monkeypatch
):
    """Of 60 rows in a fifth of all buckets: of 300, 20 are wanted: 20 / 5 + 3 √(20 / 5 · 4 / 5)."""
    monkeypatch.setattr(candidates, "SCANNED", 10)
    monkeypatch.setattr(candidates, "PER_HIT", 1)
    asked = []
    monkeypatch.setattr(candidates, "count_candidates", lambda *about: asked.append(about) or 20)
    request = Request("images", Query.of(sentence_bag(3)), limit=1)
    terms = terms_of(request.query, request.role)
    ((rows, numbers),), whole = choice.choose(
        snapshot.segments, request, terms, None, SCORE, ALONE, 0.2
    )
    first = torch.from_numpy(rows.summaries.astype(np.float32))
    best = (first @ request.query.parts[0].vectors.T).sum(1).topk(10).indices
    assert (set(numbers.tolist()), whole) == ({*best.tolist()}, False)
    assert [about[0] for about in asked] == [300]


def test_threads_choose_what_one_does(
    catalog, collection, follow, index, entry, sentence_bag, monkeypatch
):
    """Segments are shared by threads once there are many rows."""
    monkeypatch.setattr(candidates, "SCANNED", 30)
    monkeypatch.setattr(candidates, "count_candidates", lambda *_: 20)
    monkeypatch.setattr(choice, "SHARED", 0)
    catalog.put_many(collection, [entry(f"{i:03}") for i in range(150)])
    follow()
    segments = index.snapshot().segments
    assert len(segments) > 2
    request = Request("images", Query.of(sentence_bag(3)))
    terms = terms_of(request.query, request.role)
    alone, shared = (
        choice.choose(segments, request, terms, None, SCORE, Workers(threads))[0]
        for threads in (1, 4)
    )
    assert [numbers.tolist() for _, numbers in alone] == [numbers.tolist() for _, numbers in shared]
    assert sum(len(numbers) for _, numbers in alone) == 20


def test_a_segment_with_all_the_best_rows_is_asked_for_all_of_them(monkeypatch):
    """Many rows are alike, and four threads share three segments."""
    for name, value in (("SCANNED", 40), ("SPLIT", 100), ("CELL", 10)):
        monkeypatch.setattr(candidates, name, value)
    monkeypatch.setattr(choice, "SHARED", 0)
    monkeypatch.setattr(choice, "LEAST", 10)
    random = np.random.default_rng(3)
    direction = random.standard_normal(8).astype(np.float32)
    segments = []
    for first, sign in ((0, -1), (300, 1), (600, -1)):
        few = sign * direction + 0.1 * random.standard_normal((7, 8)).astype(np.float32)
        bags, numbers = [few[number % 7][None] for number in range(300)], range(first, first + 300)
        held = of_vectors(bags, numbers, [IMAGE] * 300, "images", SCORE, 8)
        span = RevisionSpan(first - 1, first + 299, first + 299, "")
        sides = {"images": held, "sentences": empty(8)}
        segments.append(Segment(span, sides, {"images": candidates.build(held)}))
    masks = [segment.sides["images"].live for segment in segments]
    query = choice.SummaryQuery.of("images", direction)
    promising = choice.find_promising(segments, query, 250, masks, [300] * 3, Workers(4))
    assert [len(listed.rows) for listed in promising] == [0, 250, 0]
    assert (np.diff(promising[1].rows) > 0).all()
