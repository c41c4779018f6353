"""Numbers of identifiers are found by typing them; quantities are not."""

from __future__ import annotations

from typing import Any

import pytest

from index.catalog.views import ItemRow
from index.documents.documents import Documents
from index.documents.identifiers import is_barcode, names_by_number
from index.products.query import read_text
from index.products.ranking import rank
from index.products.requests import ProductRequest


def search(items: list[dict[str, Any]], text: str) -> list[str]:
    documents = Documents()
    documents.add([ItemRow(at + 1, f"i{at}", fields, ()) for at, fields in enumerate(items)])
    request = ProductRequest(text=read_text(text, documents))
    return [hit.id for hit in rank(documents, request, {}).hits]


@pytest.mark.parametrize(
    "key", ["id", "SKU", "ean", "Model", "Model No.", "article_number", "Part-ID", "ISBN"]
)
def test_keys_of_numbers_that_name(key: str) -> None:
    assert names_by_number(key)


@pytest.mark.parametrize("key", ["price", "stock", "year", "paid", "models", "no", "number"])
def test_keys_of_quantities(key: str) -> None:
    assert not names_by_number(key)


@pytest.mark.parametrize("gtin", ["4006381333931", "04006381333931", 4006381333931])
def test_barcodes_are_found_with_and_without_zeros_before_them(gtin: str | int) -> None:
    items = [{"title": "Marker", "gtin": gtin}, {"title": "Pen", "gtin": "96385074"}]
    for typed in ("4006381333931", "04006381333931", "0400 6381 3339 31"):
        assert search(items, typed) == ["i0"]


def test_barcodes_are_known_by_their_check_digit() -> None:
    for digits in ("4006381333931", "036000291452", "36000291452", "96385074"):
        assert is_barcode(digits)
    for digits in ("4006381333932", "1234567", "1" * 15, "", "40063813339a1", "²²²²²²²²"):
        assert not is_barcode(digits)


def test_a_number_that_names_is_found_and_a_quantity_is_not() -> None:
    items = [
        {"title": "Jeans", "model": 501, "stock": 12},
        {"title": "Chair", "gtins": [4006381333931], "price": 501},
        {"title": "Case 12", "sold": True},
    ]
    assert search(items, "501") == ["i0"]
    assert search(items, "jeans 501") == ["i0"]
    assert search(items, "4006381333931") == ["i1"]
    assert search(items, "12") == ["i2"]
    assert search(items, "1") == []


def test_a_part_of_a_code_is_no_word_of_another_text() -> None:
    items = [{"title": "Rice 10 kg", "sku": "AB-5"}, {"title": "Rice 5 kg", "sku": "AB-6"}]
    assert search(items, "rice 5 kg") == ["i1"]
    assert search(items, "ab-5") == ["i0"]
    assert search(items, "ab5") == ["i0"]
