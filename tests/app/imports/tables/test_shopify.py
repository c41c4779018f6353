"""Rows of one product in exports of Shopify."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from app.imports.sources import ImportOutcome, ItemSource
from app.imports.tables import shopify
from app.imports.tables.table import open_table

Png = Callable[..., bytes]
HEADER = (
    "Handle,Title,Body (HTML),Vendor,Type,Tags,Published,Option1 Name,Option1 Value,Option2 Name,"
    "Option2 Value,Variant SKU,Variant Inventory Qty,Variant Price,Variant Compare At Price,"
    "Image Src,Image Position,Image Alt Text,Variant Image,Status"
)
OLD = f"""{HEADER}
trail-boot,Trail boot,<p>Warm &amp; dry</p>,Alpina,Shoes,"red, wool",TRUE,Color,Red,Size,41,\
B-41,3,99.00,120.00,red.png,1,a boot,red.png,active
trail-boot,,,,,,,,Blue,,41,B-42,0,89.00,,side.png,2,its side,blue.png,
trail-boot,,,,,,,,Red,,42,,5,99.00,,sole.png,3,,,
trail-boot,,,,,,,,,,,,,,,box.png,4,,,
cap,Cap,,Alpina,Hats,,TRUE,Title,Default Title,,,,7,15.00,,cap.png,1,,,active
cap,,,,,,,,,,,,,,,cap2.png,2,,,
broken,too,few
hat,Hat,,Other,Hats,,TRUE,Title,Default Title,,,H-1,7,15.00,,hat.png,1,,,active
"""
NEW = """Title,URL handle,Description,Vendor,Product category,Type,Status,SKU,\
Option1 name,Option1 value,Price,Inventory quantity,\
Product image URL,Image position,Variant image URL
Mug,mug,For tea,Potter,Kitchen,Mugs,Active,M-1,Glaze,Blue,12.50,3,https://a.test/1.jpg,1,
,mug,,,,,,M-2,,Green,13.50,0,https://a.test/2.jpg,2,https://a.test/2.jpg
"""


def read(file: Path, **mapping: object) -> tuple[list[ItemSource], list[ImportOutcome]]:
    """Return a table's items, and its refusals."""
    with open_table(file, mapping) as table:
        rows = list(table.sources())
    return (
        [row for row in rows if isinstance(row, ItemSource)],
        [row for row in rows if isinstance(row, ImportOutcome)],
    )


@pytest.fixture
def shop(tmp_path: Path, png: Png) -> Path:
    for name in ("red", "side", "blue", "sole", "box", "cap", "cap2", "hat"):
        (tmp_path / f"{name}.png").write_bytes(png("red"))
    file = tmp_path / "products_export_1.csv"
    file.write_text(OLD, "utf-8")
    return file


def test_variants_share_what_is_of_the_product(shop: Path) -> None:
    items, refused = read(shop)
    assert [item.id for item in items] == ["B-41", "B-42", "trail-boot-Red-42", "cap", "H-1"]
    assert [(row.place, "cells" in row.reason) for row in refused] == [(f"{shop}:8", True)]
    first, second, third, cap, _ = (item.metadata for item in items)
    for variant in (first, second, third):
        assert (variant["title"], variant["brand"]) == ("Trail boot", "Alpina")
        assert (variant["description"], variant["group"]) == ("Warm & dry", "trail-boot")
        assert variant["Tags"] == "red, wool"
    assert [(one["Color"], one["Size"]) for one in (first, second, third)] == [
        ("Red", "41"),
        ("Blue", "41"),
        ("Red", "42"),
    ]
    assert (first["Variant Compare At Price"], second["price"], second["stock"]) == (120, 89, 0)
    assert "Variant Compare At Price" not in second
    assert {"Option1 Name", "Option1 Value", "Title"}.isdisjoint({*first, *cap})


def test_the_first_variant_has_all_photos_and_others_their_own(shop: Path) -> None:
    items, _ = read(shop)
    names = [[Path(str(photo)).stem for photo in item.photos] for item in items]
    assert names == [
        ["red", "side", "sole", "box"],
        ["blue"],
        ["red"],
        ["cap", "cap2"],
        ["hat"],
    ]


def test_the_layout_since_2025_is_read_alike(tmp_path: Path) -> None:
    file = tmp_path / "products.csv"
    file.write_text(NEW, "utf-8")
    (blue, green), refused = read(file)
    assert refused == []
    assert blue.photos == ("https://a.test/1.jpg", "https://a.test/2.jpg")
    assert green.photos == ("https://a.test/2.jpg",)
    assert green.metadata == {
        **{"title": "Mug", "description": "For tea", "brand": "Potter", "group": "mug"},
        **{"Product category": "Kitchen", "Type": "Mugs", "Status": "Active", "Glaze": "Green"},
        **{"price": 13.5, "stock": 0, "Image position": 2},
    }


def test_a_mapping_of_metadata_keeps_the_columns_of_options(shop: Path) -> None:
    items, _ = read(shop, metadata={"title": "Title", "color": "Option1 Value"})
    assert [item.metadata.get("color") for item in items[:2]] == ["Red", "Blue"]


def test_rows_beyond_the_most_of_a_product_are_refused(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shopify, "MOST_ROWS", 2)
    items, refused = read(shop)
    assert [item.id for item in items] == ["B-41", "B-42", "cap", "H-1"]
    reasons = [row.reason for row in refused if "trail-boot" in row.reason]
    assert reasons == ["its product 'trail-boot' has over 2 rows, or 32 MB"] * 2


SHORT = "Handle,Title,Vendor,Option1 Name,Option1 Value,Variant SKU,Image Src"


def write(file: Path, *rows: str) -> Path:
    """Write an export, and the files of its photos."""
    for photo in re.findall(r"\w+\.jpg", " ".join(rows)):
        (file.parent / photo).touch()
    file.write_text("\n".join([SHORT, *rows, ""]), "utf-8")
    return file


def test_a_broken_row_within_a_product_parts_it_not(tmp_path: Path) -> None:
    rows = (
        "a,Shirt,Acme,Size,S,S-1,1.jpg",
        "a,,,,M,S-2,2.jpg,more",
        "a,,,,L,S-3,3.jpg",
        "a,,,,,,4.jpg",
    )
    items, refused = read(write(tmp_path / "shop.csv", *rows))
    assert [(item.id, item.metadata["title"], item.metadata["Size"]) for item in items] == [
        ("S-1", "Shirt", "S"),
        ("S-3", "Shirt", "L"),
    ]
    assert [Path(str(photo)).name for photo in items[0].photos] == ["1.jpg", "3.jpg", "4.jpg"]
    assert len(refused) == 1


def test_rows_away_from_their_product_are_refused(tmp_path: Path) -> None:
    rows = ["b,,,,,,early.jpg", "a,Shirt,Acme,Size,S,S-1,1.jpg", "b,Hat,Acme,Size,S,H-1,2.jpg"]
    rows += ["a,,,,M,S-2,", "b,,,,,,late.jpg"]
    items, refused = read(write(tmp_path / "shop.csv", *rows))
    assert [item.id for item in items] == ["S-1", "H-1"]
    assert [Path(str(photo)).name for photo in items[1].photos] == ["2.jpg", "late.jpg"]
    first, second = (row.reason for row in refused)
    assert first.startswith("it has no title, and no row of its product 'b' with one is before")
    assert second == "other products are between it and its product 'a': sort the table"


def test_rows_with_titles_of_their_own_keep_their_photos(tmp_path: Path) -> None:
    rows = ("a,One,Acme,Size,S,S-1,1.jpg|2.jpg", "a,Two,Other,Size,M,S-2,3.jpg", "b,Three,,,,S-3,")
    items, refused = read(write(tmp_path / "shop.csv", *rows))
    photos = [[Path(str(photo)).name for photo in item.photos] for item in items]
    assert (photos, refused) == ([["1.jpg", "2.jpg"], ["3.jpg"], []], [])
    assert [item.metadata.get("brand") for item in items] == ["Acme", "Other", None]


@pytest.mark.parametrize("name", ["Title", "brand", "Price", "group", "Image", "Caption", ""])
def test_options_named_like_other_fields_keep_their_columns(tmp_path: Path, name: str) -> None:
    (item,), _ = read(write(tmp_path / "shop.csv", f"a,Print,Acme,{name},Big,P-1,"))
    about = {"title": "Print", "brand": "Acme", "group": "a", "Option1 Value": "Big"}
    assert item.metadata == about | ({"Option1 Name": name} if name else {})
    assert item.sentences == ("Print",)


def test_a_table_with_other_ids_is_no_export(tmp_path: Path) -> None:
    file = write(tmp_path / "shop.csv", "1,a,One,,,,S-1,1.jpg", "2,a,,,,,S-2,2.jpg")
    file.write_text(f"id,{file.read_text('utf-8')}", "utf-8")
    for mapping in ({}, {"id": "id"}):
        items, _ = read(file, **mapping)
        photos = [[Path(str(photo)).name for photo in item.photos] for item in items]
        assert [item.id for item in items] == ["1", "2"]
        assert photos == [["1.jpg"], ["2.jpg"]]


def test_other_tables_with_handles_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "shop.csv"
    file.write_text("handle,title,image\na,Boot,\na,,\n", "utf-8")
    items, refused = read(file)
    assert [item.metadata for item in items] == [{"title": "Boot"}]
    assert [row.reason for row in refused] == ["the id 'a' is that of row 2 too"]
