"""Filters as values: meanings, and refused forms."""

from __future__ import annotations

import re
from typing import Any

import pytest

from index.conditions import (
    Either,
    Equals,
    Every,
    Exists,
    Not,
    Prefix,
    Within,
    describe,
    simple_parts,
)
from index.filters import MOST_CONDITIONS, parse


@pytest.mark.parametrize(
    ("where", "condition"),
    [
        ({}, Every(())),
        (None, Every(())),
        ({"colour": "red"}, Equals("colour", ('"red"',))),
        ({"size": [3, 4.0]}, Equals("size", ("3", "4"))),
        ({"dry": None}, Equals("dry", ("null",))),
        ({"price": {"gte": 10, "lt": 50}}, Within("price", (("gte", 10), ("lt", 50)))),
        ({"day": {"gt": "2024-01-31"}}, Within("day", (("gt", "2024-01-31"),))),
        ({"title": {"prefix": "Nike"}}, Prefix("title", "Nike")),
        ({"stock": {"exists": True}}, Exists("stock")),
        ({"stock": {"exists": False}}, Not(Exists("stock"))),
        ({"$not": {"a": 1}}, Not(Equals("a", ("1",)))),
        ({"$or": [{"a": 1}, {"b": 2}]}, Either((Equals("a", ("1",)), Equals("b", ("2",))))),
        ({"a": 1, "b": 2}, Every((Equals("a", ("1",)), Equals("b", ("2",))))),
        ({"$and": [{"a": 1}, {"a": 2}]}, Every((Equals("a", ("1",)), Equals("a", ("2",))))),
        (
            {"p": {"lte": 5, "prefix": "x"}},
            Every((Within("p", (("lte", 5),)), Prefix("p", "x"))),
        ),
    ],
)
def test_filter_means_a_condition(where: Any, condition: object) -> None:
    assert parse(where) == condition


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ([], "an object of metadata keys"),
        ({"": 1}, "text of 1 to 200 characters"),
        ({"a\0": 1}, "keys are metadata keys"),
        ({"a": "\0"}, "compares with"),
        ({"$nor": []}, "there are $and, $or, $not"),
        ({"$or": []}, "at least one"),
        ({"$or": {"a": 1}}, "a list of filters"),
        ({"$not": 3}, "an object of metadata keys"),
        ({"a": {}}, "takes gt, gte, lt, lte, prefix, exists"),
        ({"a": {"above": 3}}, "got 'above'"),
        ({"a": {"gt": 1, "lt": "9"}}, "a range has numbers or texts"),
        ({"a": {"gt": True}}, "a range has numbers or texts"),
        ({"a": {"gt": float("nan")}}, "a range has numbers or texts"),
        ({"a": {"prefix": 3}}, "prefix takes a text"),
        ({"a": {"exists": 1}}, "exists is true or false"),
        ({"a": [[1]]}, "compares with"),
        ({"a": "x" * 201}, "up to 200 characters"),
        ({f"k{n}": 1 for n in range(MOST_CONDITIONS + 1)}, "up to 64 conditions"),
        ({"$or": [{}] * (MOST_CONDITIONS + 1)}, "up to 64 conditions"),
        ({"$or": [{"$and": [{}, {"$not": {}}] * 9}] * 4}, "up to 64 conditions"),
        ({"a": list(range(1001))}, "1,000 values"),
    ],
)
def test_what_is_no_filter_is_refused(where: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        parse(where)


def test_filters_inside_of_filters_have_a_limit() -> None:
    where: dict[str, Any] = {"a": 1}
    for _ in range(9):
        where = {"$not": where}
    with pytest.raises(ValueError, match="up to 8 levels of nested filters"):
        parse(where)


def test_order_and_repetition_do_not_change_the_description() -> None:
    first = {"a": [1, 2.0, 1], "$or": [{"b": {"lt": 3, "gt": 1}}, {"c": True}]}
    second = {"$or": [{"c": True}, {"b": {"gt": 1.0, "lt": 3}}], "a": [2, 1]}
    assert describe(parse(first)) == describe(parse(second))
    assert describe(parse({"a": 1})) != describe(parse({"a": "1"}))
    assert describe(parse({"a": {"gt": 1}})) != describe(parse({"a": {"gte": 1}}))


def test_bounds_hold_for_numbers_and_texts() -> None:
    price = parse({"price": {"gte": 10, "lt": 50}})
    assert isinstance(price, Within)
    assert [price.holds(value) for value in (9.99, 10, 49.9, 50)] == [False, True, True, False]
    day = parse({"day": {"gt": "2024-01-31"}})
    assert isinstance(day, Within)
    assert [day.holds(value) for value in ("2024-01-31", "2024-02-01")] == [False, True]


def test_simple_parts_are_found_at_any_depth() -> None:
    where = {"$or": [{"a": 1}, {"$not": {"b": {"exists": True}, "c": {"prefix": "x"}}}]}
    assert [part.key for part in simple_parts(parse(where))] == ["a", "b", "c"]
