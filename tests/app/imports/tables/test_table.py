"""Rows of tables become items, and bad rows alone are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from app.engine.engine import Engine
from app.imports.fetching import Fetcher
from app.imports.sources import ImportOutcome, ItemSource
from app.imports.storing import import_sources
from app.imports.tables.columns import map_columns, read_mapping
from app.imports.tables.table import is_table, open_table

Png = Callable[..., bytes]
CSV = """SKU;Product Name;image 1;image 2;Price;Parent SKU;ean
00-1;Red boot;red.png;blue.png;19.90;g1;0012
00-2;"Blue; boot";blue.png;;7;g1;0034
00-3;No photo;;;8;;
00-4;Lost photo;lost.png;;9;;
;No id;red.png;;9;;
00-1;Twice;red.png;;9;;
00-5;short
"""


@pytest.fixture
def shop(tmp_path: Path, png: Png) -> Path:
    for colour in ("red", "blue"):
        (tmp_path / f"{colour}.png").write_bytes(png(colour))
    file = tmp_path / "products.csv"
    file.write_text(CSV, "utf-8")
    return file


def run(engine: Engine, file: Path, said: dict[str, Any] | None = None) -> dict[int, ImportOutcome]:
    """Import a table; each row's outcome, by its number."""
    with open_table(file, said or {}) as table:
        outcomes = import_sources(engine, "default", table.sources(), batch=2, most_bytes=10**6)
        return {table.take_number(one): one for one in outcomes}


def test_columns_are_guessed_by_their_names_and_cells(shop: Path) -> None:
    with open_table(shop, {}) as table:
        columns = table.columns
    assert (columns.id, columns.photos) == ("SKU", ("image 1", "image 2"))
    assert columns.metadata == {
        "title": "Product Name",
        "price": "Price",
        "group": "Parent SKU",
        "ean": "ean",
    }
    assert columns.numbers == ("Price",)  # codes with a leading zero are none
    told = shop.with_name("map.toml")
    told.write_text(columns.to_toml(), "utf-8")
    assert map_columns(table.header, [], read_mapping(told)) == (columns, [])


def test_a_table_without_a_known_title_names_the_columns_that_may_be_one(tmp_path: Path) -> None:
    file = tmp_path / "waren.csv"
    file.write_text("SKU;Titel;Preis\n1;Rote Lampe;12,99\n", "utf-8")
    with open_table(file, {}) as table:
        (note,) = table.notes
    assert note.startswith("no column is taken for a title, a sentence or a photo")
    assert 'as in title = "Titel" under [metadata]' in note
    assert note.endswith("the table has SKU, Titel, Preis")
    with open_table(file, {"metadata": {"title": "Titel", "price": "Preis"}}) as table:
        assert table.notes == ()
        (row,) = table.sources()
    assert row.sentences == ("Rote Lampe",)


def test_codes_are_no_numbers(tmp_path: Path) -> None:
    rows = ["A1,Chair,4006381333931,501,12", "A2,Table,96385074,1460,3"]
    file = tmp_path / "codes.csv"
    file.write_text("\n".join(["SKU,Title,Bars,Model No.,Stock", *rows]), "utf-8")
    with open_table(file, {}) as table:
        assert table.columns.numbers == ("Stock",)


def test_good_rows_are_stored_and_each_other_says_why(engine: Engine, shop: Path) -> None:
    outcomes = run(engine, shop)
    assert {number: one.status for number, one in outcomes.items()} == {
        **dict.fromkeys((2, 3, 4), "stored"),
        **dict.fromkeys((5, 6, 7, 8), "refused"),
    }
    for number, reason in {
        5: "lost.png",
        6: "the column 'SKU' is empty",
        7: "the id '00-1' is that of row 2 too",
        8: "it has 2 cells, and the header has 7",
    }.items():
        assert reason in outcomes[number].reason
    item = engine.catalog.get(engine.open("default"), "00-1")
    assert len(item.photos) == 2
    assert item.metadata == {"title": "Red boot", "price": 19.9, "group": "g1", "ean": "0012"}


def test_second_import_reads_only_what_changed(engine: Engine, shop: Path, png: Png) -> None:
    run(engine, shop)
    shop.write_text(CSV.replace("7;g1", "6;g1"), "utf-8")
    outcomes = run(engine, shop)
    assert (outcomes[2].status, outcomes[3].status) == ("skipped", "patched")
    (shop.parent / "red.png").write_bytes(png("lime"))
    assert run(engine, shop)[2].status == "stored"


def test_a_product_without_a_photo_is_found_by_its_title(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "products.tsv"
    file.write_text("id\ttitle\nx\tblue\n", "utf-8")
    assert run(engine, file)[2].status == "stored"
    assert engine.catalog.get(engine.open("default"), "x").sentences == ("blue",)


def test_mapping_wins_over_guesses(engine: Engine, shop: Path) -> None:
    said = {"id": "ean", "photos": ("image 2",), "metadata": {"name": "Product Name"}}
    assert run(engine, shop, said)[2].status == "stored"
    item = engine.catalog.get(engine.open("default"), "0012")
    assert (len(item.photos), item.metadata) == (1, {"name": "Red boot"})


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"id": "sku"}, "no column 'sku'; the nearest column is 'SKU'"),
        ({"photos": ("imag 1",)}, "no column 'imag 1'; the nearest column is 'image 1'"),
        ({"metadata": {"a": "Prise"}}, "no column 'Prise'; the nearest column is 'Price'"),
    ],
)
def test_wrong_columns_are_named_with_the_nearest(
    shop: Path, said: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason), open_table(shop, said):
        pass


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("id = 1", "id is a str of column names"),
        ("photo = ['a']", "no 'photo'; the nearest name is 'photos'"),
        ("photos = 'a'", "photos is a list"),
        ("id =", "not TOML"),
    ],
)
def test_odd_mapping_files_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "map.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=reason):
        read_mapping(file)


def test_table_without_an_id_says_how_to_name_one(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("colour,size\nred,1\n", "utf-8")
    with (
        pytest.raises(ValueError, match=r"no column looks like an id.*colour, size"),
        open_table(file, {}),
    ):
        pass


BROKEN = '\n{\n{"id": "3", "title": "a", "title": "b"}\n'


def test_lines_of_json_and_parquet_keep_the_types_of_their_values(
    engine: Engine, tmp_path: Path, png: Png
) -> None:
    (tmp_path / "red.png").write_bytes(png("red"))
    rows = [
        {"id": "1", "title": "a", "price": 2.5, "tags": ["x", "y"], "images": ["red.png"]},
        {"id": "2", "title": "red", "price": None, "tags": [], "images": []},
    ]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, [*rows, [1]])) + BROKEN, "utf-8")
    for name in ("a.parquet", "a.jsonl"):
        outcomes = run(engine, tmp_path / name)
        assert [outcomes[number].status for number in (1, 2)] == ["stored", "stored"], outcomes
        item = engine.catalog.get(engine.open("default"), "1")
        assert item.metadata == {"title": "a", "price": 2.5, "tags": ["x", "y"]}
        assert engine.catalog.get(engine.open("default"), "2").metadata == {"title": "red"}
        engine.catalog.delete(engine.open("default"), "1")
        engine.catalog.delete(engine.open("default"), "2")
    assert "not a JSON object" in outcomes[3].reason
    assert "not JSON" in outcomes[4].reason
    assert outcomes[5].reason.startswith("the key 'title' is there twice")


def test_items_as_they_are_stay_lines_of_items(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"id": "a", "sentences": ["x"]}\n')
    assert (is_table(file, mapped=False), is_table(file, mapped=True)) == (False, True)
    file.write_text('{"id": "a", "title": "x"}\n')
    assert is_table(file, mapped=False)


@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        (['{"id": "a", "title": "x', '{"id": "b", "title": "x"}'], True),
        (['{"id": "a", "image": "a.png"}', '{"id": "b", "title": "x"}'], True),
        (['{"id": "a", "stamp": "1", "metadata": {}}', '{"id": "b"}'], False),
        (['{"id": "a", "title": "x"}', '{"id": "b", "metadata": {"k": 1}}'], False),
        (['{"sku": "a", "name": "x", "metadata": {"k": 1}}'], True),
        (["", "[1]", "nonsense"], False),
    ],
)
def test_no_single_line_decides_what_a_file_is(
    tmp_path: Path, lines: list[str], rows: bool
) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("\n".join(lines))
    assert is_table(file, mapped=False) is rows


def test_columns_that_differ_by_case_are_both_kept(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("sku,Title,Price,price,Stock,stock\n1,red,10,11.9,5,7\n")
    run(engine, file)
    metadata = engine.catalog.get(engine.open("default"), "1").metadata
    assert metadata == {"title": "red", "Price": 10, "price": 11.9, "Stock": 5, "stock": 7}


def test_the_line_by_which_excel_names_its_separator_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("\ufeffsep=;\r\nsku;title\r\n1;red, blue\r\n", newline="")
    with open_table(file, {}) as table:
        (source,) = table.sources()
    assert isinstance(source, ItemSource)
    assert (source.id, source.metadata) == ("1", {"title": "red, blue"})
    file.write_bytes("sep=;\nid;Größe\n".encode("latin-1"))
    with pytest.raises(ValueError, match="not UTF-8"), open_table(file, {}):
        pass


def test_photos_are_parted_by_commas_between_names(tmp_path: Path) -> None:
    for name in ("a.jpg", "b.png", "x.jpg,y.jpg", "one, two.jpg"):
        (tmp_path / name).write_bytes(b"")
    cells: dict[str, list[Path | str]] = {
        "a.jpg, b.png": [tmp_path / "a.jpg", tmp_path / "b.png"],
        ",".join(["a.jpg", *["b.png"] * 60]) + ",": [tmp_path / "a.jpg", tmp_path / "b.png"],
        "http://h/a?b,http://h/c,d.jpg": ["http://h/a?b,http://h/c,d.jpg"],
        "http://h/a, https://h/b": ["http://h/a", "https://h/b"],
        "http://h/w_1,h_2/a.jpg": ["http://h/w_1,h_2/a.jpg"],
        "x.jpg,y.jpg": [tmp_path / "x.jpg,y.jpg"],
        "one, two.jpg": [tmp_path / "one, two.jpg"],
    }
    file = tmp_path / "a.csv"
    rows = [f'{number},"{cell}"' for number, cell in enumerate(cells)]
    file.write_text("\n".join(["id,additional_image_link", *rows]))
    with open_table(file, {}) as table:
        sources = [source for source in table.sources() if isinstance(source, ItemSource)]
    assert [list(source.photos) for source in sources] == list(cells.values())


def test_numbers_of_parquet_are_as_they_were_written(tmp_path: Path) -> None:
    prices = pyarrow.array([19.99, 0.1, None], pyarrow.float32())
    columns = {"sku": [1001.0, 1002.5, 1e15], "title": ["a", "b", "c"], "price": prices}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    with open_table(tmp_path / "a.parquet", {}) as table:
        sources = [source for source in table.sources() if isinstance(source, ItemSource)]
    assert [source.id for source in sources] == ["1001", "1002.5", "1000000000000000"]
    assert [source.metadata.get("price") for source in sources] == [19.99, 0.1, None]


def test_a_row_that_is_no_text_is_refused_alone(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"id,title\n1,bl\xffue\n2,red\n")
    outcomes = run(engine, file)
    assert (outcomes[2].status, outcomes[3].status) == ("refused", "stored")


def test_a_key_that_only_a_late_row_has_is_metadata_too(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.imports.tables.table.SAMPLED", 1)
    file = tmp_path / "a.jsonl"
    file.write_text('{"id": "1", "title": "red"}\n{"id": "2", "title": "blue", "size": 3}\n')
    run(engine, file)
    metadata = engine.catalog.get(engine.open("default"), "2").metadata
    assert metadata == {"title": "blue", "size": 3}


def test_photos_and_sentences_of_a_late_row_are_such(
    engine: Engine, tmp_path: Path, png: Png, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.imports.tables.table.SAMPLED", 1)
    (tmp_path / "red.png").write_bytes(png("red"))
    file = tmp_path / "a.jsonl"
    late = {"id": "2", "title": "b", "image": "red.png", "sentences": ["a red box"]}
    file.write_text('{"id": "1", "title": "red"}\n' + json.dumps(late))
    run(engine, file)
    item = engine.catalog.get(engine.open("default"), "2")
    assert (item.metadata, item.sentences, len(item.photos)) == ({"title": "b"}, ("a red box",), 1)


def test_rows_stream(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id,title\n" + "".join(f"{n},red\n" for n in range(5_000)), "utf-8")
    with open_table(file, {}) as table:
        sources = table.sources()
        first = next(sources)
        assert isinstance(first, ItemSource)
        assert (first.id, len(table.numbers)) == ("0", 1)


def test_bytes_that_are_not_utf8_refuse_their_row_alone(tmp_path: Path, engine: Engine) -> None:
    file = tmp_path / "old.csv"
    file.write_bytes("id,title\na,Crème\nb,red\n".encode("latin-1"))
    told = run(engine, file)
    assert (told[2].status, told[3].status) == ("refused", "stored")
    assert told[2].reason == "byte 0xe8 in it is not UTF-8; save the table as UTF-8"


def test_dates_nested_in_parquet_are_texts_and_bytes_are_left_out_by_name(
    engine: Engine, tmp_path: Path
) -> None:
    day = date(2026, 11, 22)
    columns = {
        "id": ["1", "2"],
        "title": ["red", "blue"],
        "offer": [{"from": day, "prices": [Decimal("2.50")]}, None],
        "seen": [[datetime(2026, 11, 22, 8, 30)], []],
        "stock": pyarrow.array([[("Berlin", day)], []], pyarrow.map_(pyarrow.string(), "date32")),
        "wait": [timedelta(minutes=1), None],
        "icon": [None, b"\xff"],
        "art": [{"bytes": b"\xff", "name": "a"}, None],
        "at": pyarrow.array([1, 2], pyarrow.timestamp("ns")),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    outcomes = run(engine, tmp_path / "a.parquet")
    with open_table(tmp_path / "a.parquet", {}) as table:
        assert table.notes == tuple(
            f"the column {name!r} holds bytes and is left out" for name in ("icon", "art.bytes")
        )
    assert engine.catalog.get(engine.open("default"), "1").metadata == {
        "title": "red",
        "offer": {"from": "2026-11-22", "prices": [2.5]},
        "seen": ["2026-11-22T08:30:00"],
        "stock": {"Berlin": "2026-11-22"},
        "wait": 60.0,
        "art": {"name": "a"},
        "at": "1970-01-01T00:00:00",
    }
    assert outcomes[2].status == "stored"


def test_parquet_that_breaks_off_says_where(tmp_path: Path) -> None:
    file = tmp_path / "items.parquet"
    titles = [f"red {number}" * 20 for number in range(3_000)]
    table = pyarrow.table({"id": [str(number) for number in range(3_000)], "title": titles})
    pyarrow.parquet.write_table(table, file, compression="zstd", row_group_size=1_500)
    start = pyarrow.parquet.ParquetFile(file).metadata.row_group(1).column(1).data_page_offset
    data = bytearray(file.read_bytes())
    data[start : start + 50] = b"\xff" * 50
    file.write_bytes(data)
    with open_table(file, {}) as broken:
        *_, last = broken.sources()
    assert isinstance(last, ImportOutcome)
    assert last.reason == broken.end
    assert 1_400 < broken.take_number(last) <= 1_501  # rows are read some at a time
    assert broken.end.endswith("the rest of the table is not read")


def test_whatever_the_address_in_a_row_raises_refuses_that_row_alone(
    engine: Engine, tmp_path: Path
) -> None:
    table = tmp_path / "shop.csv"
    table.write_text(
        "sku,title,image\n1,red,\n2,red,http://x.test:99999/ä.png\n3,red,http://①②⑦.⓪.⓪.①/\n4,red,\n",
        "utf-8",
    )
    with open_table(table, {}) as products:
        sources, fetch = products.sources(), Fetcher().fetch
        outcomes = import_sources(
            engine, "default", sources, batch=2, most_bytes=10**6, fetch=fetch
        )
        told = {products.take_number(one): (one.status, one.reason) for one in outcomes}
    assert [told[number][0] for number in (2, 3, 4, 5)] == [
        "stored",
        "refused",
        "refused",
        "stored",
    ]
    assert "invalid port number" in told[3][1]
    assert "not an address of the public internet" in told[4][1]


def test_cells_nested_too_deep_refuse_their_row_or_are_texts(
    engine: Engine, tmp_path: Path
) -> None:
    table = tmp_path / "shop.csv"
    deep = "[" * 100_000
    table.write_text(f"sku,title,images\n1,red,\n2,red,{deep}\n3,{deep},\n4,red,\n")
    with open_table(table, {}) as products:
        outcomes = import_sources(engine, "default", products.sources(), batch=2, most_bytes=10**6)
        told = {products.take_number(one): one.status for one in outcomes}
    assert (told[2], told[3], told[5]) == ("stored", "refused", "stored")


def test_a_header_that_is_no_csv_is_told(tmp_path: Path) -> None:
    table = tmp_path / "shop.csv"
    table.write_text('"sku"x,title\n1,red\n')
    with pytest.raises(ValueError, match="header is no row of CSV"), open_table(table, {}):
        pass


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("SKU;Title;Größe\n1;a;10\n".encode("cp1252"), "byte 0xf6 in it is not UTF-8; save the"),
        ("SKU\tTitle\n1\ta\n".encode("utf-16"), "it is UTF-16; save the table as CSV in UTF-8"),
        ("SKU,Title\n1,a\n".encode("utf-16-le"), "it is UTF-16"),
        (b"SKU,Title\r1,Chair\r2,Table", "its lines end as on old Macs, by CR"),
        (b'"SKU"x,Title\na,b\n', "the header is no row of CSV: ',' expected after"),
        (b"SKU,Title,Title\na,b,c\n", "two columns have the name 'Title'"),
        (b"My shop,,\nSKU,Title,Price\n1,a,5\n", "the first line of the table, .* My shop"),
    ],
)
def test_a_header_that_cannot_be_read_says_what_to_do(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    file = tmp_path / "shop.csv"
    file.write_bytes(data)
    with pytest.raises(ValueError, match=reason), open_table(file, {}):
        pass


def test_blank_columns_and_rows_of_spreadsheets_are_nothing(tmp_path: Path) -> None:
    file = tmp_path / "shop.csv"
    file.write_text(
        "SKU,,Title,Price,,\n1,,Chair,10,,\n,,,,,\n2,,Table,5\n3,x,Bed,7,,\n4,,a,5,,,y\n"
    )
    with open_table(file, {}) as table:
        rows = list(table.sources())
    assert table.header == ["SKU", "Title", "Price"]
    assert isinstance(rows[0], ItemSource)
    assert rows[0].metadata == {"title": "Chair", "price": 10}
    reasons = [row.reason for row in rows if isinstance(row, ImportOutcome)]
    assert reasons == [
        "it has 4 cells, and the header has 6",
        "the cell 'x' is in a column without a name; name it in the header",
        "it has 7 cells, and the header has 6",
    ]


def test_a_cell_larger_than_python_reads_by_itself_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "shop.csv"
    file.write_text('SKU,Note\n1,"' + "lorem, ipsum\n" * 20_000 + '"\n2,b\n')
    with open_table(file, {}) as table:
        rows = [row for row in table.sources() if isinstance(row, ItemSource)]
    assert [(row.id, len(row.metadata["Note"])) for row in rows] == [("1", 259_999), ("2", 1)]


def test_cells_of_html_become_the_text_that_people_see(tmp_path: Path) -> None:
    file = tmp_path / "shop.csv"
    body = "<p>Solid <strong>oak</strong> &amp; steel</p><td style='color: red'>a < b</td>"
    many = "<i>" * 5_001
    file.write_text(f'SKU,Body (HTML),Size\n1,"{body}",a < b\n2,Plain & simple,3 < 4\n3,{many},5\n')
    for mapping, expected in (({}, "Solid oak & steel\na < b"), ({"html": ()}, body)):
        with open_table(file, mapping) as table:
            rows = list(table.sources())
        assert isinstance(rows[0], ItemSource)
        assert rows[0].metadata == {"description": expected, "Size": "a < b"}
        assert isinstance(rows[1], ItemSource)
        assert rows[1].metadata["description"] == "Plain & simple"
    assert table.columns.html == ()
    with open_table(file, {}) as table:
        *_, refused = table.sources()
    assert isinstance(refused, ImportOutcome)
    assert refused.reason == "a cell of HTML has more than the 5,000 tags that are read"


def test_photos_of_hugging_face_are_read_from_their_bytes(
    engine: Engine, tmp_path: Path, png: Png
) -> None:
    (tmp_path / "red.png").write_bytes(png("red"))
    columns = {
        "id": ["1", "2", "3"],
        "jpg": [
            {"bytes": png("blue"), "path": "somewhere.png"},
            {"bytes": None, "path": "red.png"},
            {"bytes": b"broken", "path": None},
        ],
        "others": [[{"bytes": png("lime"), "path": None}], [], None],
    }
    file = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    with open_table(file, {}) as table:
        assert table.columns.photos == ("jpg",)
    mapping = {"photos": ("jpg", "others")}
    outcomes = run(engine, file, mapping)
    assert [outcomes[number].status for number in (1, 2, 3)] == ["stored", "stored", "refused"]
    assert "not an image" in outcomes[3].reason
    assert len(engine.catalog.get(engine.open("default"), "1").photos) == 2
    assert run(engine, file, mapping)[1].status == "skipped"


def test_nanoseconds_within_lists_and_structs_are_read(tmp_path: Path) -> None:
    moment, wait, clock = (
        pyarrow.timestamp("ns"),
        pyarrow.duration("ns"),
        pyarrow.time64("ns"),
    )
    kinds = {
        "id": pyarrow.string(),
        "a": pyarrow.list_(moment),
        "b": pyarrow.struct([("c", wait), ("d", clock)]),
        "e": pyarrow.map_(pyarrow.string(), moment),
    }
    row = {"id": "1", "a": [1_000], "b": {"c": 10**9, "d": 0}, "e": [("x", 1_000)]}
    table = pyarrow.Table.from_pylist([row], pyarrow.schema(list(kinds.items())))
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with open_table(tmp_path / "a.parquet", {}) as opened:
        (source,) = opened.sources()
    assert isinstance(source, ItemSource)
    assert source.metadata == {
        "a": ["1970-01-01T00:00:00.000001"],
        "b": {"c": 1.0, "d": "00:00:00"},
        "e": {"x": "1970-01-01T00:00:00.000001"},
    }


def test_a_reason_does_not_quote_all_that_was_sent(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "shop.csv"
    file.write_text(f"sku,title,image\n1,red,{'x' * 100_000}\n")
    assert len(run(engine, file)[2].reason) <= 1_000
