from training import measurements


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


def test_the_last_epoch_is_kept(tmp_path):
    file = tmp_path / "measurements.jsonl"
    run = {"seed": 0, "epochs": [{"epoch": 1}, {"epoch": 2}]}
    measurements.add(file, {"run-0": run})
    assert measurements.read(file) == {"run-0": {"seed": 0, "epochs": [{"epoch": 2}]}}
    assert len(run["epochs"]) == 2
