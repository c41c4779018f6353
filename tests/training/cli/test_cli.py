import json
from dataclasses import replace

import pytest

from tests.training.commands import tessera
from training.cli.results import describe_left, describe_plan
from training.matchers.preset import read
from training.report.reproduce import Training
from training.runs.folder import RunPlace

PRESET = """
model.image.name = "cells"
model.text.name = "known_words"
objective.name = "contrastive"
[schedule]
batch = 20
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A corpus by the command, and a preset file."""
    folder = tmp_path_factory.mktemp("world")
    tessera("scenes", folder / "scenes", "--train", 40, "--val", 10)
    (folder / "cells.toml").write_text(PRESET)
    return folder


def train(world, out, *more, code=0):
    where = ("--data", world / "scenes", "--out", out, "--cache", world / "features")
    return tessera("train", world / "cells.toml", *where, *more, code=code)


def test_a_trained_checkpoint_is_evaluated_and_its_numbers_written(world, tmp_path):
    said = train(world, tmp_path, "--epochs", 2, "--seed", 3)
    best = tmp_path / "cells-3" / "matcher.safetensors"
    assert "epoch 2 loss" in said
    for name in ("curves.png", "examples.png"):
        assert (best.parent / name).read_bytes().startswith(b"\x89PNG")
    numbers = tmp_path / "numbers.json"
    said = tessera("evaluate", best, "--data", world / "scenes", "--json", numbers)
    assert "10 photos, 30 sentences" in said
    assert "60 phrases" in said
    told = json.loads(numbers.read_text())
    assert told["split"] == "val"
    assert 0 <= told["retrieval"]["search"]["recall_1"] <= 100
    assert told["grounding"]["phrases"] == 60
    run = json.loads((best.parent / "run.json").read_text())
    assert told["digest"] == run["data"]["digest"]
    of_epochs = run["epochs"]
    sums = [epoch["recall_sum"] for epoch in of_epochs]
    learned = of_epochs[sums.index(max(sums))]["validation"]
    for measure, value in told["similarity"].items():
        assert learned["similarity"][measure] == pytest.approx(value, rel=0.05)
    run_state = best.with_name("last.pt")
    assert "the model is" in tessera("evaluate", run_state, "--data", world / "scenes", code=2)


def test_what_is_solved_for_has_no_epoch_and_is_measured_on_val(world, tmp_path):
    (world / "solved.toml").write_text('extends = "cells.toml"\nschedule.epochs = 0\n')
    where = ("--data", world / "scenes", "--out", tmp_path, "--cache", world / "features")
    said = tessera("train", world / "solved.toml", *where)
    assert "val: image → text" in said
    assert "epoch" not in said


def test_a_folder_that_cannot_be_written_is_named(world, tmp_path):
    (tmp_path / "file").touch()
    for option in ("--out", "--cache"):
        where = {
            "--out": tmp_path / "out",
            "--cache": world / "features",
            option: tmp_path / "file/x",
        }
        options = [part for pair in where.items() for part in pair]
        command = ("train", world / "cells.toml", "--data", world / "scenes", *options)
        said = tessera(*command, "--epochs", 1, "--seed", 5, code=1)
        assert f"error: {tmp_path / 'file'}" in said
        assert "Not a directory" in said


def test_a_preset_for_much_data_takes_a_short_try_on_little_and_says_how(world, tmp_path):
    (world / "long.toml").write_text(
        'extends = "cells.toml"\nhold_out = 500\nschedule.drops = [2]\n'
    )
    where = ("--data", world / "scenes", "--out", tmp_path, "--cache", world / "features")
    said = tessera("train", world / "long.toml", *where, "--photos", 12, "--epochs", 1)
    assert "hold_out is 3 instead of 500 photos: at most a quarter of train" in said
    assert "the rate drops after epoch 1 of 1 instead of 2 of" in said
    run = json.loads((tmp_path / "long-12-photos-0" / "run.json").read_text())
    assert (run["preset"]["photos"], run["preset"]["hold_out"]) == (12, 3)


def test_photos_with_labels_join_a_training_and_its_average(world, tmp_path):
    rows = [
        {"id": f"seen {k}", "image": f"images/{k:05}.jpg", "labels": [["red"], ["blue"]][k % 2]}
        for k in range(20)
    ]
    labels = world / "scenes" / "labels" / "seen.jsonl"
    labels.parent.mkdir()
    rows = [{**row, "image": f"../{row['image']}", "split": "train"} for row in rows]
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (world / "seen.toml").write_text(
        'extends = "cells.toml"\nlabels.photos = 8\n'
        'objective = [{ name = "contrastive" }, { name = "labels" }]\n'
    )
    where = ("--data", world / "scenes", "--cache", world / "features", "--labels", labels)
    begun = ("--out", tmp_path, "--photos", 12, "--epochs", 1)
    tessera("train", world / "seen.toml", *where, *begun)
    run = json.loads((tmp_path / "seen-12-photos-0" / "run.json").read_text())
    assert run["data"]["name"] == "scenes + seen"
    assert run["epochs"][0]["terms"]["labels"] > 0
    best = tmp_path / "seen-12-photos-0" / "matcher.safetensors"
    assert "R@1" in tessera("average", best, *where, "--out", tmp_path / "mean.safetensors")
    said = tessera("train", world / "cells.toml", *where, "--out", tmp_path, code=1)
    assert "--labels and [labels] in the preset" in said


def test_mistakes_are_told_in_a_sentence(world, tmp_path):
    assert "error: no preset 'x'; there are:" in tessera(
        "train", "x", "--data", world / "scenes", code=1
    )
    assert "holds no corpus" in tessera("train", world / "cells.toml", "--data", tmp_path, code=1)
    assert "no checkpoint at" in tessera(
        "evaluate", tmp_path / "x.safetensors", "--data", world / "scenes", code=1
    )
    train(world, tmp_path, "--epochs", 1)
    best = tmp_path / "cells-0" / "matcher.safetensors"
    assert "no split 'test'; it has: train, val" in tessera(
        "evaluate", best, "--data", world / "scenes", "--split", "test", code=1
    )
    begun = train(world, tmp_path, "--epochs", 1, code=1)
    assert "holds a run: go on with it by --resume, or choose another --out" in begun


@pytest.mark.usefixtures("without_meteor")
def test_a_captioner_is_trained_and_evaluated(tmp_path):
    file, numbers = tmp_path / "captioner.safetensors", tmp_path / "numbers.json"
    tessera("scenes", tmp_path / "scenes", "--train", 8, "--val", 4)
    where = ("--data", tmp_path / "scenes", "--cache", tmp_path / "features")
    assert "BLEU-1 to 4 on val" in tessera("train-captioner", file, *where)
    output = tessera("evaluate", file, "--data", tmp_path / "scenes", "--json", numbers)
    assert "METEOR not measured: install it" in output
    told = json.loads(numbers.read_text())
    assert told["name"] == "attentive"
    assert len(told["bleu"]) == 4
    page = tmp_path / "results.md"
    tessera("report", tmp_path / "measurements.jsonl", page, "--add", numbers)
    assert "## Captions" in page.read_text()
    run = tmp_path / "captioner.run" / "run.json"
    refused = tessera("report", tmp_path / "measurements.jsonl", page, "--add", run, code=1)
    assert f"error: {run} is the run of a captioner" in refused
    assert "## Captions" in page.read_text()


def test_a_grounder_says_its_localisation_in_words(world, tmp_path):
    preset, file = tmp_path / "short.toml", tmp_path / "grounder.safetensors"
    preset.write_text(
        'extends = "grounders/supervised"\nschedule.epochs = 1\nobjective.mined = 0\n'
        'model.proposals = "windows"\n'
    )
    data = ("--data", world / "few", "--cache", tmp_path / "features")
    tessera("scenes", world / "few", "--train", 4, "--val", 2)
    output = tessera("train-grounder", file, *data, "--preset", preset)
    assert f"{file}: 12 phrases: R@1 / 5 / 10 at IoU ≥ 0.5 " in output
    assert "{" not in output
    boxes = world / "few" / "scenes.jsonl"
    for command in ("train-grounder", "train-proposals"):
        other = tmp_path / "other.safetensors"
        refused = tessera(command, other, *data, "--boxes", boxes, code=1)
        assert f"error: {boxes} is not JSON" in refused


def test_rows_are_reproduced_and_told_beforehand(world, tmp_path):
    where = ("--data", world / "scenes", "--out", tmp_path, "--cache", world / "features")
    kept = (
        "--results",
        tmp_path / "measurements.jsonl",
        "--page",
        tmp_path / "docs" / "results.md",
    )
    short = tmp_path / "short.toml"
    short.write_text(PRESET + "epochs = 2\n")
    command = ("reproduce", *where, "--only", short, "--seeds", 2, *kept)
    said = tessera(*command)
    assert "0 of 2 trainings are finished. To do: short-0 (2 epochs), short-1 (2 epochs)." in said
    assert "no earlier run to go by: short." in said
    assert "| short | 2 |" in (tmp_path / "docs" / "results.md").read_text()
    assert "2 of 2 trainings are finished." in tessera(*command)
    short.write_text(PRESET + "epochs = 1\n")
    assert "short-0 was made with other options than its preset has now" in tessera(*command)


def test_a_training_without_epochs_is_planned_as_solved(tmp_path):
    place = RunPlace(tmp_path, tmp_path)
    plans = {
        preset: Training(read(preset), place, done=0, begun=False, changed=False)
        for preset in ("cca", "dvsa")
    }
    assert "cca-0 (solved, without epochs)" in describe_plan([plans["cca"]], {})
    assert describe_left(plans["dvsa"]) == f"{read('dvsa').schedule.epochs} epochs"
    assert describe_left(replace(plans["dvsa"], preset=read("dvsa").with_epochs(1))) == "1 epoch"


def test_runs_of_parts_do_not_disturb_a_reproduction(world, tmp_path):
    part = tmp_path / "captioner.run" / "run.json"
    part.parent.mkdir()
    part.write_text('{"recipe": {}, "epochs": [{"seconds": 3}]}')
    short = tmp_path / "short.toml"
    short.write_text(PRESET + "epochs = 1\n")
    where = ("--data", world / "scenes", "--out", tmp_path, "--cache", world / "features")
    stored = ("--results", tmp_path / "x.jsonl", "--page", tmp_path / "x.md")
    output = tessera("reproduce", *where, "--only", short, "--seeds", 1, *stored)
    assert "To do: short-0 (1 epoch)." in output


def test_presets_for_adopted_encoders_have_no_row_to_reproduce(world, tmp_path):
    said = tessera(
        "reproduce", "--data", world / "scenes", "--out", tmp_path, "--only", "titles", code=1
    )
    assert "use `tessera train titles --start CHECKPOINT`" in said
