from pathlib import Path

import pytest

from training.report import measurements


def test_a_line_of_the_same_name_is_replaced_where_it_is(tmp_path):
    file = tmp_path / "new" / "measurements.jsonl"
    assert measurements.read(file) == {}
    measurements.add(file, {"one": {"bleu": 1}, "two": {"bleu": 2}})
    measurements.add(file, {"three": {"bleu": 3}, "one": {"bleu": 4}})
    assert list(measurements.read(file).items()) == [
        ("one", {"bleu": 4}),
        ("two", {"bleu": 2}),
        ("three", {"bleu": 3}),
    ]
    assert file.read_text().splitlines()[1] == '{"run": "two", "bleu": 2}'


def test_the_last_epoch_is_kept_and_the_curve_of_all(tmp_path):
    file = tmp_path / "measurements.jsonl"
    terms = [{"fragments": 2.0}, {"fragments": 0.7}]
    run = {
        "seed": 0,
        "epochs": [
            {"epoch": k + 1, "loss": 3.0 - k, "terms": terms[k], "recall_sum": None, "seconds": 9}
            for k in (0, 1)
        ],
    }
    measurements.add(file, {"run-0": run})
    stored = measurements.read(file)["run-0"]
    assert [epoch["epoch"] for epoch in stored["epochs"]] == [2]
    assert [epoch["terms"] for epoch in stored["curve"]] == terms
    assert stored["curve"][0] == {"loss": 3.0, "terms": terms[0], "recall_sum": None}
    measurements.add(file, {"run-1": stored})  # a stored line keeps its curve
    assert measurements.read(file)["run-1"] == stored
    assert len(run["epochs"]) == 2


def test_a_run_is_named_by_its_folder_and_a_measurement_by_its_file():
    assert measurements.name_of(Path("runs/bow-0/run.json")) == "bow-0"
    assert measurements.name_of(Path("matcher-val.json")) == "matcher-val"


@pytest.mark.parametrize("line", ["{", "[]", "3", '{"bleu": 1}', '{"run": []}', ""])
def test_a_line_without_a_run_is_refused_by_its_number(tmp_path, line):
    file = tmp_path / "measurements.jsonl"
    file.write_text('{"run": "one"}\n' + line + "\n")
    with pytest.raises(ValueError, match="line 2: no JSON object with its"):
        measurements.read(file)


def test_a_folder_of_files_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"is a folder: name a file of lines"):
        measurements.read(tmp_path)


def test_a_second_line_of_a_run_is_refused_by_its_number(tmp_path):
    file = tmp_path / "measurements.jsonl"
    file.write_text('{"run": "one"}\n' * 2)
    with pytest.raises(ValueError, match="line 2: a second line of one, delete one"):
        measurements.read(file)


def test_a_photo_is_no_file_of_measurements(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8\xff")
    with pytest.raises(ValueError, match=r"a\.jpg, line 1: no JSON object"):
        measurements.read(tmp_path / "a.jpg")
