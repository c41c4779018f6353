import errno
import json
from io import StringIO
from pathlib import Path

import pytest
import torch
import typer
from PIL import UnidentifiedImageError
from rich.console import Console
from rich.text import Text
from typer.main import get_command

from models.vision import backbones
from tests.training.commands import tessera
from training.cli import app
from training.cli.options import (
    explain,
    plain_errors,
    read_described,
    refuse_absent,
    refuse_crowded,
    refuse_other_ending,
    refuse_state,
    report_shared,
    require_checkpoint_or_folder,
)


@pytest.mark.parametrize(
    ("device", "named", "chosen"),
    [("cpu", None, ["auto"]), ("cpu", "torch", ["torch"]), ("cuda", None, []), (None, None, [])],
)
def test_frozen_networks_run_as_in_a_service(device, named, chosen, monkeypatch):
    calls = list[str]()
    monkeypatch.setattr(backbones, "choose_inference", calls.append)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.delenv("TESSERA_INFERENCE")
    if named:
        monkeypatch.setenv("TESSERA_INFERENCE", named)
    with plain_errors(Console(), device=device):
        pass
    assert calls == chosen


@pytest.mark.parametrize("device", ["cuda:2", "cuda:", "gpu", "foo"])
def test_a_device_that_is_not_there_is_refused_with_those_that_are(device, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(typer.Exit), plain_errors(Console(width=40), device=device):
        raise AssertionError
    expected = f"error: there is no device '{device}' here: use cpu or cuda or cuda:0 or cuda:1"
    assert capsys.readouterr().out.startswith(expected)


def test_a_machine_without_gpus_has_its_processor_alone(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    refuse_absent("cpu")
    with pytest.raises(ValueError, match="no device 'cuda' here: use cpu"):
        refuse_absent("cuda")


def test_errors_of_the_disk_are_explained_by_their_place_and_faults_are_not():
    full = OSError(errno.ENOSPC, "No space left on device", "runs/run.json")
    assert explain(full) == "runs/run.json: No space left on device"
    assert explain(OSError(errno.EROFS, "Read-only file system")) == "Read-only file system"
    assert explain(ChildProcessError("workers were lost")) == "workers were lost"
    assert explain(BrokenPipeError(errno.EPIPE, "Broken pipe")) is None
    assert explain(UnidentifiedImageError("cannot identify a.jpg")) == "cannot identify a.jpg"
    assert explain(OSError()) is None
    with pytest.raises(RuntimeError), plain_errors(Console()):
        raise RuntimeError("a fault of ours")


@pytest.mark.parametrize(
    ("state", "model"),
    [("runs/dvsa-0/last.pt", "runs/dvsa-0/matcher.safetensors"),
     ("captioner.run/last.pt", "captioner.safetensors")],
)  # fmt: skip
def test_a_run_s_state_is_no_checkpoint_and_the_model_is_named(state, model):
    with pytest.raises(typer.BadParameter, match=f"the model is {model}"):
        refuse_state([Path("a.safetensors"), Path(state)])
    assert refuse_state(None) is None
    assert refuse_state(Path(model)) == Path(model)


@pytest.mark.parametrize(
    ("run", "model"),
    [("dvsa-0.5", "dvsa-0.5/matcher.safetensors"), ("captioner.run", "captioner.safetensors")],
)
def test_a_run_s_folder_is_no_checkpoint_and_its_model_is_named(run, model, tmp_path):
    (tmp_path / run).mkdir()
    assert refuse_state(tmp_path / run) == tmp_path / run
    (tmp_path / model).touch()
    with pytest.raises(typer.BadParameter, match=f"{run} is no checkpoint; the model is .*{model}"):
        refuse_state(tmp_path / run)


@pytest.mark.parametrize(
    ("command", "options"),
    [("evaluate", ["captioner.safetensors", "--matcher"]),
     ("calibrate", ["captioner.safetensors", "--matcher"]),
     ("blend", []),
     ("blend", ["new.safetensors"])],
)  # fmt: skip
def test_every_command_names_the_model_of_a_run(command, options):
    output = tessera(command, *options, "run/last.pt", code=2)
    assert "run/matcher.safetensors" in output


@pytest.mark.parametrize(
    ("device", "workers", "fitting", "remedy"),
    [("cuda", 3, 2, ""), ("cuda:1", 3, 1, ""), ("cuda:1", 2, 1, "--device cuda, ")],
)
def test_more_workers_than_gpus_are_refused_at_once(device, workers, fitting, remedy, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    refuse_crowded(fitting, device)
    refuse_crowded(8, "cpu")
    options = ("--data", "none", "--device", device, "--workers", workers)
    output = tessera("train", "scenes", *options, code=1)
    expected = f"--workers {workers} needs a GPU for each, and --device {device} has {fitting}: use"
    assert f"error: {expected} {remedy}--workers {fitting}, or --device cpu" in output


def test_no_part_of_a_help_text_is_taken_for_markup():
    commands = get_command(app).commands
    texts = [
        getattr(option, "help", None) or ""
        for command in commands.values()
        for option in command.params
    ]
    assert [text for text in texts if Text.from_markup(text).plain != text] == []


@pytest.mark.parametrize("command", ["calibrate", "add-kinds", "add-endings", "tune"])
def test_a_command_says_that_it_changes_its_checkpoint(command):
    assert "CHECKPOINT itself" in tessera(command, "--help").replace(" │ │ ", " ")


@pytest.mark.parametrize(
    ("command", "options"),
    [("train-captioner", []), ("train-grounder", []), ("train-proposals", []),
     ("extract-backbone", ["a.safetensors"]), ("average", ["a.safetensors", "--out"]),
     ("blend", ["a.safetensors", "b.safetensors", "--out"]), ("tune", ["a.safetensors", "--out"]),
     ("calibrate", ["a.safetensors", "--out"]), ("adopt", ["encoder", "--out"])],
)  # fmt: skip
def test_a_checkpoint_is_written_with_its_ending_alone(command, options, tmp_path):
    file = tmp_path / "z.txt"
    output = tessera(command, *options, file, code=2)
    assert "does not end in .safetensors" in output.replace(" │ │ ", " ")


def test_a_folder_is_taken_where_the_checkpoint_is_named(tmp_path):
    assert require_checkpoint_or_folder(tmp_path) == tmp_path
    assert refuse_other_ending(None) is None
    with pytest.raises(typer.BadParameter):
        refuse_other_ending(tmp_path)


def test_photos_without_sentences_and_photos_of_two_splits_are_reported(tmp_path):
    rows = [
        {"image": "a.jpg", "sentences": ["A dog ."]},
        {"image": "copy.jpg", "sentences": ["A dog ."], "split": "val"},
        {"image": "b.jpg", "sentences": []},
    ]
    (tmp_path / "pets.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("a.jpg", "copy.jpg"):
        (tmp_path / name).write_bytes(b"dog")
    console = Console(file=StringIO(), width=500)
    corpus = report_shared(console, read_described(console, tmp_path, None))
    assert {split: len(photos) for split, photos in corpus.splits.items()} == {"train": 1, "val": 1}
    lines = console.file.getvalue().splitlines()
    assert lines[0] == "1 photo without sentences is left out"
    assert lines[1].startswith(
        f"1 photo of val or test is in train, too, {tmp_path / 'copy.jpg'}: "
    )
