"""Cells are numbers as people write them; codes are texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.imports.sources import ItemSource
from app.imports.tables.number_cells import Guess, NumberColumn, guess, parse
from app.imports.tables.table import Table, open_table


@pytest.mark.parametrize(
    ("cell", "point", "comma"),
    [
        ("12", 12, 12),
        ("12.50", 12.5, None),
        ("12,50", None, 12.5),
        ("1.299,00 €", None, 1299.0),
        ("1,299.00", 1299.0, None),
        ("1.299", 1.299, 1299),
        ("1,299", 1299, 1.299),
        ("1 299,00", None, 1299.0),
        ("1\u202f299\u00a0€", 1299, 1299),
        ("1'299.00", 1299.0, None),
        ("CHF 1’299.–", 1299, None),
        ("1,00,000.00", 100_000.0, None),
        ("1.234.567,8", None, 1_234_567.8),
        ("$5", 5, 5),
        ("-$5.00", -5.0, None),
        ("−5", -5, -5),
        ("+10", 10, 10),
        (".5", 0.5, None),
        ("0,5", None, 0.5),
        ("12,-", None, 12),
        ("US$ 1.50", 1.5, None),
        ("100 kr", 100, 100),
    ],
)
def test_numbers_are_read_as_they_are_written(
    cell: str, point: float | None, comma: float | None
) -> None:
    assert (parse(cell, "."), parse(cell, ",")) == (point, comma)
    assert [type(parse(cell, sign)) for sign in ".,"] == [type(point), type(comma)]


@pytest.mark.parametrize(
    "cell",
    [
        *("007", "1e5", "12 cm", "10-20", "1/2", "12:30", "2026-01-31", "31.01.2026", "1.2.3"),
        *(
            "-",
            "",
            "+",
            "€",
            ".",
            "n/a",
            "NaN",
            "inf",
            "1_000",
            "auf Anfrage",
            "5 €/m²",
            "1.2345,6",
        ),
        *("1234567890123456", "٣", "²", "1.5-", "5 EUR EUR"),
    ],
)
def test_other_texts_are_no_numbers(cell: str) -> None:
    assert parse(cell, ".") is parse(cell, ",") is None


@pytest.mark.parametrize(
    ("name", "cells", "decimal"),
    [
        ("Preis", "10,00 9,00 1.299,00", ","),
        ("Price", "10.00 9.50 1,299.00", "."),
        ("Price", "1 2 on_request sold_out 3", "."),
        ("Gewicht", "1 2 n/a - 3", "."),
        ("Width", "1 2 wide 3", None),
        ("Width", "wide narrow 3", None),
        ("EAN", "4006381333931 5012345678900", None),
        ("Bar", "4006381333931 5901234123457", None),
        ("Model", "501 1460", None),
        ("Artikelnummer", "501 1460", None),
        ("Model year", "2024 2025", "."),
        ("Number of seats", "2 4", "."),
        ("Zip", "10115 80331", None),
        ("Size", "007 12", None),
        ("Price", "007 12 13", "."),
        ("Price", "", None),
    ],
)
def test_columns_of_numbers_are_known_by_names_and_cells(
    name: str, cells: str, decimal: str | None
) -> None:
    texts = [cell.replace("_", " ") for cell in cells.split(" ")]
    assert guess(name, texts).decimal == decimal


def test_the_decimal_sign_that_cells_leave_open_is_a_hint() -> None:
    assert [guess("Price", ["1.299", "2.450"], hint).decimal for hint in ".,"] == [".", ","]
    assert guess("Price", ["1.299", "2,5"], ".").decimal == ","


def test_amounts_of_several_currencies_stay_texts_with_a_word() -> None:
    assert guess("Price", ["5 €", "$5"]) == Guess(
        None, "'Price' has amounts in $ and €, and stays texts"
    )


def test_digits_with_a_leading_zero_stay_texts_with_a_word() -> None:
    guessed = guess("Weight", ["12", "9", "007", "13"])
    assert guessed.decimal is None
    assert guessed.note.startswith("'Weight' has digits with a leading zero, such as '007', and")
    assert guess("Batch", ["007", "008", "12"]) == Guess()  # most are no numbers


@pytest.mark.parametrize(
    ("cells", "name"),
    [
        (["12,99 €", "EUR 9,99", "5 eur"], "€"),
        (["£5", "5 GBP"], "£"),
        (["¥500", "JPY 700"], "¥"),
        (["$5", "USD 5"], "$"),
    ],
)
def test_signs_and_codes_of_one_currency_are_the_same(cells: list[str], name: str) -> None:
    decimal = guess("Price", cells).decimal
    assert decimal is not None
    column = NumberColumn(decimal)
    assert all(isinstance(column.read(cell), int | float) for cell in cells)
    assert column.describe("Price") == [f"'Price': numbers are stored without {name}"]


def test_dollars_beside_those_of_another_country_stay_texts() -> None:
    assert guess("Price", ["$5", "USD 5", "CAD 7"]).note.startswith(
        "'Price' has amounts in $ and C"
    )


def read(tmp_path: Path, text: str, **mapping: Any) -> tuple[list[dict[str, Any]], Table]:
    """The metadata of a table's rows, and the table."""
    file = tmp_path / "shop.csv"
    file.write_text(text, "utf-8")
    with open_table(file, mapping) as table:
        rows = [row.metadata for row in table.sources() if isinstance(row, ItemSource)]
    return rows, table


def test_a_mapping_that_says_numbers_reads_decimal_commas(tmp_path: Path) -> None:
    text = "SKU;Preis\ne1;10,00\ne2;auf Anfrage\ne3;1.299,00 €\n"
    rows, table = read(tmp_path, text, numbers=("Preis",), metadata={"price": "Preis"})
    assert rows == [{"price": 10.0}, {"price": "auf Anfrage"}, {"price": 1299.0}]
    assert table.columns.commas == ("Preis",)
    assert 'commas = ["Preis"]' in table.columns.to_toml()
    assert table.describe_values() == [
        "'Preis': 1 cells are no numbers and stay texts, such as 'auf Anfrage'",
        "'Preis': numbers are stored without €",
    ]


def test_one_word_makes_no_price_a_text(tmp_path: Path) -> None:
    text = 'SKU,Price\nu1,10.00\nu2,n/a\nu3,"1,299.00"\n'
    rows, table = read(tmp_path, text)
    assert [row["price"] for row in rows] == [10.0, "n/a", 1299.0]
    assert table.columns.numbers == ("Price",)


def test_codes_stay_as_they_are(tmp_path: Path) -> None:
    text = "SKU,EAN,Model,Parent SKU\n1,4006381333931,501,77\n2,5012345678900,1460,77\n"
    rows, table = read(tmp_path, text)
    assert rows[0] == {"EAN": "4006381333931", "Model": "501", "group": "77"}
    assert table.columns.numbers == ()
    assert read(tmp_path, text, numbers=("Model",))[0][0]["Model"] == 501


def test_a_column_that_is_mostly_numbers_is_named(tmp_path: Path) -> None:
    rows, table = read(tmp_path, "SKU,Size\n1,38\n2,40\n3,M\n")
    assert rows[0] == {"Size": "38"}
    assert table.notes[:1] == (
        "'Size': 2 of the first 3 cells are numbers, and it stays texts: name it in `numbers` of a "
        "mapping file (--map) to read them",
    )
