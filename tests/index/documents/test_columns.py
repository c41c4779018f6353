"""Columns of one key: filters, order, and counts."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.conditions import canonical
from index.documents.columns import Column
from index.documents.facet_counts import round_bounds
from index.filters import parse

values = st.sampled_from([1, 2.5, -3, 40, "a", "b", True, None])
documents = st.lists(st.lists(values, max_size=3), min_size=1, max_size=8)


def column_of(rows: list[list[object]]) -> Column:
    column = Column()
    for number, row in enumerate(rows):
        column.add(number, sorted({canonical(one) for one in row}))
    return column


@given(documents, st.data())
def test_counts_are_those_of_a_literal_loop(rows, data):
    chosen = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    facet = column_of(rows).facet("k", np.array(chosen), 100, [0.0, 3.0])
    there = [{canonical(v) for v in row} for row, one in zip(rows, chosen, strict=True) if one]
    counts = Counter(text for row in there for text in row)
    assert {canonical(value): count for value, count in facet.values} == counts
    assert [count for _, count in facet.values] == sorted(counts.values(), reverse=True)
    assert (facet.distinct, facet.missing) == (len(counts), sum(not row for row in there))
    numbers = [
        {v for v in row if isinstance(v, int | float) and not isinstance(v, bool)}
        for row, one in zip(rows, chosen, strict=True)
        if one
    ]
    flat = [number for row in numbers for number in row]
    if flat:
        assert (facet.least, facet.most) == (min(flat), max(flat))
        assert [part.count for part in facet.ranges] == [
            sum(any(low <= v < high for v in row) for row in numbers)
            for low, high in ((-np.inf, 0), (0, 3), (3, np.inf))
        ]


def test_values_of_one_count_come_in_their_order():
    facet = column_of([["b"], ["a"], [2], [10]]).facet("k", np.ones(4, np.bool_), 3)
    assert [value for value, _ in facet.values] == [2, 10, "a"]
    assert facet.distinct == 4


@pytest.mark.parametrize(
    ("descending", "order"), [(False, [3, 1, 0, 4, 2]), (True, [0, 1, 3, 4, 2])]
)
def test_documents_are_sorted_by_their_first_number_then_texts_and_those_without_come_last(
    descending, order
):
    column = column_of([[5], [2], [], [-1], ["x"]])
    assert np.argsort(column.sort_keys(5, descending), kind="stable").tolist() == order


def test_texts_are_sorted_as_people_do():
    column = column_of([["Zulu"], ["élan"], ["beta 10"], ["Äpfel"], ["Beta 9"], ["Alpha"]])
    order = np.argsort(column.sort_keys(6, descending=False))
    names = [column.values[code] for code in order.tolist()]
    assert names == ["Alpha", "Äpfel", "Beta 9", "beta 10", "élan", "Zulu"]
    values = column.facet("k", np.ones(6, np.bool_), 6).values
    assert [value for value, _ in values] == names
    column.add(6, ['"Beta"'])
    assert column.sort_keys(7, descending=False).tolist() == [6, 5, 4, 1, 3, 0, 2]


@pytest.mark.parametrize("descending", [False, True])
def test_a_value_that_is_gone_has_a_place_between_others(descending):
    column = column_of([[5], [2], [], [-1], ["x"], ["a"]])
    for place in range(5):
        assert column.place_of(column.value_at(place, descending), descending) == place
    assert column.value_at(5, descending) == ()
    assert column.place_of((), descending) == 5
    gone = [column.place_of((value,), descending) for value in (9, 3, -2, "b")]
    assert gone == ([2.5, 1.5, -0.5, 3.5] if not descending else [-0.5, 0.5, 2.5, 3.5])


def test_later_documents_are_seen():
    column = column_of([["a"], ["b"]])
    condition = parse({"k": "a"})
    assert column.having(condition).tolist() == [0]
    column.add(2, ['"a"'])
    assert column.having(condition).tolist() == [0, 2]
    assert column.first_codes(4).tolist() == [0, 1, 0, -1]


def test_shares_are_of_the_range_of_numbers():
    assert column_of([[10], [30], ["x"], [20]]).shares(4).tolist() == [0.0, 1.0, 0.0, 0.5]
    assert column_of([["x"]]).shares(1).tolist() == [0.0]


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9))
def test_round_bounds_are_few_and_inside(least, width):
    bounds = round_bounds(least, least + width)
    assert len(bounds) <= 7
    assert all(least <= bound <= least + width for bound in bounds)
    assert bounds == sorted(bounds)


def test_a_key_that_one_item_has_costs_little_memory() -> None:
    tracemalloc.start()
    try:
        columns = [Column() for _ in range(2_000)]
        for number, column in enumerate(columns):
            column.add(number, [str(number)])
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size / len(columns) < 1_500  # bytes; 2,500 where caches are made for each
    assert columns[7].numbers.tolist() == [7.0]


def test_large_whole_numbers_are_sorted_and_compared_exactly():
    column = column_of([[2**53 + 1], [2**53], [2**53 + 2], [0.5]])
    assert np.argsort(column.sort_keys(4, descending=False)).tolist() == [3, 1, 0, 2]
    assert column.having(parse({"n": {"gte": 2**53 + 1}})).tolist() == [0, 2]
    assert column.having(parse({"n": {"lt": 2**53 + 1}})).tolist() == [1, 3]
