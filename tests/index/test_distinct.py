"""Different numbers are those of np.unique."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.distinct import find_distinct


@given(st.lists(st.integers(-5, 5) | st.integers(-(2**62), 2**62)))
def test_they_are_those_of_numpy_in_order(numbers: list[int]) -> None:
    array = np.array(numbers, np.int64)
    assert find_distinct(array).tolist() == np.unique(array).tolist()
    assert array.tolist() == numbers


@pytest.mark.parametrize("kind", [np.uint32, np.int64])
def test_they_are_of_the_same_type(kind: type[np.integer]) -> None:
    assert find_distinct(np.array([3, 3, 1], kind)).dtype == kind
