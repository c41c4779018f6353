from pathlib import Path

import pytest

from index import trec as judgements
from index.trec import Judgement

ROWS = [
    Judgement("navy blue shirt", "a", 2.0),
    Judgement("navy blue shirt", "b", 0.0),
    Judgement("sandals", "c", 1.0),
]


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_csv_and_jsonl_say_the_same(tmp_path: Path) -> None:
    as_csv = written(
        tmp_path, "q.csv", "query,id,grade\nnavy blue shirt,a,2\nnavy blue shirt,b,0\nsandals,c,1\n"
    )
    as_lines = written(
        tmp_path,
        "q.jsonl",
        '{"query": "navy blue shirt", "id": "a", "weight": 2}\n\n'
        '{"query": "navy blue shirt", "id": "b", "relevance": 0}\n'
        '{"query": "sandals", "id": "c"}\n',
    )
    assert judgements.read(as_csv) == judgements.read(as_lines) == ROWS
    assert judgements.queries(ROWS) == ["navy blue shirt", "sandals"]


def test_both_formats_of_trec_are_told_apart_by_their_columns(tmp_path: Path) -> None:
    qrels = written(tmp_path, "qrels.txt", "q1 0 a 2\nq1 0 b 0\n")
    run = written(tmp_path, "bm25.run", "q1 Q0 b 1 7.5 bm25\n\nq1 Q0 a 2 3.0 bm25\n")
    assert judgements.by_query(judgements.read(qrels)) == {"q1": {"a": 2.0, "b": 0.0}}
    assert judgements.by_query(judgements.read(run)) == {"q1": {"b": 7.5, "a": 3.0}}


@pytest.mark.parametrize("delimiter", [",", ", ", ";", "\t"])
def test_headings_are_read_in_any_case_and_between_usual_separators(
    tmp_path: Path, delimiter: str
) -> None:
    rows = [("\ufeffQuery", "ID ", "Grade", ""), ("red shirt", "a", "2", ""), ("hat", "b", "0", "")]
    file = written(tmp_path, "q.csv", "\n".join(map(delimiter.join, rows)) + "\n")
    expected = [Judgement("red shirt", "a", 2.0), Judgement("hat", "b", 0.0)]
    assert judgements.read(file) == expected
    lines = '{"Query": "red shirt", "Id": "a", " Score": 2}\n{"Query": "hat", "Id": null}\n'
    assert judgements.read(written(tmp_path, "q.jsonl", lines)) == expected[:1]


def test_a_run_of_ranks_is_ordered_by_them_unless_it_has_scores(tmp_path: Path) -> None:
    ranks = "query,id,Rank\nhat,a,2\nhat,b,1\nhat,a,9\n"
    values = judgements.by_query(judgements.read(written(tmp_path, "q.csv", ranks)))["hat"]
    assert sorted(values, key=lambda item: -values[item]) == ["b", "a"]
    assert values["a"] == -2
    scored = written(tmp_path, "s.csv", "query,id,rank,score\nhat,a,1,7.5\n")
    assert judgements.read(scored) == [Judgement("hat", "a", 7.5)]


def test_rows_of_a_query_and_an_id_alone_count_one(tmp_path: Path) -> None:
    assert judgements.read(written(tmp_path, "q.csv", "query,id\nhat,a\n")) == [
        Judgement("hat", "a", 1.0)
    ]


def test_zero_is_a_query_and_an_id(tmp_path: Path) -> None:
    file = written(tmp_path, "q.jsonl", '{"query": 0, "id": 0, "grade": 1}\n')
    assert judgements.read(file) == [Judgement("0", "0", 1.0)]


def test_another_encoding_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "q.csv"
    file.write_bytes("query,id\nhat,a\nhüte,b\n".encode("latin-1"))
    wrong = r"q\.csv, line 3: the byte 0xfc is not UTF-8: save the file as UTF-8"
    with pytest.raises(ValueError, match=wrong):
        judgements.read(file)


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "runs" / "mine.csv"
    judgements.write_run(file, [Judgement('a "big", red bus', "b,us", 0.1 + 0.2)])
    assert judgements.read(file) == [Judgement('a "big", red bus', "b,us", 0.1 + 0.2)]


def test_of_a_pair_that_comes_twice_the_larger_value_counts() -> None:
    twice = [Judgement("q", "a", value) for value in (1.0, 3.0, 2.0)]
    assert judgements.by_query(twice) == {"q": {"a": 3.0}}


def test_topics_give_the_texts_of_queries(tmp_path: Path) -> None:
    file = written(tmp_path, "topics.tsv", "\ufeffq1\tnavy blue shirt\n\nq2\tsandals\n")
    assert judgements.topics(file) == {"q1": "navy blue shirt", "q2": "sandals"}
    with pytest.raises(ValueError, match="expected an id, a tab and a text, got 'q1 navy'"):
        judgements.topics(written(tmp_path, "wrong.tsv", "q1 navy\n"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("q.csv", "query,id\nshirt,a\nshirt,\n", "row 2: expected a query and an id"),
        ("q.jsonl", '{"query": "shirt", "id": "a"}\n[]\n', "row 2: expected a query and an id"),
        ("q.txt", "q1 0 a 1\nq1 a\n", "row 2: expected 4 or 6 columns"),
        (
            "q.csv",
            "query,id,grade\nshirt,a,good\n",
            "row 1: expected a number, got 'good' as grade",
        ),
        ("q.csv", "query,id,grade\nshirt,a,2\nshirt,b,\n", "row 2: expected a number, got ''"),
        ("q.csv", "query,id,grade\nshirt,a,2\nshirt,b\n", "row 2: expected a number, got ''"),
        ("q.jsonl", '{"query": "q", "id": "a", "grade": null}\n', "row 1: .* got None as grade"),
        ("q.jsonl", '{"query": "q", "id": "a", "score": [2]}\n', r"row 1: .* got \[2\] as score"),
        (
            "q.csv",
            "query,id,rel\nshirt,a,2\n",
            r"row 1: none of the columns \['query', 'id', 'rel'\] is a value: name one grade, "
            "relevance, weight, score or rank, or leave",
        ),
        ("q.jsonl", '{"query": "q", "id": "a", "clicks": 2}\n', "row 1: none of .*'clicks'"),
        ("q.csv", "query,id,grade,Grade\nshirt,a,2,1\n", "row 1: the column 'grade' comes twice"),
        ("q.csv", "query;id\nred; big;a\n", 'row 1: more cells .* "…" around texts with semi'),
        ("q.csv", "query,id\n ,a\n", "row 1: expected a query and an id"),
        (
            "q.csv",
            "query,id,score\nshirt,a,2\nshirt,b,nan\n",
            "row 2: expected a number, got 'nan'",
        ),
        ("q.jsonl", '{"query": "shirt", "id": "a", "grade": NaN}\n', "row 1: expected a number"),
        ("q.run", "q1 Q0 a 1 nan bm25\n", "row 1: expected a number, got 'nan'"),
        ("q.csv", "query,id\n", "holds no rows"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        judgements.read(written(tmp_path, name, text))


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="there is no file"):
        judgements.read(tmp_path / "q.csv")
