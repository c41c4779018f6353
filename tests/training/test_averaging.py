import pytest
import torch
from typer.testing import CliRunner

from models import checkpoint, classes
from models.checkpoint import Checkpoint
from models.matcher import Config, Matcher
from training import run
from training.averaging import average, averaged_facts, matchers
from training.cli import app
from training.evaluation.measure import measure
from training.folder import Place

CONFIG = {
    "image": {"name": "cells", "options": {"dimension": 8}},
    "text": {"name": "minilm", "options": {"embedding": 8, "frozen_layers": 5, "names": True}},
}


def moved(seed):
    """A matcher whose weights have all moved away from their start."""
    torch.manual_seed(seed)
    matcher = Matcher(Config(**CONFIG))
    for weight in matcher.parameters():
        if weight.requires_grad:
            torch.nn.init.normal_(weight)
    return matcher


def test_weights_that_begin_at_random_are_the_mean():
    one, other = moved(0), moved(1)
    mean = average([one, other], start=0.3)
    expected = (one.image.regions[0].weight + other.image.regions[0].weight) / 2
    torch.testing.assert_close(mean.image.regions[0].weight, expected)


def test_known_weights_are_drawn_back_towards_their_start():
    one, other = moved(0), moved(1)
    mean = average([one, other], start=0.25)
    start = classes.directions(8).T
    expected = 0.75 * (one.text.project.weight + other.text.project.weight) / 2 + 0.25 * start
    torch.testing.assert_close(mean.text.project.weight, expected)
    pretrained = Matcher(Config(**CONFIG)).text.upper.state_dict()
    for name, weight in average([one], start=1).text.upper.state_dict().items():
        torch.testing.assert_close(weight, pretrained[name])


def test_the_average_of_one_matcher_is_that_matcher():
    one = moved(0)
    expected = one.state_dict()
    for name, weight in average([one], start=0).state_dict().items():
        assert torch.equal(weight, expected[name]), name


def test_matchers_of_different_options_are_refused():
    text = CONFIG["text"]
    other = Config(**CONFIG | {"text": text | {"options": text["options"] | {"rarity": 0.1}}})
    loaded = [
        Checkpoint("matchers", "x", Matcher(config), "f", {}) for config in (moved(0).config, other)
    ]
    with pytest.raises(ValueError, match="average runs of one preset and data"):
        matchers(loaded)


def test_an_average_names_the_seeds_of_its_parts():
    facts = {"preset": {}, "data": {}, "versions": {}, "epoch": 3}
    loaded = [
        Checkpoint("matchers", "x", None, f"f{seed}", facts | {"seed": seed}) for seed in (0, 1)
    ]
    told = averaged_facts(loaded, 0.3)
    assert (told["seed"], told["averaged"], told["start"]) == ("0 + 1", ["f0", "f1"], 0.3)
    assert "epoch" not in told


def test_the_command_writes_a_checkpoint_that_is_evaluated(preset, corpus, scenes, cache, tmp_path):
    files = [
        run.train(preset.with_epochs(2), corpus, Place(tmp_path, cache, seed=seed))
        for seed in (0, 1)
    ]
    out = tmp_path / "mean.safetensors"
    told = ["average", *files, "--data", scenes, "--cache", cache, "--out", out]
    result = CliRunner().invoke(app, [str(argument) for argument in told])
    assert result.exit_code == 0, result.output
    loaded = checkpoint.load(out)
    found = measure(loaded.model, corpus.split("val"), {}).retrieval
    kept = loaded.facts["validation"]
    assert kept["search"]["recall_1"] == pytest.approx(found.search.recall_1, abs=2)
    assert f"sum {found.recall_sum:.0f}"[:-1] in result.output
