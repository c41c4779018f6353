import json
from dataclasses import replace

import pytest

from training.matchers import train as run
from training.report import measurements, reproduce
from training.report.reproduce import Publisher, estimate, measure_paces, plan
from training.report.systems import SYSTEMS
from training.runs.presets import list_names


@pytest.fixture
def publisher(tmp_path):
    return Publisher(tmp_path / "measurements.jsonl", tmp_path / "docs" / "results.md")


@pytest.fixture
def short(preset):
    return preset.with_epochs(2)


def epochs_of(run_file):
    return [epoch["epoch"] for epoch in run_file["epochs"]]


def test_every_seed_is_trained_and_stands_in_the_page(short, few, place, publisher):
    trainings = plan([short], few, place, seeds=2)
    assert [(one.name, one.left) for one in trainings] == [("cells-0", 2), ("cells-1", 2)]
    started = []
    assert reproduce.reproduce(trainings, few, publisher, on_start=started.append) == {}
    assert started == trainings
    assert list(measurements.read(publisher.results)) == ["cells-0", "cells-1"]
    assert "| – | cells | 2 |" in publisher.page.read_text()


def test_what_is_solved_for_is_done_once(short, few, place):
    solved = replace(short, name="solved", schedule=replace(short.schedule, epochs=0))
    names = [one.name for one in plan([short, solved], few, place, seeds=3)]
    assert names == ["cells-0", "solved-0", "cells-1", "cells-2"]


def test_what_is_finished_is_not_trained_again(short, few, place, publisher):
    best = run.train(short, few, place)
    made = best.stat().st_mtime_ns
    (one,) = plan([short], few, place, seeds=1)
    assert one.left == 0
    reproduce.reproduce([one], few, publisher)
    assert best.stat().st_mtime_ns == made
    assert epochs_of(measurements.read(publisher.results)["cells-0"]) == [2]


def test_an_interruption_loses_nothing(short, few, place, publisher):
    def stop_after_the_second(record):
        if record.epoch == 2:
            raise KeyboardInterrupt

    trainings = plan([short.with_epochs(3)], few, place, seeds=1)
    with pytest.raises(KeyboardInterrupt):
        reproduce.reproduce(trainings, few, publisher, on_epoch=stop_after_the_second)
    assert not publisher.page.exists()
    (rest,) = plan([short.with_epochs(3)], few, place, seeds=1)
    assert (rest.begun, rest.done, rest.left) == (True, 2, 1)
    told = []
    reproduce.reproduce([rest], few, publisher, on_epoch=told.append)
    assert [record.epoch for record in told] == [3]
    assert epochs_of(measurements.read(publisher.results)["cells-0"]) == [3]


def test_an_epoch_that_only_the_weights_tell_of_is_told_again(short, few, place, publisher):
    folder = run.train(short, few, place).parent
    told = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(told | {"epochs": told["epochs"][:1]}))
    (one,) = plan([short], few, place, seeds=1)
    assert one.left == 1
    reproduce.reproduce([one], few, publisher)
    assert epochs_of(json.loads((folder / "run.json").read_text())) == [1, 2]


def test_a_finished_run_of_an_earlier_preset_is_kept_and_told(short, few, place):
    run.train(short, few, place)
    (one,) = plan([short.with_epochs(1)], few, place, seeds=1)
    assert (one.left, one.changed) == (0, True)


def test_a_broken_off_run_of_an_earlier_preset_is_refused(short, few, place):
    run.train(short, few, place)
    with pytest.raises(
        ValueError, match=r"another preset \(preset\.schedule\.epochs is 3, was 2\): delete it"
    ):
        plan([short.with_epochs(3)], few, place, seeds=1)


def test_a_run_of_other_data_is_refused(short, few, place):
    folder = run.train(short, few, place).parent
    told = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(told | {"data": {"name": "other", "digest": ""}}))
    with pytest.raises(ValueError, match="made with another data"):
        plan([short], few, place, seeds=1)


def test_one_that_diverges_does_not_stop_the_others(short, preset, few, place, publisher):
    wild = replace(short, name="wild", optimizer=replace(preset.optimizer, learning_rate=1e30))
    broken = reproduce.reproduce(plan([wild, short], few, place, 1), few, publisher)
    assert list(broken) == ["wild-0"]
    assert "lower the learning rate" in broken["wild-0"]
    assert list(measurements.read(publisher.results)) == ["cells-0"]


def test_earlier_epochs_tell_how_long_the_rest_takes(short, few, place):
    earlier = {"preset": {"name": "cells"}, "epochs": [{"seconds": 60}, {"seconds": 40}]}
    captioner = {"recipe": {}, "epochs": [{"seconds": 9}]}
    paces = measure_paces([earlier, captioner, {"bleu": [60, 40, 26, 17]}])
    assert paces == {"cells": 50}
    trainings = plan([short], few, place, seeds=3)
    assert estimate(trainings, paces) == reproduce.Estimate(300, ())
    assert estimate(trainings, {}) == reproduce.Estimate(0, ("cells",))


def test_each_preset_has_one_row_but_for_the_try_and_what_starts_from_another():
    presets = [system.preset for system in SYSTEMS]
    # The last is for commercial use, and a catalogue is not Flickr8k.
    rowless = [
        "defrag-tuned",
        "defrag-windows",
        "lite2",
        "lite2-tuned",
        "lite2-world",
        "lite2-world-tuned",
        "products",
        "products-tuned",
        "scenes",
    ]
    rowless += ["tessera-windows", "tessera-world", "titles"]
    assert sorted([*presets, *rowless]) == list_names()
