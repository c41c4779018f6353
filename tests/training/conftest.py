from pathlib import Path

import pytest

import models.image_towers
import models.text_towers
from training.data import readers as folders
from training.data import synthetic
from training.data.corpus import Corpus
from training.evaluation.captions import measure
from training.matchers.preset import parse
from training.runs.folder import RunPlace
from training.runs.loop import Trainer

EPOCHS = 8


@pytest.fixture(scope="module", autouse=True)
def cells():
    """Add small towers to the registry, by a second folder."""
    with pytest.MonkeyPatch.context() as patched:
        for towers in (models.image_towers, models.text_towers):
            here = str(Path(__file__).parent / towers.__name__.removeprefix("models."))
            patched.setattr(towers, "__path__", [*towers.__path__, here])
        yield


@pytest.fixture
def without_meteor(monkeypatch):
    """Replace METEOR's paraphrases, a minute's reading; test_meteor.py has some."""

    def absent():
        raise LookupError("install it")

    monkeypatch.setattr(measure, "find_package", absent)


@pytest.fixture(scope="session")
def scenes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenes")
    synthetic.write(folder, {"train": 300, "val": 60}, seed=1)
    return folder


@pytest.fixture(scope="session")
def corpus(scenes):
    return folders.read(scenes)


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("features")


@pytest.fixture
def place(tmp_path, cache):
    return RunPlace(tmp_path / "runs", cache)


@pytest.fixture
def interrupt():
    """Interrupts a training in its second epoch."""

    def run(train):
        learn = Trainer.learn

        def stop_in_the_second(trainer, progress):
            if trainer.history:
                raise KeyboardInterrupt
            return learn(trainer, progress)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Trainer, "learn", stop_in_the_second)
            with pytest.raises(KeyboardInterrupt):
                train()

    return run


@pytest.fixture
def few(corpus):
    return Corpus("few", {"train": corpus.split("train")[:12], "val": corpus.split("val")[:4]})


@pytest.fixture(scope="module")
def preset():
    return parse(
        "cells",
        {
            "model": {"image": {"name": "cells"}, "text": {"name": "known_words"}},
            "objective": {"name": "contrastive"},
            "optimizer": {"learning_rate": 5e-3},
            "schedule": {"epochs": EPOCHS, "batch": 30, "average": 0.9},
        },
    )
