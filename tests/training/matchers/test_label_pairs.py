import json
from dataclasses import replace

import pytest
import torch

from models import checkpoint
from training.data import synthetic
from training.data.corpus import Corpus
from training.data.label_texts import LabelTexts
from training.evaluation.average_precision import average_precision
from training.evaluation.embedding import embed_photos
from training.evaluation.score_matrix import score_matrix
from training.matchers import train as run
from training.matchers.label_pairs import LabelOptions, LabelPairs
from training.matchers.preset import parse
from training.runs.folder import RunPlace
from training.runs.progress import silent

THINGS = (*synthetic.COLOURS, *synthetic.KINDS)
TOLD = 40  # photos with sentences, from which words are known


def names_of(example):
    return tuple(word for word in THINGS if word in example.sentences[0].split())


@pytest.fixture
def labelled(corpus):
    """Scenes, most with labels and no sentence."""
    train = corpus.split("train")
    seen = [replace(photo, sentences=(), labels=names_of(photo)) for photo in train[TOLD:]]
    return Corpus("labelled", {"train": (*train[:TOLD], *seen), "val": corpus.split("val")})


def make_preset(epochs, **tables):
    return parse(
        "labelled",
        {
            "model": {"image": {"name": "cells"}, "text": {"name": "known_words"}},
            "optimizer": {"learning_rate": 5e-3},
            "schedule": {"epochs": epochs, "batch": 10},
            "labels": {"photos": 60, "pairs": 4},
            **tables,
        },
    )


def measure_labels(path, examples):
    """The mean average precision of the names of things."""
    model = checkpoint.load(path).model
    images = [bag.vectors for bag in embed_photos(model, examples, silent)]
    texts = [bag.vectors for bag in model.embed_sentences(list(THINGS))]
    scores = torch.from_numpy(score_matrix(images, texts, model.score))
    true = [torch.tensor([name in names_of(one) for one in examples]) for name in THINGS]
    ranked = zip(scores.T, true, strict=True)
    return sum(average_precision(*row) for row in ranked) / len(THINGS)


def test_labels_alone_teach_what_things_look_like(labelled, cache, tmp_path):
    aims = [{"name": "contrastive", "weight": 0.0}, {"name": "labels"}]
    untaught = make_preset(1, objective=aims, optimizer={"learning_rate": 1e-9})
    taught = make_preset(6, objective=aims)
    before, after = (
        measure_labels(
            run.train(preset, labelled, RunPlace(tmp_path / name, cache)), labelled.split("val")
        )
        for name, preset in (("before", untaught), ("after", taught))
    )
    assert before < 0.5
    assert after > 0.8
    record = json.loads((tmp_path / "after" / "labelled-0" / "run.json").read_text())
    terms = [epoch["terms"]["labels"] for epoch in record["epochs"]]
    assert terms[-1] < terms[0] / 2


def test_a_resumed_run_draws_the_labels_of_an_unbroken_one(labelled, cache, tmp_path, interrupt):
    preset = make_preset(2, objective=[{"name": "contrastive"}, {"name": "labels"}])
    whole = run.train(preset, labelled, RunPlace(tmp_path / "whole", cache))
    broken = RunPlace(tmp_path / "broken", cache)
    interrupt(lambda: run.train(preset, labelled, broken))
    resumed = run.train(preset, labelled, broken, resume=True)
    first, again = (checkpoint.load(path).model.state_dict() for path in (whole, resumed))
    assert all(torch.equal(weight, again[name]) for name, weight in first.items())


def test_a_frozen_text_tower_stays_and_is_passed_once(
    preset, labelled, cache, tmp_path, monkeypatch
):
    start = run.train(preset.with_epochs(1), labelled, RunPlace(tmp_path / "start", cache))
    model = type(checkpoint.load(start).model.text)
    passed, forward = [], model.forward

    def count(tower, inputs):
        passed.append((tower.training, len(inputs.vectors)))
        return forward(tower, inputs)

    monkeypatch.setattr(model, "forward", count)
    aims = [{"name": "contrastive"}, {"name": "labels"}]
    frozen = make_preset(3, objective=aims, frozen=["text."])
    best = run.train(frozen, labelled, RunPlace(tmp_path / "end", cache, start=start))
    texts = (
        3 * TOLD
        + 3 * len(labelled.split("val"))
        + len(LabelTexts.of(labelled.split("train")).texts)
    )
    assert sum(count for _, count in passed) <= texts + 3 * len(labelled.split("val"))
    assert not any(training for training, _ in passed)
    before, after = (checkpoint.load(path).model.state_dict() for path in (start, best))
    changed = {name.split(".")[0] for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"image"}


def test_each_step_asks_for_every_label_once_and_sees_every_photo_in_turn(labelled):
    made = LabelTexts.of(labelled.split("train"))
    drawn = LabelPairs(made, [], LabelOptions(photos=65, pairs=3)).draw(0, 0)
    steps = [next(drawn) for _ in range(4)]
    assert sorted(photo for step in steps for photo in step.photos) == list(range(260))
    for step in steps:
        assert len(step.texts) == len(THINGS) + 3
        assert [sum(text in group for text in step.texts) for group in made.groups] == [1] * 10
    first = next(LabelPairs(made, [], LabelOptions(photos=65, pairs=3)).draw(0, 0))
    assert first == steps[0]
    assert first != next(LabelPairs(made, [], LabelOptions(photos=65, pairs=3)).draw(1, 0))


@pytest.mark.parametrize(
    ("tables", "reason"),
    [
        ({"labels": {"photos": 1}}, "1 photos and 40 pairs: use at least 2 and 0"),
        ({"hold_out": 5}, "does not go with hold_out: leave it out"),
        ({"objective": {"name": "contrastive"}}, "labels and .labels. need each other"),
    ],
)
def test_a_preset_that_cannot_learn_from_labels_is_refused(tables, reason):
    tables = {"objective": {"name": "labels"}, **tables}
    with pytest.raises(ValueError, match=reason):
        make_preset(1, **tables)


def test_a_short_try_leaves_out_photos_without_labels_alone(labelled):
    preset = make_preset(1, objective={"name": "labels"}).with_photos(5)
    chosen = preset.select(labelled)
    assert [one.labels is None for one in chosen].count(True) == 5
    assert len(chosen) == 5 + len(labelled.split("train")) - TOLD


def test_the_objective_needs_labels():
    with pytest.raises(ValueError, match=r"objective labels and \[labels\] need each other"):
        parse("none", {"objective": {"name": "labels"}})


def test_frozen_weights_must_be_there(labelled, cache, tmp_path):
    preset = make_preset(1, objective={"name": "labels"}, frozen=["txet."])
    with pytest.raises(ValueError, match=r"frozen: no parameter starts with 'txet\.'"):
        run.train(preset, labelled, RunPlace(tmp_path, cache))
