"""Too large rows are refused by number, in bounded memory."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from app.imports.settling import split_stream
from app.imports.sources import ImportOutcome, ItemSource
from app.imports.tables import formats, parquet
from app.imports.tables.table import is_table, open_table

HEAD = "id,title,description\n1,red,fine\n"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows may have 1,000 bytes."""
    monkeypatch.setattr(formats, "LONGEST_ROW", 1_000)


def read(file: Path) -> tuple[dict[int, str], str]:
    """Rows' outcomes by number, and the reason for an early end."""
    with open_table(file, {}) as table:
        rows = {}
        for source in table.sources():
            reason = source.reason if isinstance(source, ImportOutcome) else "stored"
            rows[table.numbers.pop(source.place)] = reason
        return rows, table.end


@pytest.mark.parametrize("size", [2_000, 50_000])
def test_a_long_line_is_refused_and_the_next_is_read(tmp_path: Path, size: int) -> None:
    text = "word " * (size // 5)
    file = tmp_path / "a.csv"
    file.write_text(f'{HEAD}2,blue,{text}\n3,"{text}",x\n4,green,ok\n')
    rows, end = read(file)
    assert (rows[2], rows[5], end) == ("stored", "stored", "")
    assert rows[3] == rows[4] == "it is longer than 1,000 bytes; shorten it"
    file = tmp_path / "a.jsonl"
    long = json.dumps({"id": "2", "title": text})
    file.write_text(f'{{"id": "1", "x": "a"}}\n{long}\n{{"id": "3", "x": "a"}}\n')
    rows, end = read(file)
    assert (rows[1], rows[3], end) == ("stored", "stored", "")
    assert rows[2] == "it is longer than 1,000 bytes; shorten it"


@pytest.mark.parametrize("rows", [3, 300])
def test_a_quote_that_is_not_closed_is_told_by_its_line(tmp_path: Path, rows: int) -> None:
    file = tmp_path / "a.csv"
    behind = "".join(f"{number},green,a row\n" for number in range(10, 10 + rows))
    file.write_text(f'{HEAD}2,"blue,never closed\n{behind}')
    outcomes, end = read(file)
    assert outcomes == {2: "stored", 3: end}
    assert end.startswith("the row that begins in line 3: ")
    assert "close its quote" in end


def test_a_long_line_with_an_open_quote_ends_the_table(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(f'{HEAD}2,"blue,{"word " * 2_000}\nthis is,inside of,the cell\n')
    outcomes, end = read(file)
    assert (list(outcomes), bool(end)) == ([2, 3], True)


def test_a_quote_that_is_closed_rows_later_is_told_with_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(f'{HEAD}2,"blue,x\n3,green,y\n4,lime",z,z,z\n5,white,ok\n')
    outcomes, end = read(file)
    assert (outcomes[4], end) == ("stored", "")
    file.write_text(f'{HEAD}2,"blue,x\n3,green,y\n4,lime" z\n5,white,ok\n')
    outcomes, _ = read(file)
    assert outcomes[3].startswith("lines 3 to 5: not a row of CSV")


def test_a_cell_of_many_lines_and_letters_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "LONGEST_ROW", 2**20)
    file = tmp_path / "a.csv"
    cell = "lorem ipsum\n" * 15_000
    file.write_text(f'{HEAD}2,blue,"{cell}"\n3,green,ok\n')
    assert read(file) == ({2: "stored", 3: "stored", 4: "stored"}, "")


@pytest.mark.parametrize("text", ["id," * 6_000, 'id,"a" b\n', 'id,"' + "x" * 5_000])
def test_a_header_that_cannot_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    file = tmp_path / "a.csv"
    file.write_text(text)
    monkeypatch.setattr(formats, "LONGEST_ROW", 2**16 if text.startswith("id,id") else 1_000)
    with (
        pytest.raises(ValueError, match=r"columns; 5,000 at most|the header"),
        open_table(file, {}),
    ):
        pass


@pytest.mark.parametrize("line", ["[" * 50_000, "{" + " " * 10**7, '{"a":' * 50_000])
def test_a_first_line_that_is_no_row_makes_no_table(tmp_path: Path, line: str) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(line)
    assert not is_table(file, mapped=False)


def test_a_list_in_a_cell_that_is_too_deep_is_a_text(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(f"id,sentences\na,{'[' * 900}\n")
    with open_table(file, {}) as table:
        (source,) = table.sources()
    assert isinstance(source, ItemSource)
    assert source.sentences == ("[" * 900,)


def test_sources_wait_together_as_long_as_they_are_small() -> None:
    small, large = (ItemSource("a", "a", "1", size=size) for size in (1, 2**25))
    parts = [len(part) for part in split_stream([small, large, large, small, small, small], 3)]
    assert parts == [2, 1, 3]


def test_a_value_of_parquet_that_is_too_long_refuses_its_row(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    once = pyarrow.array(["word " * 10**6])
    titles = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 20), once)
    ids = [str(number) for number in range(20)]
    pyarrow.parquet.write_table(pyarrow.table({"id": ids, "title": titles}), file)
    assert file.stat().st_size < 500_000
    rows, end = read(file)
    assert ({*rows.values()}, end) == ({"it is longer than 4,194,304 bytes; shorten it"}, "")


def test_parquet_that_claims_rows_without_end_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    nothing = pyarrow.nulls(1_000_000, pyarrow.string())
    pyarrow.parquet.write_table(pyarrow.table({"id": nothing}), file)
    with pytest.raises(ValueError, match="claims 1,000,000 rows in"), open_table(file, {}):
        pass


def test_parquet_that_takes_too_much_memory_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.parquet"
    monkeypatch.setattr(parquet, "MEMORY", 2**29)  # the libraries alone take more than half
    table = pyarrow.table({"id": ["a"], "title": ["word " * 5 * 10**7]})
    pyarrow.parquet.write_table(table, file, compression="zstd", use_dictionary=False)
    assert file.stat().st_size < 500_000
    rows, end = read(file)
    assert rows == {1: end}
    assert "bytes of memory" in end
