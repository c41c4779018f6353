import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from training.cli import app
from training.cli.judging import make_table
from training.evaluation.relevance import Comparison


@pytest.fixture
def files(tmp_path):
    rows = {
        "judged.csv": "query,id,grade\nblue shirt,a,2\nblue shirt,b,1\nred shoe,c,1\n",
        "before.csv": "query,id,score\nblue shirt,x,2.0\nblue shirt,a,1.0\n",
        "after.csv": "query,id,score\nblue shirt,a,2.0\nblue shirt,b,1.0\nred shoe,c,1.0\n",
    }
    for name, text in rows.items():
        (tmp_path / name).write_text(text)
    return [str(tmp_path / name) for name in rows]


def test_two_runs_are_judged_side_by_side(files, tmp_path):
    numbers = tmp_path / "numbers.json"
    result = CliRunner().invoke(app, ["judge", *files, "--json", str(numbers)])
    assert result.exit_code == 0, result.output
    assert "2 queries with an answer" in result.output
    measures = {one["measure"]: one for one in json.loads(numbers.read_text())["measures"]}
    assert measures["P@5"]["means"] == pytest.approx([0.1, 0.3])
    assert measures["nDCG@10"]["means"][1] == 1
    assert measures["RR@10"]["p"] == 0.5


def test_a_run_of_ranks_is_judged_against_grades_of_another_heading(tmp_path):
    judged, run = tmp_path / "judged.csv", tmp_path / "run.csv"
    judged.write_text("Query;ID;Grade\nred;a;2\nred;b;1\n")
    run.write_text("query,id,rank\nred,b,2\nred,a,1\n")
    numbers = tmp_path / "numbers.json"
    result = CliRunner().invoke(app, ["judge", *map(str, (judged, run)), "--json", str(numbers)])
    assert "1 query with an answer" in result.output
    measures = {one["measure"]: one for one in json.loads(numbers.read_text())["measures"]}
    assert measures["nDCG@10"]["means"] == [1]


def test_a_mistake_is_told_in_a_sentence(files):
    result = CliRunner().invoke(app, ["judge", *files[:2], "--measure", "speed"])
    assert result.exit_code == 1
    assert "error: no measure 'speed'" in result.output


def test_what_an_extra_brings_is_named_where_it_is_missing(files, monkeypatch):
    monkeypatch.delitem(sys.modules, "training.evaluation.relevance", raising=False)
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    result = CliRunner().invoke(app, ["judge", *files[:2]])
    assert result.exit_code == 1
    plain = " ".join(result.output.split())
    assert "error: ir_measures is not installed: make install EXTRAS=train" in plain


def test_a_missing_module_of_no_extra_is_no_mistake_of_the_caller(files, monkeypatch):
    monkeypatch.delitem(sys.modules, "training.evaluation.relevance", raising=False)
    monkeypatch.setitem(sys.modules, "numpy", None)
    result = CliRunner().invoke(app, ["judge", *files[:2]])
    assert isinstance(result.exception, ModuleNotFoundError)


def test_judgements_are_no_run(files):
    result = CliRunner().invoke(app, ["judge", files[0], files[0]])
    assert result.exit_code == 1
    assert "holds the judgements: give a run" in " ".join(result.output.split())


def test_a_run_of_other_queries_is_named(files, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("query,id,score\nhat,a,2.0\n")
    result = CliRunner().invoke(app, ["judge", *files[:2], str(other)])
    assert result.exit_code == 1
    expected = "has none of the queries of {}: it has 'hat', the judgements have 'blue shirt'"
    assert expected.format(files[0]) in " ".join(result.output.split())


def test_a_negative_zero_is_printed_as_zero():
    comparison = Comparison("RR@10", (-0.0, -1e-9))
    (_, first, second, difference, *_) = make_table([comparison], [Path("a"), Path("b")]).columns
    assert [*first.cells, *second.cells, *difference.cells] == ["0.000", "0.000", "+0.000"]
