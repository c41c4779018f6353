"""Workers learn as one process, and survive a loss."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from models import checkpoint
from training.data.corpus import Corpus
from training.matchers import train as run
from training.matchers.folders import open_folder
from training.matchers.preset import Preset, parse
from training.runs import workers
from training.runs.folder import RunPlace
from training.runs.loop import Trainer
from training.runs.progress import Progress

WAYS = {
    "image": {"name": "regions", "sizes": [64], "embedding": 8, "dropout": 0.0},
    "text": {"name": "minilm", "frozen_layers": 5, "embedding": 8, "word_dropout": 0.0,
             "layer_dropout": 0.0},
}  # fmt: skip
TABLES = {
    "model": WAYS,
    "objective": {"name": "contrastive"},
    "schedule": {"epochs": 2, "batch": 5, "average": 0.5},
}


def trained(
    again: bool, preset: Preset, corpus: Corpus, place: RunPlace, resume: bool = False
) -> tuple[Path, int]:
    return run.train(preset, corpus, place, resume=resume or again), workers.count()


def trained_with_a_loss(
    again: bool, preset: Preset, corpus: Corpus, place: RunPlace
) -> tuple[Path, bool]:
    """The second worker is killed in the second epoch, once."""
    if workers.rank() == 1 and not again:
        learn = Trainer.learn

        def killed(trainer: Trainer[Any], progress: Progress) -> float:
            if trainer.history:
                folder = open_folder(preset, corpus, place)
                while not folder.epochs:  # until the first worker has written its epoch
                    time.sleep(0.05)
                os.kill(os.getpid(), signal.SIGKILL)
            return learn(trainer, progress)

        Trainer.learn = killed  # type: ignore[method-assign,assignment]  # in this process alone
    return run.train(preset, corpus, place, resume=again), again


def weights(path: Path) -> dict[str, torch.Tensor]:
    return checkpoint.collect_weights(checkpoint.load(path).model)


def losses(path: Path) -> list[float]:
    epochs = json.loads((path.parent / "run.json").read_text())["epochs"]
    return [epoch["loss"] for epoch in epochs]


@pytest.fixture
def preset() -> Preset:
    return parse("two", TABLES)


@pytest.mark.system
def test_workers_learn_what_one_process_learns_with_the_same_batches(
    preset: Preset, few: Corpus, cache: Path, tmp_path: Path
) -> None:
    alone = run.train(preset, few, RunPlace(tmp_path / "alone", cache))
    together, count = workers.launch(2, trained, preset, few, RunPlace(tmp_path / "two", cache))
    assert count == 2
    assert losses(together) == pytest.approx(losses(alone), rel=1e-4)
    expected = weights(alone)
    for name, weight in weights(together).items():
        torch.testing.assert_close(weight, expected[name], rtol=1e-3, atol=1e-4, msg=name)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_lost_worker_costs_no_more_than_its_epoch(
    preset: Preset, few: Corpus, cache: Path, tmp_path: Path
) -> None:
    whole, _ = workers.launch(2, trained, preset, few, RunPlace(tmp_path / "whole", cache))
    place = RunPlace(tmp_path / "lost", cache)
    lost, again = workers.launch(2, trained_with_a_loss, preset, few, place)
    assert again
    assert losses(lost) == losses(whole)
    expected = weights(whole)
    assert all(torch.equal(one, expected[name]) for name, one in weights(lost).items())


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_cannot_be_shared_says_so(few: Corpus, cache: Path, tmp_path: Path) -> None:
    branch = {"name": "branch", "sizes": [64], "embedding": 4, "hidden": 8}
    text = {"name": "branch", "embedding": 4, "hidden": 8, "axes": 4, "components": 2,
            "principal": 6}  # fmt: skip
    normalised = parse("branches", TABLES | {"model": {"image": branch, "text": text}})
    with pytest.raises(ValueError, match=r"normalises over a batch.*leave --workers out"):
        workers.launch(2, trained, normalised, few, RunPlace(tmp_path, cache))


def test_alone_a_batch_is_whole() -> None:
    assert (workers.count(), workers.rank(), workers.is_first()) == (1, 0, True)
    assert workers.take_part((3, 1, 2)) == (3, 1, 2)
    assert workers.compute_on_first(lambda: 7) == 7


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_folder_that_holds_a_run_is_refused_by_workers_as_by_one(
    preset: Preset, few: Corpus, cache: Path, tmp_path: Path
) -> None:
    place = RunPlace(tmp_path, cache)
    run.train(replace(preset, name="held"), few, place)
    with pytest.raises(ValueError, match="holds a run: go on with it by --resume"):
        workers.launch(2, trained, replace(preset, name="held"), few, place)
