"""Products of stored numbers in half precision with a query."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.machine_code import has
from models.scores import avx2, avx512, half_dots, instructions
from models.scores.half_dots import HalfDots

native = pytest.mark.skipif(not has(*half_dots.FEATURES), reason="no AVX2 and half precision")


def halves(count, dimension, seed):
    return np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float16)


def singles(count, dimension, seed):
    return np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)


def test_a_product_worked_by_hand():
    query, stored = np.zeros((1, 40), np.float32), np.zeros((2, 40), np.float16)
    query[0, [0, 39]] = 2, 1000
    stored[:, [0, 39]] = [[3, 0.5], [-1, 2]]
    assert HalfDots(query)(stored).tolist() == [[506], [1998]]


@given(st.integers(1, 5), st.integers(1, 140), st.integers(1, 50), st.integers(0, 99))
def test_products_are_those_of_double_precision(T, D, N, seed):
    query, stored = singles(T, D, seed), halves(N, D, seed + 1)
    numbers = np.random.default_rng(seed).integers(0, N, 21)
    expected = stored.astype(float) @ query.T.astype(float)
    reach = np.abs(stored.astype(float)) @ np.abs(query.T.astype(float))
    dots = HalfDots(query)
    assert (np.abs(dots(stored) - expected) <= 2.0**-20 * reach).all()
    assert (dots(stored, numbers) == dots(stored)[numbers]).all()
    assert dots(stored, numbers[:0]).shape == (0, T)


@pytest.mark.parametrize("size", [1e-30, 1e12])
def test_a_query_may_be_beyond_half_precision(size):
    query, stored = singles(2, 64, 0) * np.float32(size), halves(9, 64, 1)
    expected = stored.astype(float) @ query.T.astype(float)
    assert np.allclose(HalfDots(query)(stored), expected, rtol=1e-3, atol=size * 1e-4)


@native
@pytest.mark.parametrize("D", [32, 33, 64, 256, 258])
def test_instructions_give_about_what_numkong_gives(D, monkeypatch):
    query, stored = singles(3, D, 0), halves(77, D, 1)
    ours = HalfDots(query)(stored)
    monkeypatch.setattr(half_dots, "has", lambda *_: False)
    assert np.allclose(HalfDots(query)(stored), ours, rtol=0, atol=1e-4)


def test_stored_vectors_may_begin_anywhere_and_are_only_read():
    stored = halves(50, 66, 0)
    stored.flags.writeable = False
    query = singles(2, 66, 1)
    assert (HalfDots(query)(stored[7:]) == HalfDots(query)(stored)[7:]).all()


def test_cached_machine_code_is_of_the_instructions_as_they_are():
    """After a change of instructions.py: write its digest into avx2.py and avx512.py."""
    digest = hashlib.sha256(Path(instructions.__file__).read_bytes()).hexdigest()
    assert avx2.GENERATOR == avx512.GENERATOR == digest[:8]
