"""Scores from codes, their error, and the exact scores."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from index.search import query as query_parts
from index.search import rescorer
from index.search.query import QueryPart, SentenceRole
from index.search.rescorer import Coded, Estimates, Rescorer
from index.segments import rows
from models.scores.scoring import SCORES
from models.threads import Workers

SIZES = st.lists(st.integers(1, 7), min_size=1, max_size=8)
MAGNITUDES = st.sampled_from([1e-9, 1e-4, 1.0, 1e5, 1e12])
WAYS = list(product(SCORES, rows.SIDES, SentenceRole, (1.0, -0.5)))


def bags_of(sizes, dimension=8, seed=0, magnitude=1.0):
    random = np.random.default_rng(seed)
    shift = random.normal(size=dimension)  # fragments of a bag have something in common
    return [
        (magnitude * (shift + random.normal(size=(size, dimension)))).astype(np.float32)
        for size in sizes
    ]


def stored(bags, side="images", score="sum_of_max"):
    numbers = range(len(bags))
    return rows.of_vectors(bags, numbers, numbers, side, SCORES[score], bags[0].shape[1])


def literal(score, bag, term, role):
    """Eq. 8 of Karpathy & Fei-Fei 2015 or eq. 6 of 2014.

    Product by product, in double precision.
    """
    image, sentence = (
        (bag, term.vectors) if role is SentenceRole.QUERY_IS_SENTENCE else (term.vectors, bag)
    )
    products = [[float(np.dot(v.astype(float), s.astype(float))) for v in image] for s in sentence]
    if score != "mean_of_positive":
        return sum(max(float(term.least), max(row)) for row in products)
    total = sum(max(0.0, one) for row in products for one in row)
    return total / (len(image) * (len(sentence) + 5))


def estimated(score, side, role, term, bags, numbers=None):
    part = Coded(term, SCORES[score], role, rows_have_base=side == "images")
    found = Rescorer(SCORES[score], Workers(1)).estimates(
        [part], stored(bags, side, score), numbers
    )
    return Estimates(found.scores[0], found.errors[0])


@pytest.mark.parametrize(("score", "side", "role", "weight"), WAYS)
@settings(max_examples=25)
@given(SIZES, st.integers(1, 9), st.integers(1, 40), st.integers(0, 99), MAGNITUDES, MAGNITUDES)
def test_score_from_codes_is_no_farther_from_the_exact_one_than_it_says(
    score, side, role, weight, sizes, T, D, seed, large, long
):
    bags = bags_of(sizes, D, seed, large)
    term = QueryPart(bags_of([T], D, seed + 1, long)[0], weight, floored=weight < 0)
    found = estimated(score, side, role, term, bags)
    exact = query_parts.exact(SCORES[score], bags, term, role)
    truth = [literal(score, bag, term, role) for bag in bags]
    assert (np.abs(found.scores - exact) <= found.errors).all()
    assert (np.abs(found.scores - truth) <= found.errors).all()


@pytest.mark.parametrize(("score", "side", "role", "weight"), WAYS)
def test_codes_give_scores_within_two_percent(score, side, role, weight):
    bags, term = (
        bags_of([5] * 50, 64),
        QueryPart(bags_of([6], 64, seed=1)[0], weight, floored=weight < 0),
    )
    found = estimated(score, side, role, term, bags)
    exact = query_parts.exact(SCORES[score], bags, term, role)
    assert np.mean(np.abs(found.scores - exact)) < 0.02 * np.mean(np.abs(exact))


@pytest.mark.parametrize("side", rows.SIDES)
@pytest.mark.parametrize("role", SentenceRole)
def test_zeros_score_0_on_either_side(side, role):
    zeros, bags = np.zeros((2, 8), np.float32), bags_of([3, 1])
    for rows_given, term in ((bags, QueryPart(zeros, 1.0)), ([zeros], QueryPart(bags[0], 1.0))):
        found = estimated("sum_of_max", side, role, term, rows_given)
        assert np.abs(found.scores).max() <= found.errors.max() < 1e-4


def test_score_by_hand_sums_over_the_sentence():
    bag = np.array([[1.0, 0.0], [0.0, -2.0]], np.float32)
    term = QueryPart(np.array([[3.0, 1.0], [-1.0, 0.5], [0.0, 0.0]], np.float32), 1.0)
    # Products by row fragment: (3, -1, 0) and (-2, -1, 0).
    (score,) = query_parts.exact(SCORES["sum_of_max"], [bag], term, SentenceRole.QUERY_IS_SENTENCE)
    assert score == 3 - 1 + 0
    (score,) = query_parts.exact(SCORES["sum_of_max"], [bag], term, SentenceRole.ROWS_ARE_SENTENCES)
    assert score == 3 + 0
    negated = QueryPart(term.vectors, -1.0, floored=True)
    (score,) = query_parts.exact(
        SCORES["sum_of_max"], [bag], negated, SentenceRole.QUERY_IS_SENTENCE
    )
    assert score == 3 + 0 + 0
    # 3 is the only positive product; 2 regions and 3 words, or 3 regions and 2 words.
    (score,) = query_parts.exact(
        SCORES["mean_of_positive"], [bag], term, SentenceRole.QUERY_IS_SENTENCE
    )
    assert score == pytest.approx(3 / (2 * (3 + 5)))
    (score,) = query_parts.exact(
        SCORES["mean_of_positive"], [bag], term, SentenceRole.ROWS_ARE_SENTENCES
    )
    assert score == pytest.approx(3 / (3 * (2 + 5)))


@pytest.mark.parametrize(("score", "role", "weight"), [*product(SCORES, SentenceRole, (1.0, -0.5))])
@given(SIZES, st.integers(1, 9), st.integers(1, 40), st.integers(0, 99))
def test_exact_score_is_the_literal_loop(score, role, weight, sizes, T, D, seed):
    bags, term = (
        bags_of(sizes, D, seed),
        QueryPart(bags_of([T], D, seed + 1)[0], weight, floored=weight < 0),
    )
    truth = [literal(score, bag, term, role) for bag in bags]
    exact = query_parts.exact(SCORES[score], bags, term, role)
    np.testing.assert_allclose(exact, truth, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("score", "role"), [*product(SCORES, SentenceRole)])
@given(SIZES, st.integers(1, 20), st.integers(1, 70), st.integers(0, 99))
def test_exact_score_has_the_same_bits_alone_and_among_others(score, role, sizes, T, D, seed):
    bags, term = bags_of(sizes, D, seed), QueryPart(bags_of([T], D, seed + 1)[0], 1.0)
    together = query_parts.exact(SCORES[score], bags, term, role).tolist()
    assert [
        float(query_parts.exact(SCORES[score], [bag], term, role)[0]) for bag in bags
    ] == together
    assert query_parts.exact(SCORES[score], bags[::-1], term, role).tolist() == together[::-1]


@pytest.mark.parametrize(("score", "side", "role", "weight"), WAYS)
@settings(max_examples=25)
@given(SIZES, st.data())
def test_chosen_rows_score_as_they_do_among_all(score, side, role, weight, sizes, data):
    bags, term = bags_of(sizes), QueryPart(bags_of([4], seed=1)[0], weight, floored=weight < 0)
    numbers = np.array(data.draw(st.lists(st.integers(0, len(bags) - 1))), np.int64)
    assume(len(numbers))
    whole = estimated(score, side, role, term, bags)
    chosen = estimated(score, side, role, term, bags, numbers)
    np.testing.assert_allclose(chosen.scores, whole.scores[numbers], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(chosen.errors, whole.errors[numbers], rtol=1e-6)


def test_no_rows_have_no_scores():
    term = QueryPart(bags_of([2])[0], 1.0)
    none = np.empty(0, np.int64)
    chosen = estimated(
        "sum_of_max", "images", SentenceRole.QUERY_IS_SENTENCE, term, bags_of([3]), none
    )
    assert chosen.scores.tolist() == chosen.errors.tolist() == []
    part = Coded(term, SCORES["sum_of_max"], SentenceRole.QUERY_IS_SENTENCE, rows_have_base=True)
    none = Rescorer(SCORES["sum_of_max"], Workers()).estimates([part, part], rows.empty(8))
    assert none.scores.shape == none.errors.shape == (2, 0)


@pytest.mark.parametrize("role", SentenceRole)
def test_threads_share_blocks_out_without_changing_a_score(role, monkeypatch):
    monkeypatch.setattr(rescorer, "BLOCK", 16)
    bags, vectors = bags_of([1, 2, 3] * 50), bags_of([5], seed=1)[0]
    terms = [QueryPart(vectors, 1.0), QueryPart(vectors[:2], -0.5, floored=True)]
    score, held = SCORES["sum_of_max"], stored(bags)
    numbers = np.arange(len(bags))[::-2].copy()
    for chosen in (None, numbers):
        parts = [Coded(term, score, role, rows_have_base=True) for term in terms]
        one, many = (
            Rescorer(score, Workers(count)).estimates(parts, held, chosen) for count in (1, 3)
        )
        assert one.scores.tolist() == many.scores.tolist()
        assert one.errors.tolist() == many.errors.tolist()
        alone = Rescorer(score, Workers(1)).estimates(parts[1:], held, chosen)
        assert alone.scores.tolist() == one.scores[1:].tolist()


@pytest.mark.parametrize(("score", "side", "role", "weight"), WAYS)
@pytest.mark.parametrize("D", [8, 64, 70])  # by numkong, and by a processor's instructions
def test_equal_rows_have_equal_scores_in_any_dimension(score, side, role, weight, D):
    bags = bags_of([5, 1, 7, 5, 3], D)
    bags[3] = bags[0]  # equal rows have equal scores
    term = QueryPart(bags_of([13], D, seed=1)[0], weight, floored=weight < 0)
    numbers = np.array([0, 1, 3, 4])  # without a deleted one
    chosen, every = (estimated(score, side, role, term, bags, some) for some in (numbers, None))
    np.testing.assert_allclose(chosen.scores, every.scores[numbers], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(chosen.errors, every.errors[numbers], rtol=1e-6)
    assert chosen.scores[0] == chosen.scores[2]
