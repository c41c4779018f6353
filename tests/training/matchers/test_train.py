import json
from dataclasses import replace
from importlib.metadata import version

import pytest
import torch

from models import checkpoint
from models.text.parsing import parser_key
from models.text_towers import branch
from models.types import PaddedBags
from training.data import entities
from training.data.corpus import Corpus
from training.evaluation.embedding import read_pixels
from training.evaluation.measure import measure
from training.matchers import train as run
from training.matchers.augmentation import Augmentation
from training.matchers.build import build
from training.matchers.frozen import FrozenInputs
from training.matchers.preset import parse
from training.runs.folder import Reporter, RunPlace
from training.runs.loop import Trainer


def weights(path):
    return checkpoint.load(path).model.state_dict()


def test_from_scenes_to_a_grounded_hit(preset, corpus, scenes, cache, tmp_path):
    best = run.train(preset, corpus, RunPlace(tmp_path, cache))
    loaded = checkpoint.load(best)
    truth = entities.read(entities.find(scenes))
    measured = measure(loaded.model, corpus.split("val"), truth)
    assert (measured.images, measured.sentences) == (60, 180)
    assert measured.retrieval.annotation.recall_1 > 25  # chance is 1.7
    assert measured.retrieval.search.recall_1 > 25  # chance is 1.7
    assert measured.grounding is not None
    assert measured.grounding.bound == 100
    assert measured.grounding.recall_1 > 90  # chance is 25
    # The service's path and the loop's validation, over the cache, agree.
    kept = loaded.facts["validation"]
    assert kept["search"]["recall_1"] == pytest.approx(measured.retrieval.search.recall_1, abs=2)


def test_a_resumed_run_equals_an_unbroken_one(preset, few, cache, tmp_path, monkeypatch):
    preset = preset.with_epochs(3)
    whole = run.train(preset, few, RunPlace(tmp_path / "whole", cache))
    broken, learn = RunPlace(tmp_path / "broken", cache), Trainer.learn

    def stop_in_the_second(trainer, progress):
        loss = learn(trainer, progress)
        if trainer.history:
            raise KeyboardInterrupt
        return loss

    monkeypatch.setattr(Trainer, "learn", stop_in_the_second)
    with pytest.raises(KeyboardInterrupt):
        run.train(preset, few, broken)
    monkeypatch.setattr(Trainer, "learn", learn)
    torch.rand(7)  # other draws in between
    resumed = run.train(preset, few, broken, resume=True)
    expected = weights(whole)
    assert all(torch.equal(one, expected[name]) for name, one in weights(resumed).items())
    losses = [
        [epoch["loss"] for epoch in json.loads((best.parent / "run.json").read_text())["epochs"]]
        for best in (whole, resumed)
    ]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 3


def test_a_seed_makes_one_run_and_another_seed_another(preset, few, cache, tmp_path):
    preset = preset.with_epochs(1)
    first, again, other = (
        weights(run.train(preset, few, RunPlace(tmp_path / name, cache, seed=seed)))
        for name, seed in (("first", 0), ("again", 0), ("other", 1))
    )
    assert all(torch.equal(one, again[name]) for name, one in first.items())
    assert not all(torch.equal(one, other[name]) for name, one in first.items())


def test_a_run_says_what_it_was_made_of(preset, few, cache, tmp_path):
    preset = preset.with_epochs(1)
    best = run.train(preset, few, RunPlace(tmp_path, cache, seed=4))
    assert best.parent.name == "cells-4"
    told = json.loads((best.parent / "run.json").read_text())
    assert (told["seed"], told["data"]["digest"]) == (4, few.digest())
    assert told["preset"]["optimizer"]["learning_rate"] == 5e-3
    assert told["versions"]["torch"]
    assert told["versions"]["tessera"] == version("tessera-search")
    assert told["epochs"][0]["seconds"] > 0
    assert checkpoint.load(best).facts["epoch"] == 1


def test_words_of_val_are_not_in_the_vocabulary(preset, corpus, cache, tmp_path):
    train = corpus.split("train")[:40]
    val = tuple(replace(one, sentences=("a zebra",) * 9) for one in corpus.split("val")[:5])
    best = run.train(
        preset.with_epochs(1),
        Corpus("few", {"train": train, "val": val}),
        RunPlace(tmp_path, cache),
    )
    words = checkpoint.load(best).model.text.config.words
    assert "zebra" not in words
    assert "circle" in words


def test_photos_that_are_held_out_choose_the_epoch_and_are_not_learned(
    preset, corpus, cache, tmp_path
):
    train = corpus.split("train")[:60]
    # The last of five held out is the last photo of train.
    train = (*train[:-1], replace(train[-1], sentences=("a zebra",) * 3))
    data = Corpus("few", {"train": train, "val": corpus.split("val")[:20]})
    chosen = replace(preset.with_epochs(2), hold_out=5)
    best = run.train(chosen, data, RunPlace(tmp_path, cache))
    told = json.loads((best.parent / "run.json").read_text())
    assert told["epochs"][0]["validation"]["search"]["mean_rank"] <= 5
    assert 5 < told["val"]["search"]["mean_rank"] <= 20
    assert "zebra" not in checkpoint.load(best).model.text.config.words
    del told["val"]  # as if it had been killed before val was measured
    (best.parent / "run.json").write_text(json.dumps(told))
    run.train(chosen, data, RunPlace(tmp_path, cache), resume=True)
    assert "val" in json.loads((best.parent / "run.json").read_text())
    with pytest.raises(ValueError, match="hold_out is 59, and train has 60 photos: take fewer"):
        run.train(replace(chosen, hold_out=59), data, RunPlace(tmp_path / "most", cache))
    alone = Corpus("one", data.splits | {"train": train[:1]})
    with pytest.raises(ValueError, match="train has too few photos with sentences, 1: give at"):
        run.train(preset, alone, RunPlace(tmp_path / "one", cache))


def test_half_of_the_photos_are_learned_mirrored_and_a_resumed_run_equals_an_unbroken_one(
    preset, few, cache, tmp_path
):
    turned = replace(preset.with_epochs(2), mirrored=True)
    whole = run.train(turned, few, RunPlace(tmp_path / "whole", cache))
    broken = RunPlace(tmp_path / "broken", cache)

    def stop(record):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.train(turned, few, broken, reporter=Reporter(report=stop))
    torch.rand(7)  # other draws in between
    expected = weights(whole)
    resumed = weights(run.train(turned, few, broken, resume=True))
    assert all(torch.equal(one, expected[name]) for name, one in resumed.items())
    plain = weights(run.train(preset.with_epochs(2), few, RunPlace(tmp_path, cache)))
    assert not all(torch.equal(one, expected[name]) for name, one in plain.items())

    matcher = checkpoint.load(whole).model
    train = few.split("train")
    pairs = FrozenInputs(matcher, broken, "float32").pairs(
        train, "train", augmentation=Augmentation(mirrored=True)
    )
    (inputs,) = matcher.image_inputs([read_pixels(train[0].image).flip(-1)])
    learned = torch.stack([pairs.draw_inputs([0])[0] for _ in range(200)])
    mirrored = (learned == pairs.mirrored[0]).flatten(1).all(1)
    torch.testing.assert_close(pairs.mirrored[0], inputs, rtol=1e-2, atol=1e-3)
    assert (learned[~mirrored] == pairs.images[0]).all()
    assert 60 < mirrored.sum() < 140


def test_what_no_step_moves_is_computed_once_and_a_resumed_run_equals_an_unbroken_one(
    few, cache, tmp_path, monkeypatch
):
    model = {
        "image": {"name": "branch", "sizes": [64], "embedding": 4, "hidden": 8},
        "text": {"name": "branch", "embedding": 4, "hidden": 8, "axes": 4, "components": 2,
                 "principal": 6},
    }  # fmt: skip
    tables = {"model": model, "objective": {"name": "structure", "top": 3}, "hold_out": 3}
    schedule = {"epochs": 2, "batch": 4, "sentences": 2, "clip": 1e6, "drops": [1]}
    wanted = parse("fisher", {**tables, "schedule": schedule})
    calls, fixed = [], branch.Model.precompute

    def counted(tower, inputs):
        calls.append(len(inputs.mask))
        return fixed(tower, inputs)

    monkeypatch.setattr(branch.Model, "precompute", counted)
    whole = run.train(wanted, few, RunPlace(tmp_path / "whole", cache))
    sentences = [
        len(example.sentences) for split in ("train", "val") for example in few.split(split)
    ]
    assert sum(calls) == sum(sentences)  # each once, in two epochs
    broken = RunPlace(tmp_path / "broken", cache)

    def stop(record):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.train(wanted, few, broken, reporter=Reporter(report=stop))
    resumed = run.train(wanted, few, broken, resume=True)
    expected = weights(whole)
    assert all(torch.equal(one, expected[name]) for name, one in weights(resumed).items())
    matcher = checkpoint.load(whole).model
    text = matcher.sentence_inputs(["a red circle"])
    bag = PaddedBags.of(text)
    with torch.inference_mode():
        encoded = matcher.encode_sentences(bag).vectors
        assert torch.equal(
            encoded,
            matcher.encode_sentences(matcher.text.precompute(bag), precomputed=True).vectors,
        )


def test_a_model_that_train_s_data_make_whole_needs_no_epoch(few, cache, tmp_path):
    model = {
        "image": {"name": "correlated", "sizes": [64], "embedding": 4},
        "text": {"name": "correlated", "embedding": 4},
        "correlation": {"ridge": 0.7},
    }
    solved = parse("solved", {"model": model, "schedule": {"epochs": 0}})
    best = run.train(solved, few, RunPlace(tmp_path, cache))
    (epoch,) = json.loads((best.parent / "run.json").read_text())["epochs"]
    assert (epoch["epoch"], epoch["loss"]) == (1, 0)
    assert checkpoint.load(best).model.text.sentence.mean.any()  # measured on train
    assert run.train(solved, few, RunPlace(tmp_path, cache), resume=True) == best


def test_a_model_is_told_the_relations_of_train_unless_the_preset_names_them(few):
    train = few.split("train")

    def text_tower(**options):
        text = {"name": "pairs", **options}
        preset = parse("edges", {"model": {"image": {"name": "regions"}, "text": text}})
        return build(preset, train).text

    learned = text_tower()
    assert "det" in learned.config.relations
    assert learned.config.parser == parser_key()
    assert len(learned.edges.bias) == 1 + len(learned.config.relations)
    named = text_tower(relations=["obj"])
    assert (named.config.relations, named.config.parser) == (("obj",), parser_key())
    bigrams = text_tower(pairs="bigrams")
    assert (bigrams.config.relations, bigrams.config.parser) == ((), "")  # they need no trees


def test_a_finished_folder_is_neither_overwritten_nor_mixed(preset, few, cache, tmp_path):
    one = preset.with_epochs(1)
    run.train(one, few, RunPlace(tmp_path, cache))
    with pytest.raises(ValueError, match="cells-0 holds a run"):
        run.train(one, few, RunPlace(tmp_path, cache))
    with pytest.raises(ValueError, match="made with another preset"):
        run.train(preset.with_epochs(2), few, RunPlace(tmp_path, cache), resume=True)
    with pytest.raises(LookupError, match="no run to resume: train without --resume"):
        run.train(one, few, RunPlace(tmp_path / "elsewhere", cache), resume=True)
    (tmp_path / "cells-0" / "last.pt").unlink()
    with pytest.raises(LookupError, match=r"has lost last\.pt and cannot be resumed"):
        run.train(one, few, RunPlace(tmp_path, cache), resume=True)


def test_a_run_of_before_an_option_is_resumed_where_the_option_is_off(preset, few, cache, tmp_path):
    best = run.train(preset.with_epochs(1), few, RunPlace(tmp_path, cache))
    record = best.parent / "run.json"
    told = json.loads(record.read_text())
    del told["preset"]["model"]["reference_sentences"], told["preset"]["model"]["offset_weights"]
    record.write_text(json.dumps(told))
    longer = preset.with_epochs(1)
    assert run.train(longer, few, RunPlace(tmp_path, cache), resume=True) == best
    told["preset"]["model"]["euclidean"] = True
    record.write_text(json.dumps(told))
    with pytest.raises(ValueError, match="another preset"):
        run.train(longer, few, RunPlace(tmp_path, cache), resume=True)


def test_a_loss_that_is_no_number_stops_the_run(preset, corpus, cache, tmp_path):
    wild = replace(preset, optimizer=replace(preset.optimizer, learning_rate=1e30))
    with pytest.raises(ArithmeticError, match="lower the learning rate"):
        run.train(wild, corpus, RunPlace(tmp_path, cache))


def test_half_precision_trains_too(preset, corpus, cache, tmp_path):
    half = replace(preset, schedule=replace(preset.schedule, precision="bfloat16", epochs=4))
    best = run.train(half, corpus, RunPlace(tmp_path, cache))
    assert checkpoint.load(best).facts["validation"]["search"]["recall_10"] > 40  # chance is 17
