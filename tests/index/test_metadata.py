"""Metadata has one depth; deeper stored data is still read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from index.items import metadata_text
from index.metadata import DEEPEST, read_metadata


def nested(depth: int) -> dict[str, Any]:
    """Metadata of so many objects and lists inside of each other."""
    return json.loads('{"x": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}")


def stored(depth: int) -> str:
    return '{"title": "a \\"[[{\\u00e9", "x": ' + "[" * (depth - 1) + "1" + "]" * (depth - 1) + "}"


def test_metadata_may_be_so_deep_and_no_deeper():
    assert json.loads(metadata_text(nested(DEEPEST))) == nested(DEEPEST)
    with pytest.raises(ValueError, match="metadata: 'x' has lists and objects more than 50 deep"):
        metadata_text({"a": 1} | nested(DEEPEST + 1))


def test_metadata_far_too_deep_is_refused_without_recursion():
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="flatten it"):
        metadata_text({"x": {"y": deep}})
    while deep:  # Python would free it by recursion
        deep = deep.pop()


def test_metadata_of_an_allowed_depth_is_read_as_it_is():
    text = stored(DEEPEST)
    assert read_metadata(text) == (json.loads(text), ())


@pytest.mark.parametrize("depth", [DEEPEST + 1, 300, 100_000])
def test_what_was_stored_too_deep_is_read_as_a_text(depth: int):
    metadata, (note,) = read_metadata(stored(depth))
    assert "more than 50 deep" in note
    assert metadata["title"] == 'a "[[{é'
    value = metadata["x"]
    for _ in range(DEEPEST - 1):
        (value,) = value
    below = depth - DEEPEST
    assert value == "[" * below + "1" + "]" * below
    metadata_text(metadata)  # can be stored now


def test_many_brackets_that_are_not_deep_stay():
    text = json.dumps({"x": [[{}, "[[["] for _ in range(100)]})
    assert read_metadata(text) == (json.loads(text), ())


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 5000, '{"x": ' + "[" * 5000])
def test_damaged_metadata_says_so(text: str):
    with pytest.raises(ValueError, match=r"its metadata is damaged .*; put it again"):
        read_metadata(text)
