"""Values of items and filters: conversions, and refusals with their place."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np
import pytest
from tessera_client import Client, NewItem, calls
from tessera_client.json_values import convert, write_json


class Colour(str, Enum):  # noqa: UP042 - unlike a StrEnum, its str() is no value
    RED = "red"


class Key(str, Enum):  # noqa: UP042
    BRAND = "brand"


class Size(int, Enum):
    LARGE = 3


METADATA: dict[Any, Any] = {
    "colour": Colour.RED,
    "price": Decimal("9.50"),
    "count": Decimal("10.00"),
    "weight": np.float32(0.5),
    "stock": np.int64(3),
    "new": np.True_,
    "sizes": np.array([[1, 2], [3, 4]]),
    "names": np.array(["a", None, Decimal(1)], dtype=object),
    "day": date(2026, 5, 1),
    "changed": datetime(2026, 5, 1, 12, tzinfo=UTC),
    "colours": {"red", "lime", "blue"},
    "pair": ("🙂", {"of": frozenset({2, 1})}),
    2026: None,
    Key.BRAND: "Acme",
    Size.LARGE: 1,
}
CONVERTED = {
    "colour": "red",
    "price": 9.5,
    "count": 10,
    "weight": 0.5,
    "stock": 3,
    "new": True,
    "sizes": [[1, 2], [3, 4]],
    "names": ["a", None, 1],
    "day": "2026-05-01",
    "changed": "2026-05-01T12:00:00+00:00",
    "colours": ["blue", "lime", "red"],
    "pair": ["🙂", {"of": [1, 2]}],
    "2026": None,
    "brand": "Acme",
    "3": 1,
}
ITSELF: list[Any] = []
ITSELF.append(ITSELF)
TYPE = "is of the type {}, which is not JSON serializable: give texts"
REFUSED: list[tuple[Any, str]] = [
    (float("nan"), "is nan, which is not JSON compliant: give a finite number"),
    (float("-inf"), "is -inf"),
    (np.float64("inf"), "is inf"),
    (Decimal("NaN"), "is NaN"),
    (Decimal("sNaN"), "is sNaN, which is not JSON compliant"),
    (Decimal("1e999999"), "is 1E.999999"),
    (Decimal("123456789012345678.25"), "is .*8.25, which a number would round: give it as a text"),
    ("\ud83d", "has '.ud83d' at position 0, half of a surrogate pair"),
    (b"x", TYPE.format("bytes")),
    (object(), TYPE.format("object")),
    (int, TYPE.format("type")),
    (time(12), TYPE.format("time")),
    (iter([]), TYPE.format("list_iterator")),
    (np.datetime64("2026-05-01", "ns"), TYPE.format(r"datetime64\[ns\]")),
    (1j, TYPE.format("complex")),
    ({None: 1}, "has the key None: keys are texts"),
    ({1: 1, "1": 2}, "has the key '1' twice"),
]


def test_metadata_and_filters_are_converted_wherever_they_are_sent() -> None:
    assert json.loads(NewItem("a", metadata=METADATA).line())["metadata"] == CONVERTED
    for call in (calls.put_item("a", metadata=METADATA), calls.patch_item("a", METADATA)):
        assert call.arguments("shop")["json"]["metadata"] == CONVERTED
    photo = calls.put_item("a", image=b"photo", metadata=METADATA).arguments("shop")["data"]
    assert json.loads(photo["metadata"]) == CONVERTED
    for search in (calls.search_images, calls.search_products, calls.delete_items):
        assert search(filter=METADATA).arguments("shop")["json"]["filter"] == CONVERTED
    assert calls.suggest(Colour.RED).arguments("shop")["params"]["text"] == "red"
    listed = calls.list_items(filter=METADATA).arguments("shop")["params"]
    assert json.loads(listed["filter"]) == CONVERTED


@pytest.mark.parametrize(("value", "message"), REFUSED)
def test_what_json_lacks_is_refused_with_its_place(value: Any, message: str) -> None:
    metadata = {"of": {"a": [0, value]}}
    asked: list[Callable[[], Any]] = [
        NewItem("a", metadata=metadata).line,
        lambda: calls.put_item("a", metadata=metadata),
        lambda: calls.patch_item("a", metadata),
        lambda: calls.list_items(filter={"metadata": metadata}),
    ]
    for ask in asked:
        with pytest.raises((TypeError, ValueError), match=rf"metadata\.of\.a\[1\] {message}"):
            ask()


def test_a_value_within_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="over 100 lists and mappings deep, or holds itself"):
        convert(ITSELF, "metadata")


def test_sets_have_one_order() -> None:
    names = [f"{number}" for number in range(99)]
    assert write_json(set(names)) == json.dumps(sorted(names))


def test_sets_have_numbers_by_value_before_texts() -> None:
    assert convert({100, 38, 40, 2.5}) == [2.5, 38, 40, 100]
    assert convert({"é", "b", 100, None, "a", 38}) == [38, 100, "a", "b", "é", None]


@pytest.mark.parametrize("price", ["19.99", "0.1", "99999999999.99", "0.1000000000000000000000"])
def test_ordinary_decimals_are_numbers(price: str) -> None:
    assert convert(Decimal(price)) == float(price)


def test_metadata_that_are_no_mapping_are_refused() -> None:
    wrong: Any = "red"
    with pytest.raises(TypeError, match="metadata is a mapping of keys to values, not 'red'"):
        calls.put_item("a", metadata=wrong)


def test_texts_that_utf_8_lacks_are_refused_before_anything_is_sent() -> None:
    with Client("http://127.0.0.1:9") as client:
        asked: list[Callable[[], Any]] = [
            lambda: client.put_item("a", sentences=["\udc00"]),
            lambda: client.put_item("a", image=b"photo", sentences=["\udc00"]),
            lambda: client.search_images("\ud800"),
            lambda: client.suggest("\ud800"),
            lambda: client.get_item("\ud800"),
        ]
        for ask in asked:
            with pytest.raises(ValueError, match="half of a surrogate pair, which UTF-8 cannot"):
                ask()


ONE_TEXT: dict[str, Callable[[Any], Any]] = {
    "sentences": lambda text: NewItem("a", sentences=text).line(),
    "images": lambda text: NewItem("a", images=text).line(),
    "ids": lambda text: calls.delete_items(ids=text),
    "fields": lambda text: calls.search_images("red", fields=text),
    "facets": lambda text: calls.search_products("red", facets=text),
    "boosts": lambda text: calls.search_products("red", boosts=text),
    "phrases": lambda text: calls.search_images(phrases=text),
    "queries": calls.audit,
    "synonyms": lambda text: calls.put_synonyms("shop", text),
    "a line of synonyms": lambda text: calls.put_synonyms("shop", [text]),
    r"pins\['sofa'\]": lambda text: calls.put_pins("shop", {"sofa": text}),
    "events": lambda text: calls.add_webhook("shop", "https://test", events=text),
}


@pytest.mark.parametrize(("name", "ask"), ONE_TEXT.items(), ids=ONE_TEXT)
def test_one_text_is_not_taken_for_a_list_of_its_letters(
    name: str, ask: Callable[[Any], Any]
) -> None:
    with pytest.raises(TypeError, match=rf"^{name} is a list: give \['Hello'\] instead of 'Hello'"):
        ask("Hello")


def test_other_calls_take_no_text_for_a_list() -> None:
    text: Any = "Hello"
    for ask in (
        lambda: calls.put_item("a", sentences=text),
        lambda: calls.put_item("a", images=text),
        lambda: calls.patch_item("a", None, images=text),
        lambda: calls.restore_items(text),
        lambda: calls.ground("red", phrases=text),
    ):
        with pytest.raises(TypeError, match="is a list: give"):
            ask()
