import json
from dataclasses import replace

import pytest
import torch

from models import checkpoint, header
from training.data.corpus import Corpus, Example
from training.matchers import train as run
from training.matchers.build import build
from training.matchers.preset import parse
from training.runs.folder import RunPlace


def weights(path):
    return checkpoint.load(path).model.state_dict()


def words_and_regions(image=(), text=()):
    """A [model] table of small towers."""
    return {
        "image": {"name": "regions", "sizes": [32], "embedding": 4, **dict(image)},
        "text": {"name": "pairs", "pairs": "words", "embedding": 4, **dict(text)},
    }


def test_a_tuned_backbone_learns_from_where_another_run_ended_and_is_in_the_checkpoint(
    few, cache, tmp_path
):
    place = RunPlace(tmp_path, cache)
    schedule = {"epochs": 1, "batch": 4, "precision": "bfloat16"}
    objective = [{"name": "ranking", "margin": 0.1}]
    rates = {"learning_rate": 1e-3, "rates": {"image.sight": 0.1}}
    model, tuned = words_and_regions(), words_and_regions({"tuned": True})
    first = parse("first", {"model": model, "objective": objective, "schedule": schedule})
    start = run.train(first, few, place)
    tables = {"objective": objective, "optimizer": rates, "schedule": schedule}
    tuned = parse("tuned", {"model": tuned, **tables})
    best = run.train(tuned, few, replace(place, start=start))
    before, after = weights(start), weights(best)
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert "image.regions.project.weight" in moved
    assert any(name.startswith("image.sight.features.backbone") for name in moved)
    assert not any("standardize" in name for name in moved)
    told = json.loads((best.parent / "run.json").read_text())
    assert told["start"] == header.fingerprint(start)
    with pytest.raises(ValueError, match="made with another start"):
        run.train(tuned, few, place, resume=True)


def test_a_checkpoint_that_does_not_fit_the_preset_is_no_start(preset, few, cache, tmp_path):
    start = run.train(preset.with_epochs(1), few, RunPlace(tmp_path, cache))
    place = RunPlace(tmp_path, cache, start=start)
    with pytest.raises(ValueError, match="and cannot start from towers cells"):
        run.train(parse("other", {"model": words_and_regions()}), few, place)
    sides = {"image": "cells", "text": "known_words"}
    model = {side: {"name": name, "dimension": 64} for side, name in sides.items()}
    wider = parse("wider", {"model": model})
    with pytest.raises(
        ValueError, match=r"image\.dimension is 64, in the checkpoint 32; text\.dim"
    ):
        run.train(wider, few, place)


def test_a_start_that_saw_other_regions_or_fragments_or_by_another_cnn_is_refused(
    few, cache, tmp_path
):
    train = few.split("train")
    tables = {"objective": [{"name": "ranking", "margin": 0.1}], "schedule": {"epochs": 1}}
    preset = parse("one", {"model": words_and_regions(), **tables})
    loaded = checkpoint.load(run.train(preset, few, RunPlace(tmp_path, cache)))
    others = [({"sizes": [64]}, {}), ({"proposals": "frame"}, {}), ({}, {"pairs": "dependencies"})]
    for other in others:
        with pytest.raises(ValueError, match="the checkpoint to start from"):
            build(parse("other", {"model": words_and_regions(*other)}), train, loaded)
    loaded.model.image.sight.tuned = True
    with pytest.raises(ValueError, match="set tuned = true"):
        build(preset, train, loaded)


def test_a_missing_start_leaves_no_folder(preset, few, cache, tmp_path):
    with pytest.raises(LookupError, match="no checkpoint at"):
        run.train(
            preset, few, RunPlace(tmp_path / "runs", cache, start=tmp_path / "none.safetensors")
        )
    assert not (tmp_path / "runs").exists()


def test_learned_proposals_do_not_go_with_a_tuned_backbone(few):
    model = words_and_regions({"tuned": True, "proposals": "learned"})
    with pytest.raises(ValueError, match="use proposals = 'windows'"):
        build(parse("both", {"model": model}), few.split("train"))


def test_a_run_that_is_drawn_back_to_its_start_is_resumed_as_if_never_broken_off(
    preset, few, cache, tmp_path, interrupt
):
    first = run.train(preset.with_epochs(1), few, RunPlace(tmp_path / "first", cache))
    tables = {
        "start": {"checkpoint": "matcher", "share": 0.5},
        "objective": {"name": "contrastive"},
        "schedule": {"epochs": 2, "batch": 10},
    }
    learner = parse("drawn", tables, start=first)
    whole = run.train(learner, few, RunPlace(tmp_path / "whole", cache, start=first))
    broken = RunPlace(tmp_path / "broken", cache, start=first)
    interrupt(lambda: run.train(learner, few, broken))
    resumed = weights(run.train(learner, few, broken, resume=True))
    expected = weights(whole)
    assert all(torch.equal(one, expected[name]) for name, one in resumed.items())


def test_a_catalogue_is_learned_from_a_checkpoint_and_drawn_back_to_it(
    preset, scenes, corpus, cache, tmp_path
):
    first = run.train(preset.with_epochs(2), corpus, RunPlace(tmp_path / "first", cache))
    tables = {
        "start": {"checkpoint": "matcher", "share": 0.25},
        "catalogue": {"rounds": 2, "alike": 4},
        "objective": {"name": "contrastive"},
        "schedule": {"epochs": 1, "batch": 10},
    }
    learner = parse("shop", tables, start=first)
    shop = [
        Example(one.id, one.image, (kind, f"one {kind}"), weights=(1.0, 2.0), kind=kind)
        for n, one in enumerate(corpus.split("train")[:40])
        for kind in [("circle", "square")[n % 2]]
    ]
    lesson = Corpus("shop", {"train": tuple(shop[:30]), "val": tuple(shop[30:])})
    best = run.train(learner, lesson, RunPlace(tmp_path, cache, start=first))
    state = torch.load(best.parent / "last.pt", weights_only=True)
    begun, learned, kept = weights(first), state["weights"], weights(best)
    trained = [name for name, mean in state["average"].items() if mean.ndim]
    assert trained
    for name in trained:
        expected = 0.75 * learned[name] + 0.25 * begun[name]
        torch.testing.assert_close(kept[name], expected, atol=2e-3, rtol=2e-3)
    told = json.loads((best.parent / "run.json").read_text())
    assert told["start"] == header.fingerprint(first)
    # Each of the four texts is right with any of its five photos.
    assert told["epochs"][0]["validation"]["search"]["median_rank"] <= 6
