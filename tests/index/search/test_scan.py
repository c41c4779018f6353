"""Scans equal brute force, and look at few codes."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from index.items import Entry, Picture
from index.search import scan, scanner
from index.search.gpu import Device
from index.search.index import Index
from index.search.query import QueryPart, total_errors, totals
from index.search.requests import Request
from index.search.rescorer import Rescorer
from index.search.scan import Scan, Scored
from index.search.shortlist import count_chosen
from index.segments import heads
from index.segments.follower import Follower, Sizes
from index.segments.follower_process import catch_up
from index.segments.heads import Extremes, Heads
from index.segments.rows import of_vectors
from models.scores.calibration import Calibration
from models.scores.scoring import SCORES
from models.text.queries import Query
from models.text.things import Condition
from models.threads import Workers
from models.types import Box, FragmentBag, Span

D, ITEMS, PER_ITEM, TAIL = 24, 300, 3, 40


def bag(random, fragments, kind):
    """Fragments with a common part, most unlike in first numbers."""
    spread = torch.logspace(0, -2, D)
    vectors = torch.randn(D, generator=random) + spread * torch.randn(
        fragments, D, generator=random
    )
    places = tuple(kind(i) for i in range(fragments))
    return FragmentBag(vectors, places, tuple("ab"[i % 2] for i in range(fragments)))


def query(random, words, negated=0):
    parts = [bag(random, words, lambda i: Span(2 * i, 2 * i + 1))]
    weights = [1.0]
    if negated:
        parts.append(bag(random, negated, lambda i: Span(2 * i, 2 * i + 1)))
        weights.append(-0.5)
    return Query(tuple(parts), tuple(weights), None)


@pytest.fixture
def collection(catalog):
    return catalog.names.make("default", fingerprint="a", dimension=D, score="sum_of_max")


@pytest.fixture(params=["heads", "device"])
def index(request, catalog, collection, segments_folder, random, monkeypatch):
    """An index over a published segment with heads, and a tail without.

    Or with all codes on a device, for which torch on the processor stands.
    """
    monkeypatch.setattr(heads, "LEAST", 2)
    monkeypatch.setattr(heads, "WIDTH", 6)
    monkeypatch.setattr(scan, "MANY", 0)
    photo = Picture(b"jpeg", 4, 3, "0" * 64)
    entries = [
        Entry(
            f"{i:03}",
            pictures=(photo,) * (1 + i % PER_ITEM),
            images=tuple(
                bag(random, 1 + i % 5, lambda _: Box(0.0, 0.0, 1.0, 1.0))
                for _ in range(1 + i % PER_ITEM)
            ),
            metadata={"even": i % 2 == 0},
        )
        for i in range(ITEMS)
    ]
    catalog.put_many(collection, entries[TAIL:])
    catch_up(catalog, segments_folder.parent)
    catalog.put_many(collection, entries[:TAIL])
    index = Index(catalog, collection, segments_folder)
    if request.param == "device":
        rescorer = index._scanner._rescorer
        rescorer.device = Device("cpu", rescorer.score)
    snapshot = index.snapshot()
    assert [one.sides["images"].heads is not None for one in snapshot.segments] == [True, False]
    yield index
    index.close()


@pytest.mark.parametrize("negated", [0, 3])
def test_exact_answer_is_right_and_looks_at_few_codes(index, random, right, negated):
    for words in (1, 2, 9):
        request = Request("images", query(random, words, negated), limit=5, exact=True)
        answer = index.best(request)
        assert right(request, answer)
        assert answer.exact
        assert answer.candidates < answer.rows / 2


@pytest.mark.parametrize("index", ["heads"], indirect=True)
@pytest.mark.parametrize("negated", [0, 3])
def test_heads_are_looked_at_only_where_extremes_leave_a_row(index, random, monkeypatch, negated):
    looked_at, score = {Heads: 0, Extremes: 0}, Scan.score

    def count(self, rows, numbers, heads=None):
        if heads is not None:
            looked_at[type(heads)] += len(numbers)
        return score(self, rows, numbers, heads)

    monkeypatch.setattr(Scan, "score", count)
    request = Request("images", query(random, 2, negated), limit=5, exact=True)
    hits = index.best(request).hits
    assert 0 < looked_at[Heads] < looked_at[Extremes] / 2
    looked_at[Extremes] = 0
    index.best(replace(request, after=hits[-1].key, seen=5))
    assert not looked_at[Extremes]  # they do not tell who was on the page before


@pytest.mark.parametrize("index", ["heads"], indirect=True)
def test_probable_photos_are_those_of_a_whole_scan_and_few_are_scored(
    index, catalog, collection, segments_folder, random, monkeypatch
):
    references = torch.ones(2, D) / D
    coefficients = torch.tensor([[0.05, -0.1, 0.1, -1.0]] * 3)
    calibration = Calibration(references, references, coefficients, weak_below=0.5)
    index = Index(catalog, collection, segments_folder, calibration=calibration)
    there = Condition(threshold=20.0, bias=-20.0, usual=1.0)
    things = replace(query(random, 3, 2), conditions=(there, there))
    photo = Query.of(bag(random, 3, lambda _: Box(0.0, 0.0, 1.0, 1.0)))
    scored, keep, counts = [], Scan.narrow_probable, set()
    monkeypatch.setattr(
        Scan, "narrow_probable", lambda *about: scored.append(keep(*about)) or scored[-1]
    )
    for asked in (query(random, 3), query(random, 3, 2), things, photo):
        for least in (0.2, 0.6, 0.9):
            request = Request("images", asked, least=least)
            monkeypatch.setattr(scan, "MANY", 10**9)
            whole = index.find_probable(request).items.tolist()
            monkeypatch.setattr(scan, "MANY", 0)
            assert index.find_probable(request).items.tolist() == whole
            every, few = map(count_chosen, scored[-2:])
            assert every > few
            counts.add(len(whole))
    assert len(counts) > 4
    index.close()


def test_exact_answer_to_a_mere_negation_is_right(index, random, right):
    for words in (1, 4):
        negated = replace(query(random, words), weights=(-0.5,))
        request = Request("images", negated, limit=5)
        answer = index.best(request)
        assert right(request, answer)
        assert answer.exact
        assert len({hit.score for hit in answer.hits}) == 5


def test_pages_are_one_order_without_gaps(index, random, right):
    request = Request("images", query(random, 4), limit=ITEMS, exact=True)
    whole = [hit.key for hit in index.best(request).hits]
    assert len(whole) == ITEMS
    paged, after = [], None
    for _ in range(20):
        page = index.best(replace(request, limit=7, after=after, seen=len(paged)))
        paged += [hit.key for hit in page.hits]
        after = paged[-1]
        assert page.candidates < page.rows
    assert paged == whole[:140]


def test_filters_and_deletions_hold(catalog, collection, index, random, right):
    for number in range(0, ITEMS, 3):
        catalog.delete(collection, f"{number:03}")
    request = Request("images", query(random, 4), limit=9, exact=True)
    assert right(request, index.best(request))
    even = replace(request, where={"even": True})
    assert all(int(hit.item) % 2 == 0 for hit in index.best(even).hits)


def test_rows_that_score_alike_are_all_kept(catalog, collection, segments_folder, monkeypatch):
    monkeypatch.setattr(heads, "LEAST", 2)
    monkeypatch.setattr(heads, "WIDTH", 6)
    monkeypatch.setattr(heads, "HELD", 0.0)
    monkeypatch.setattr(scan, "MANY", 0)
    random = torch.Generator().manual_seed(1)
    same = bag(random, 3, lambda _: Box(0.0, 0.0, 1.0, 1.0))
    photo = Picture(b"jpeg", 4, 3, "0" * 64)
    entries = [Entry(f"{i:03}", pictures=(photo,), images=(same,)) for i in range(100)]
    catalog.put_many(collection, entries)
    catch_up(catalog, segments_folder.parent)
    index = Index(catalog, collection, segments_folder)
    request = Request("images", query(random, 3), limit=10, exact=True)
    answer = index.best(request)
    assert [hit.item for hit in answer.hits] == [f"{i:03}" for i in range(10)]
    assert np.ptp([hit.score for hit in answer.hits]) == 0


def test_threads_share_rows_of_which_a_segment_has_none_left(
    catalog, collection, segments_folder, random, right, monkeypatch
):
    """All photos of the second segment are unlike the query."""
    monkeypatch.setattr(heads, "LEAST", 2)
    monkeypatch.setattr(heads, "WIDTH", 6)
    monkeypatch.setattr(scan, "MANY", 0)
    monkeypatch.setattr(scanner, "SHARED", 0)
    asked = query(random, 3)
    words = asked.parts[0].vectors.sum(0)
    photo, frame = Picture(b"jpeg", 4, 3, "0" * 64), (Box(0.0, 0.0, 1.0, 1.0),)
    follower = Follower(catalog, collection, segments_folder / collection.token, Sizes(rest=1e9))
    for first, count, sign in ((0, 90, 1), (90, 30, -1)):
        noise = 0.05 * torch.randn(count, 2, D, generator=random) * torch.logspace(0, -2, D)
        photos = [FragmentBag(sign * words + part, frame * 2, ("a", "b")) for part in noise]
        catalog.put_many(
            collection,
            [
                Entry(f"{number:03}", pictures=(photo,), images=(bag,))
                for number, bag in enumerate(photos, first)
            ],
        )
        while follower.step(flush=True):
            pass
    index = Index(catalog, collection, segments_folder, threads=3)
    request = Request("images", asked, limit=5, exact=True)
    assert len(index.snapshot().segments) == 2
    narrowed = []
    narrow = Scan.narrow
    monkeypatch.setattr(
        Scan, "narrow", lambda *about: narrowed.append(narrow(*about)) or narrowed[-1]
    )
    assert right(request, index.best(request))
    assert [len(numbers) > 0 for _, numbers in narrowed[0]] == [True, False]


def test_photos_of_the_same_items_crowd_no_others_out(
    catalog, collection, segments_folder, random, right, monkeypatch
):
    """Twelve items have 30 photos each, and five are asked for."""
    monkeypatch.setattr(scan, "MANY", 0)
    photo = Picture(b"jpeg", 4, 3, "0" * 64)
    entries = []
    for number in range(12):
        shared = bag(random, 3, lambda _: Box(0.0, 0.0, 1.0, 1.0))
        alike = tuple(
            replace(shared, vectors=shared.vectors + 0.01 * torch.randn(3, D, generator=random))
            for _ in range(30)
        )
        entries.append(Entry(f"{number:02}", pictures=(photo,) * 30, images=alike))
    catalog.put_many(collection, entries)
    index = Index(catalog, collection, segments_folder)
    rescorer = index._scanner._rescorer
    rescorer.device = Device("cpu", rescorer.score)
    request = Request("images", query(random, 4), limit=5, exact=True)
    whole = index.best(replace(request, limit=12))
    assert right(replace(request, limit=12), whole)
    first = index.best(request)
    assert [hit.key for hit in first.hits] == [hit.key for hit in whole.hits[:5]]
    behind = index.best(replace(request, after=first.hits[-1].key, seen=5))
    assert [hit.key for hit in behind.hits] == [hit.key for hit in whole.hits[5:10]]
    index.close()


def test_scores_without_bounds_end_on_a_device(random, monkeypatch):
    """Sums overflow, so every row stays."""
    monkeypatch.setattr(scan, "MANY", 0)
    monkeypatch.setattr(scan, "PROMISING", 2)
    score = SCORES["sum_of_max"]
    stored = [3e37 * vectors for vectors in torch.randn(30, 4, D, generator=random).numpy()]
    rows = of_vectors(stored, range(1, 31), [-1] * 30, "images", score, D)
    huge = Query.of(bag(random, 3, lambda i: Span(2 * i, 2 * i + 1)))
    terms = [QueryPart(huge.parts[0].vectors.numpy() * np.float32(1e37), 1.0)]
    asked = Scan(Rescorer(score, Workers(1)), Request("images", huge, limit=2, exact=True), terms)
    with np.errstate(all="ignore"):
        scored = asked.score_on(Device("cpu", score), [(rows, np.arange(30))], 3)
    assert scored is not None
    assert len(scored[0].numbers) == 30


def test_a_share_of_errors_reaches_as_far_as_things_that_may_be_there_or_not():
    random, share = np.random.default_rng(0), np.float32(0.25)
    there = Condition(threshold=0.5, bias=-0.5, usual=-1.0)
    terms = [
        QueryPart(np.ones((1, 2), np.float32), weight, condition=there) for weight in (1.0, -0.7)
    ]
    parts = random.normal(0.5, 2, (2, 5_000)).astype(np.float32)
    errors = random.uniform(0, 1, parts.shape).astype(np.float32)
    total, error = totals(parts, terms), total_errors(parts, errors, terms)
    scored = Scored(None, np.arange(5_000), parts, errors, total, error, terms)
    exact = totals(parts + share * errors * random.choice([-1, 1], parts.shape), terms)
    off = np.abs(exact - total)
    assert (off <= scored.reach(share)).all()
    assert (off > share * error).any()  # it would lose some of them
    assert (scored.reach(np.float32(1)) == error).all()
