import json
from dataclasses import replace

import pytest
import torch

from models import checkpoint
from models.scoring import SCORES
from models.types import PaddedBags
from training import run
from training.data.batches import batches
from training.evaluation.measure import pixels
from training.preset import Teachers, parsed
from training.reproduce import plan
from training.run import Frozen, Place
from training.teaching import mean_scores, teacher


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("features")


@pytest.fixture
def place(tmp_path, cache):
    return Place(tmp_path / "runs", cache)


@pytest.fixture
def taught(preset):
    """Two epochs, from two teachers of two epochs."""
    preset = preset.with_epochs(2)
    aims = parsed("mine", {
        "model": {"name": "cells"},
        "teachers": {"preset": "scenes"},
        "objective": [{"name": "contrastive"}, {"name": "distillation", "temperature": 3.0}],
    }).objectives  # fmt: skip
    return replace(preset, name="taught", objectives=aims, teachers=Teachers(preset, 2))


def epochs(folder):
    return [one["loss"] for one in json.loads((folder / "run.json").read_text())["epochs"]]


def test_teachers_score_batches_as_they_score_bags(preset, corpus, place):
    best = run.train(preset.with_epochs(1), corpus, place)
    examples = corpus.split("train")
    loaded = checkpoint.load(best)
    pairs = Frozen(loaded.model, place, "float32").pairs(examples, "train")
    one = teacher(loaded.model, "key", pairs, place.cache / "taught", "cpu")
    batch = next(batches(pairs.counts, 20, seed=3, epoch=0, sentences=2))
    images = loaded.model.embed_images([pixels(examples[k].image) for k in batch.images])
    texts = [text for example in examples for text in example.sentences]
    sentences = loaded.model.embed_sentences([texts[at] for at in batch.sentences])
    bags = [PaddedBags.of([bag.vectors for bag in side]) for side in (images, sentences)]
    expected = SCORES[loaded.model.score](*bags)
    assert torch.allclose(one.scores(batch, "cpu"), expected, atol=0.05)  # kept in half precision
    assert torch.allclose(mean_scores([one, one], batch, "cpu"), one.scores(batch, "cpu"))


def test_teachers_are_trained_once_beside_the_run_and_named_in_it(taught, corpus, place):
    begun = []
    best = run.train(taught, corpus, place, begins=begun.append)
    assert begun == ["cells-0", "cells-1", "taught-0"]
    teachers = [place.out / name / "matcher.safetensors" for name in begun[:2]]
    facts = checkpoint.load(best).facts
    assert facts["teachers"] == [checkpoint.fingerprint(one) for one in teachers]
    made = [one.stat().st_mtime_ns for one in teachers]
    begun.clear()
    run.train(taught, corpus, replace(place, seed=1), begins=begun.append)
    assert begun == ["cells-2", "taught-1"]  # the second teacher of the one is the first here
    assert [one.stat().st_mtime_ns for one in teachers] == made


def test_a_run_learns_from_its_teachers(taught, corpus, place, tmp_path):
    run.train(taught, corpus, place)
    alone = replace(taught, objectives=taught.objectives[:1], teachers=None)
    run.train(alone, corpus, replace(place, out=tmp_path / "alone"))
    assert epochs(place.out / "taught-0") != epochs(tmp_path / "alone" / "taught-0")


def test_a_broken_off_teacher_is_gone_on_with(taught, corpus, place, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.train(taught, corpus, place, report=stop)  # after the first teacher's first epoch
    assert epochs(place.out / "cells-0") != []
    begun, first = [], epochs(place.out / "cells-0")
    run.train(taught, corpus, place, resume=True, begins=begun.append)
    assert begun == ["cells-0", "cells-1", "taught-0"]
    assert epochs(place.out / "cells-0")[:1] == first
    assert [len(epochs(place.out / name)) for name in begun] == [2, 2, 2]


def test_what_was_made_otherwise_is_no_teacher(taught, corpus, place):
    other = taught.teachers.preset
    run.train(replace(other, schedule=replace(other.schedule, batch=20)), corpus, place)
    with pytest.raises(ValueError, match="cells-0 is no teacher, it was made with another preset"):
        run.train(taught, corpus, place)


def test_teachers_are_planned_before_those_whom_they_teach(taught, corpus, place):
    rows = [taught, taught.teachers.preset]
    planned = [one.name for one in plan(rows, corpus, place, seeds=2)]
    assert planned == ["cells-0", "cells-1", "taught-0", "cells-2", "taught-1"]
