"""One loop trains every part; broken runs resume exactly."""

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from training.captioners import train as captioning
from training.captioners.preset import CaptionerPreset
from training.data import entities
from training.grounders import preset as grounder_presets
from training.grounders import train as grounding
from training.proposers import preset as proposer_presets
from training.proposers import train as proposals
from training.runs.folder import Reporter, RunFolder, RunPlace
from training.runs.optimization import Optimizer, Schedule

SHORT = Schedule(2, batch=4, average=0.9)
TINY = {"views": ("lite0@64",), "proposals": "windows", "embedding": 8, "hidden": 8}
CAPTIONER = CaptionerPreset(
    "multimodal_rnn", TINY, Optimizer(learning_rate=2e-3), SHORT, least_count=1
)
BOTH = grounder_presets.read("mined-both")
GROUNDER = replace(BOTH, schedule=SHORT, objective=replace(BOTH.objective, mined=1))
PARTS = {
    "captioner": lambda corpus, truth, *given, **more: captioning.train(
        corpus, *given, CAPTIONER, **more
    ),
    "proposals": lambda *given, **more: proposals.train(
        *given, proposer_presets.ProposerPreset({"size": 64}, schedule=SHORT), **more
    ),
    "grounder": lambda *given, **more: grounding.train(*given, GROUNDER, **more),
}


@pytest.fixture(scope="session")
def truth(scenes):
    return entities.read(entities.find(scenes))


def stop(record):
    """Stop as a user at the first epoch's end."""
    raise KeyboardInterrupt(record.epoch)


@pytest.mark.parametrize("part", PARTS)
def test_a_broken_off_run_of_any_part_goes_on_and_equals_an_unbroken_one(
    part, few, truth, cache, tmp_path
):
    train = PARTS[part]
    whole, broken = (
        RunPlace(tmp_path / f"{name}.safetensors", cache) for name in ("whole", "broken")
    )
    measured = train(few, truth, whole)
    with pytest.raises(KeyboardInterrupt):
        train(few, truth, broken, reporter=Reporter(report=stop))
    assert not broken.out.exists()
    with pytest.raises(
        ValueError, match=r"broken\.run holds a run: .* or write another file than broken\.safe"
    ):
        train(few, truth, broken)
    torch.rand(7)  # other draws in between
    assert train(few, truth, broken, resume=True) == measured
    expected = load_file(whole.out)
    assert all(torch.equal(one, expected[name]) for name, one in load_file(broken.out).items())
    assert train(few, truth, broken, resume=True) == measured  # nothing is left to do


def test_a_run_of_other_options_is_not_resumed(few, cache, tmp_path):
    place = RunPlace(tmp_path / "captioner.safetensors", cache)
    with pytest.raises(KeyboardInterrupt):
        captioning.train(few, place, CAPTIONER, reporter=Reporter(report=stop))
    other = replace(CAPTIONER, label_smoothing=0.2)
    with pytest.raises(
        ValueError, match=r"another recipe \(recipe\.label_smoothing is 0\.2, was 0\.0\): start"
    ):
        captioning.train(few, place, other, resume=True)
    with pytest.raises(LookupError, match="holds no run to resume"):
        captioning.train(few, RunPlace(tmp_path / "x.safetensors", cache), CAPTIONER, resume=True)


def test_the_options_that_differ_from_a_run_are_named(tmp_path):
    def folder(**facts):
        return RunFolder(tmp_path, tmp_path / "a.safetensors", "captioners", "a", facts)

    folder(preset={"schedule": {"epochs": 2, "batch": 4}, "drop": 0.5}, seed=1).write([])
    same = folder(preset={"schedule": {"epochs": 2, "batch": 4}, "drop": 0.5, "new": 0}, seed=1)
    assert same.changed == []
    other = folder(preset={"schedule": {"epochs": 3, "batch": 4}, "new": 1}, seed=2)
    assert other.changed == ["preset", "seed"]
    assert other.describe_changes() == (
        "preset, seed (preset.drop is off, was 0.5; preset.new is 1, was off; "
        "preset.schedule.epochs is 3, was 2; and 1 more)"
    )
