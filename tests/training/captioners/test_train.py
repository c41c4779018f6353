from dataclasses import replace

import pytest
import torch

from models import checkpoint
from models.captioners import multimodal_rnn
from models.registry import Generation
from training.captioners import train as captioning
from training.captioners.batches import CaptionDataset
from training.captioners.describe import describe
from training.captioners.objectives import CrossEntropy
from training.captioners.preset import CaptionerPreset, Reward
from training.data import readers as folders
from training.data import synthetic
from training.evaluation.captions.bleu import bleu
from training.runs.folder import Reporter, RunPlace
from training.runs.loop import Trainer, TrainingTask, ValidationResult
from training.runs.optimization import Optimizer, Schedule

SIGHT = {"views": ("lite0@64",), "proposals": "windows"}
SMALL = {**SIGHT, "recurrence": "lstm", "embedding": 32, "hidden": 32, "dropout": 0.0}


def preset(epochs):
    schedule = Schedule(epochs, batch=4, average=0.9)
    return CaptionerPreset(
        "multimodal_rnn", SMALL, Optimizer(learning_rate=1e-2), schedule, least_count=1
    )


def test_a_trained_captioner_tells_photos_apart():
    torch.manual_seed(1)
    model = multimodal_rnn.Model(multimodal_rnn.Config(("a", "red", "blue", "dog", "cat"), **SMALL))
    captions = [[2, 3, 5], [2, 4, 5], [2, 3, 6], [2, 4, 6]]
    sentences = [[torch.tensor(one)] for one in captions]
    dataset = CaptionDataset(list(torch.rand(4, 1, 1280)), sentences, size=4)
    how = preset(60)
    objective = CrossEntropy(model, "cpu", "float32")
    part = TrainingTask(model, dataset, objective, lambda: ValidationResult({}), once=True)
    trainer = Trainer(part, how.optimizer, how.schedule)
    losses = [trainer.run_epoch().loss for _ in range(60)]
    trainer.descent.average.settle()
    model.eval()
    texts = [best[0].text for best in model.describe(dataset.photos, Generation(beam=2))]
    assert losses[-1] < losses[0] / 10
    assert texts == ["A red dog", "A blue dog", "A red cat", "A blue cat"]


def test_from_a_corpus_to_a_checkpoint_that_scores_what_it_says(tmp_path):
    synthetic.write(tmp_path / "scenes", {"train": 24, "val": 8}, 0)
    corpus = folders.read(tmp_path / "scenes")
    told = []
    file = tmp_path / "captioner.safetensors"
    place, reporter = RunPlace(file, tmp_path / "cache"), Reporter(report=told.append)
    score = captioning.train(corpus, place, preset(20), reporter=reporter)
    assert [record.epoch for record in told] == [*range(1, 21)]
    loaded = checkpoint.load(file)
    assert loaded.facts["validation"]["bleu"] == list(score.bleu)
    examples = corpus.split("val")
    captions = [one.text for one in describe(loaded.model, examples)]
    again = bleu(captions, [one.sentences for one in examples])
    # The same captions but for half precision: of the cached features there, of the weights here.
    assert abs(again.scores[0] - score.bleu[0]) < 5
    assert score.bleu[0] > 30
    assert loaded.facts["validation"]["cider"] == score.cider > 30


def test_a_reward_needs_a_trained_captioner_and_a_trained_one_needs_no_reward(tmp_path):
    synthetic.write(tmp_path / "scenes", {"train": 8, "val": 4}, 0)
    corpus = folders.read(tmp_path / "scenes")
    place = RunPlace(tmp_path / "first.safetensors", tmp_path / "cache")
    with pytest.raises(ValueError, match="give one by --start"):
        captioning.train(corpus, place, replace(preset(1), reward=Reward(2)))
    captioning.train(corpus, place, preset(1))
    after = replace(place, out=tmp_path / "more.safetensors", start=place.out)
    captioning.train(corpus, after, preset(2))
    first, more = (checkpoint.load(file) for file in (place.out, after.out))
    assert more.facts["start"] == first.fingerprint
    assert more.model.config.words == first.model.config.words
    refused = replace(preset(2), model="attentive")
    elsewhere = replace(after, out=tmp_path / "refused.safetensors")
    with pytest.raises(ValueError, match="goes on with the captioner attentive"):
        captioning.train(corpus, elsewhere, refused)
    assert not elsewhere.out.with_suffix(".run").exists()


def test_photos_without_sentences_are_left_out(tmp_path):
    synthetic.write(tmp_path / "scenes", {"train": 8, "val": 4}, 0)
    corpus = folders.read(tmp_path / "scenes")
    train = corpus.split("train")
    bare = replace(train[0], sentences=())
    splits = corpus.splits | {"train": (bare, *train[1:])}
    partly = replace(corpus, splits=splits)
    assert partly.list_described("train") == train[1:]
    captioning.train(partly, RunPlace(tmp_path / "one.safetensors", tmp_path / "cache"), preset(1))
