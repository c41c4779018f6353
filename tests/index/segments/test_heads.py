"""Heads: bounds of scores, components, and checked files."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.search import query as query_parts
from index.search.query import QueryPart, SentenceRole
from index.search.rescorer import Coded, Rescorer
from index.segments import heads, rows
from models.scores.scoring import SCORES
from models.text.things import Condition
from models.threads import Workers

MAGNITUDES = st.sampled_from([1e-9, 1e-4, 1.0, 1e5, 1e12])
bags_and_words = given(  # sizes of bags, words, dimension, a seed, and both sides' magnitudes
    st.lists(st.integers(1, 7), min_size=1, max_size=8),
    st.integers(1, 9),
    st.integers(7, 40),
    st.integers(0, 99),
    MAGNITUDES,
    MAGNITUDES,
)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(heads, "LEAST", 1)
    monkeypatch.setattr(heads, "WIDTH", 3)
    monkeypatch.setattr(heads, "HELD", 0.0)


def random_bags(sizes, dimension, seed, magnitude=1.0):
    random = np.random.default_rng(seed)
    spread = magnitude / (1 + np.arange(dimension))
    shift = random.normal(size=dimension)
    return [
        (spread * (shift + random.normal(size=(size, dimension)))).astype(np.float32)
        for size in sizes
    ]


def with_heads(bags, score="sum_of_max"):
    numbers = range(len(bags))
    held = rows.of_vectors(bags, numbers, numbers, "images", SCORES[score], bags[0].shape[1])
    built = heads.build(held.codes, held.offsets, held.scales, rows.in_memory)
    return replace(held, heads=built)


def code_for(coded, terms, score="sum_of_max"):
    """A query's parts, for heads or extremes."""
    return [
        Coded(
            term,
            SCORES[score],
            SentenceRole.QUERY_IS_SENTENCE,
            rows_have_base=True,
            heads=coded,
        )
        for term in terms
    ]


@pytest.mark.parametrize(("score", "weight"), [*product(SCORES, (1.0, -0.5))])
@settings(max_examples=40)
@bags_and_words
def test_score_from_heads_is_no_farther_from_the_exact_one_than_it_says(
    score, weight, sizes, T, D, seed, large, long
):
    bags, term = (
        random_bags(sizes, D, seed, large),
        QueryPart(random_bags([T], D, seed + 1, long)[0], weight, floored=weight < 0),
    )
    held = with_heads(bags, score)
    parts = code_for(held.heads, [term], score)
    found = Rescorer(SCORES[score], Workers(1)).estimates(parts, held, None, held.heads)
    exact = query_parts.exact(SCORES[score], bags, term, SentenceRole.QUERY_IS_SENTENCE)
    assert (np.abs(found.scores - exact) <= found.errors).all()


def without_slack(count, dimension, seed, magnitude):
    """Make bags with tight extremes, for queries above zero.

    A second fragment adds to two numbers of the first; another bag takes the second of these away,
    so that they are the components.
    """
    random, bags = np.random.default_rng(seed), []
    for _ in range(count):
        first = magnitude * random.normal(size=dimension)
        for sign in (1, -1):
            second = first.copy()
            second[0] += magnitude * random.uniform(1, 2)
            second[1] += sign * magnitude * random.uniform(0, 1)
            bags.append(np.array([first, second], np.float32))
    return bags


@pytest.mark.parametrize(("score", "floored"), [*product(("sum_of_max", "max_sim"), (False, True))])
@pytest.mark.parametrize("within", [False, True], ids=["with slack", "without"])
@settings(max_examples=40)
@bags_and_words
def test_exact_score_is_no_higher_than_extremes_say(
    score, floored, within, sizes, T, D, seed, large, long
):
    bags = random_bags(sizes, D, seed, large)
    words = random_bags([T], D, seed + 1, long)[0]
    if within:
        bags, words = without_slack(len(sizes), D, seed, large), np.abs(words)
    term = QueryPart(words, 1.0, floored=floored)
    held = with_heads(bags, score)
    extremes = held.heads.extremes
    parts, rescorer = code_for(extremes, [term], score), Rescorer(SCORES[score], Workers(1))
    exact = query_parts.exact(SCORES[score], bags, term, SentenceRole.QUERY_IS_SENTENCE)
    for numbers in (None, np.arange(len(bags))[::2]):
        bound = rescorer.estimates(parts, held, numbers, extremes)
        assert (exact[numbers if numbers is not None else ...] <= bound.scores + bound.errors).all()


@settings(max_examples=60)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.integers(0, 99))
def test_weighted_parts_score_no_higher_than_extremes_say(sizes, seed):
    bags = random_bags(sizes, 12, seed)
    words = [random_bags([2], 12, seed + n)[0] for n in range(1, 5)]
    asked, denied = Condition(0.5, 1.0, 0.0), Condition(-0.5, 0.0, 0.0)
    terms = [
        QueryPart(words[0], 3.0),
        QueryPart(words[1], 0.5, condition=asked),
        QueryPart(words[2], -0.7, floored=True),
        QueryPart(words[3][:1], -1.0, floored=True, condition=denied),
    ]
    held, score = with_heads(bags), SCORES["sum_of_max"]
    extremes = held.heads.extremes
    parts = code_for(extremes, terms)
    bound = Rescorer(score, Workers(1)).estimates(parts, held, None, extremes)
    role = SentenceRole.QUERY_IS_SENTENCE
    exact = np.array([query_parts.exact(score, bags, term, role) for term in terms])
    errors = query_parts.total_errors(bound.scores, bound.errors, terms)
    highest = query_parts.totals(bound.scores, terms) + errors
    assert (query_parts.totals(exact, terms) <= highest).all()
    assert query_parts.totals(bound.scores[2:], terms[2:]).tolist() == [0] * len(bags)


def test_extremes_are_those_of_the_codes_of_heads():
    held = with_heads(random_bags([3, 1, 4], 12, seed=7))
    for row, (start, end) in enumerate(pairwise(held.offsets)):
        codes = held.heads.codes[start:end]
        expected = [*codes.max(axis=0), *codes.min(axis=0)]
        assert held.heads.extreme_codes[row].tolist() == expected
        reach = held.heads.scales[row] * np.abs(np.array(expected, np.float32)).sum()
        assert held.heads.extreme_reach[row] == pytest.approx(reach)


def test_directions_are_those_of_the_largest_variance_and_orthonormal():
    vectors = random_bags([4_000], 9, seed=2)[0]
    directions, held = heads.components(vectors)
    np.testing.assert_allclose(directions.T @ directions, np.eye(3), atol=1e-5)
    _, singular, components = np.linalg.svd(vectors.astype(float), full_matrices=False)
    np.testing.assert_allclose(np.abs(np.diag(components[:3] @ directions)), 1, atol=1e-4)
    assert held == pytest.approx((singular[:3] ** 2).sum() / (singular**2).sum())


def test_no_heads_are_built_where_they_would_bound_little(monkeypatch):
    bags = random_bags([3] * 40, 12, seed=3)
    assert with_heads(bags).heads is not None
    assert with_heads([bag[:, :6] for bag in bags]).heads is None  # 3 of 6 numbers save little
    monkeypatch.setattr(heads, "HELD", 1.0)
    assert with_heads(bags).heads is None
    monkeypatch.setattr(heads, "HELD", 0.0)
    monkeypatch.setattr(heads, "LEAST", 41)
    assert with_heads(bags).heads is None


def test_heads_of_other_rows_are_refused():
    held = with_heads(random_bags([3] * 4, 12, seed=3)).heads
    arrays = {name: getattr(held, name).copy() for name in heads.STORED}
    assert heads.freeze(dict(arrays), 4, 12, 12).size == held.size
    for wrong in ((5, 12, 12), (4, 11, 12), (4, 12, 13)):
        with pytest.raises(ValueError, match="do not belong"):
            heads.freeze(dict(arrays), *wrong)
    with pytest.raises(ValueError, match="float64"):
        heads.freeze(arrays | {"rest": arrays["rest"].astype(float)}, 4, 12, 12)
