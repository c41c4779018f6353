"""Cursors continue a page, in their list and service alone."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from app.answers.cursors import Cursors, kind_of_items
from app.schemas.fields import LONGEST_CURSOR
from index.catalog.catalog import Catalog
from index.filters import OPERATOR
from index.items import LONGEST_ID

CURSORS = Cursors(b"s" * 32)
CURSOR = CURSORS.write("list", "item")
characters = st.characters(codec="utf-8", exclude_characters="\0")
texts = st.text(characters, min_size=1, max_size=5)
values = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | texts
keys = texts.filter(lambda key: not OPERATOR.fullmatch(key))
filters = st.dictionaries(keys, values | st.lists(values, max_size=4))


@given(st.text() | st.text(alphabet="abc.-_=A0", max_size=100) | st.binary().map(repr))
def test_forged_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(ValueError, match="cursor: not one that this service gave"):
        CURSORS.read(cursor, "list")


@given(st.integers(0, len(CURSOR) - 1), st.sampled_from("aZ0-_.= é\0\ud800"))
def test_changed_cursor_is_refused_or_means_the_same(place: int, character: str) -> None:
    changed = CURSOR[:place] + character + CURSOR[place + 1 :]
    for cursor in (changed, CURSOR[:place], CURSOR + character):
        with suppress(ValueError):
            assert CURSORS.read(cursor, "list") == "item"  # base64 ignores padding, as "=" is


def test_cursor_of_another_list_or_service_is_refused() -> None:
    with pytest.raises(ValueError, match="belongs to another query"):
        CURSORS.read(CURSOR, "another")
    with pytest.raises(ValueError, match="not one that this service gave"):
        Cursors(b"t" * 32).read(CURSOR, "list")


@pytest.mark.parametrize(
    ("first", "count"), [(1, 15), (0x80, 1_000), (0x800, 1_000), (0x20000, 1_000)]
)
def test_cursor_of_the_longest_id_fits(first: int, count: int) -> None:
    letters = random.Random(0).choices(range(first, first + count), k=LONGEST_ID)
    name = "".join(map(chr, letters)).encode()[:LONGEST_ID].decode(errors="ignore")
    longest = CURSORS.write("k" * 32, [name, 10**9, 1 / 3, [name[:200]], 10_000])
    assert len(longest) < LONGEST_CURSOR
    with pytest.raises(ValueError, match="longer than 8,000"):
        CURSORS.read("a" * 8001, "list")


@given(filters, st.randoms(use_true_random=False))
def test_filter_in_another_order_is_the_same_list(
    where: dict[str, object], order: random.Random
) -> None:
    keys = list(where)
    order.shuffle(keys)
    other = {key: where[key] for key in keys}
    for key, value in other.items():
        if isinstance(value, list):
            other[key] = [*order.sample(value, len(value)), *value[:1]]
    assert kind_of_items("default", where) == kind_of_items("default", other)


def test_different_filters_are_different_lists() -> None:
    wheres = [None, {"a": 1}, {"a": "1"}, {"a": True}, {"a": [1, 2]}, {"a": []}, {"b": 1}]
    assert len({kind_of_items("default", where) for where in wheres}) == len(wheres)
    assert kind_of_items("default", {"a": 1.0}) == kind_of_items("default", {"a": [1]})
    assert kind_of_items("default", None) != kind_of_items("other", None)


def test_processes_of_a_data_folder_share_a_secret_that_no_other_folder_has(tmp_path: Path) -> None:
    secrets = []
    for name in ("a", "a", "b"):
        catalog = Catalog.in_folder(tmp_path / name)
        secrets.append(catalog.secret)
        catalog.close()
    assert secrets[0] == secrets[1] != secrets[2]
    assert len(secrets[0]) >= 32


@pytest.mark.parametrize("cursor", ["x", CURSOR, "\0", "é", "a.b.c", ".eJw.x", "x" * 3000])
def test_service_answers_a_forged_cursor_with_422(client: TestClient, cursor: str) -> None:
    assert client.get("/items", params={"cursor": cursor}).status_code == 422
    sent = {"text": "red", "cursor": cursor}
    assert client.post("/search/image", json=sent).status_code == 422


def test_cursor_serves_its_filter_in_any_order(client: TestClient) -> None:
    for name in "abc":
        metadata = {"kind": 1, "size": 2}
        client.put(f"/items/{name}", json={"sentences": ["red"], "metadata": metadata})
    asked = {"limit": 1, "filter": '{"kind": [1, 5], "size": 2}'}
    cursor = client.get("/items", params=asked).json()["cursor"]
    other = {"limit": 1, "filter": '{"size": [2.0], "kind": [5, 1, 1]}', "cursor": cursor}
    assert client.get("/items", params=other).json()["items"][0]["id"] == "b"
