"""Bugs: an error of a library is no mistake of the caller."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import FunctionType

import pytest

from app.engine.bugs import is_bug
from index.filters import parse
from index.items import NameConflict


def error_of(work: Callable[[], object]) -> Exception:
    with pytest.raises((ValueError, LookupError, TypeError)) as raised:
        work()
    return raised.value


def test_what_the_code_raises_on_purpose_is_the_callers_mistake() -> None:
    assert not is_bug(error_of(lambda: parse({"$nor": []})))
    with ThreadPoolExecutor() as pool:
        assert not is_bug(error_of(lambda: pool.submit(parse, {"$nor": []}).result()))
    assert not is_bug(NameConflict("taken"))
    assert not is_bug(OSError("full"))


@pytest.mark.parametrize(
    "work", [lambda: json.loads("{"), lambda: {}["key"], lambda: [1][2], lambda: [1].index(2)]
)
def test_what_libraries_and_built_ins_raise_is_a_bug(work: Callable[[], object]) -> None:
    assert is_bug(error_of(work))


def test_a_built_in_that_our_code_calls_raises_a_bug() -> None:
    find = FunctionType((lambda: [1].index(2)).__code__, {"__name__": "index.made_up"})
    assert is_bug(error_of(find))
