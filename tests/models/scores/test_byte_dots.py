"""Products in 8 bits: equal by processor, numkong and hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.machine_code import has
from models.scores import avx2, avx512, byte_dots
from models.scores.byte_dots import ByteDots, Copies

WAYS = {"AVX-512 VNNI": (avx512.Quads, byte_dots.VNNI), "AVX2": (avx2.Shorts, byte_dots.AVX2)}
ways = pytest.mark.parametrize("way", WAYS)


def packed(way, query):
    """A query for a processor's instructions, else a skipped test."""
    kind, features = WAYS[way]
    if not has(*features):
        pytest.skip(f"this processor has no {way}")
    return kind(query)


def extremes(count, dimension, seed):
    """Random numbers, many of them the largest and smallest there are."""
    random = np.random.default_rng(seed)
    ends = random.choice([-128, 127], (count, dimension))
    drawn = random.integers(-128, 128, (count, dimension))
    return np.where(random.random((count, dimension)) < 0.5, ends, drawn).astype(np.int8)


def test_products_of_two_vectors_worked_by_hand():
    query = np.zeros((1, 16), np.int8)
    query[0, [0, 15]] = 3, -128
    stored = np.zeros((2, 16), np.int8)
    stored[:, [0, 15]] = [[-2, 1], [127, -128]]
    assert ByteDots(query)(stored)[:, 0].tolist() == [-6 - 128, 381 + 128 * 128]


@given(st.integers(1, 41), st.integers(1, 70), st.integers(1, 50), st.integers(0, 99))
def test_products_are_those_of_integers(T, D, N, seed):
    query, stored = extremes(T, D, seed), extremes(N, D, seed + 1)
    numbers = np.random.default_rng(seed).integers(0, N, 21)
    expected = stored.astype(np.int64) @ query.T.astype(np.int64)
    dots = ByteDots(query)
    assert (dots(stored)[:, :T] == expected).all()
    assert (dots(stored, numbers)[:, :T] == expected[numbers]).all()
    assert len(dots(stored, numbers[:0])) == 0


@ways
@pytest.mark.parametrize(
    ("T", "D"), [(1, 16), (2, 64), (3, 65), (12, 258), (14, 31), (22, 258), (40, 1000)]
)
def test_instructions_give_what_numkong_gives(way, T, D):
    query, stored = extremes(T, D, 0), extremes(333, D, 1)
    numbers = np.random.default_rng(2).permutation(333)[:50]
    ours, theirs = packed(way, query), Copies(query)
    every = np.empty(0, np.int64)
    assert (ours.multiply(stored, every, 333)[:, :T] == theirs.multiply(stored, every, 333)).all()
    assert (ours.multiply(stored, numbers, 50)[:, :T] == theirs.multiply(stored, numbers, 50)).all()


def test_stored_vectors_may_begin_anywhere_and_are_only_read():
    """As rows of a mapped segment, from a block's start."""
    stored = extremes(100, 66, 0)
    stored.flags.writeable = False
    query = extremes(5, 66, 1)
    expected = stored[37:].astype(np.int64) @ query.T.astype(np.int64)
    assert (ByteDots(query)(stored[37:])[:, :5] == expected).all()
