from functools import partial

import pytest
import torch

from models import checkpoint
from models.captioners import lstm
from models.captioning import UNKNOWN
from models.registry import Generation
from training import captioning
from training.captioning import CaptionDataset, Recipe, evaluate, logits, shifted
from training.data import folders, synthetic
from training.fitting import Teller
from training.folder import Place
from training.loop import Measured, Part, Trainer
from training.optimization import Optimizer, Schedule

SMALL = {"size": 64, "embedding": 32, "hidden": 32, "attention": 16, "dropout": 0.0, "shortest": 1}


def recipe(epochs):
    schedule = Schedule(epochs, batch=4, average=0.9)
    return Recipe("lstm", SMALL, Optimizer(learning_rate=1e-2), schedule, least_count=1)


def test_each_word_is_given_before_it_is_a_target():
    given, targets = shifted([torch.tensor([5, 6, 7]), torch.tensor([8])])
    assert given.tolist() == [[0, 5, 6, 7], [0, 8, 0, 0]]
    assert targets.tolist() == [[5, 6, 7, 0], [8, 0, -1, -1]]


def test_words_outside_the_vocabulary_and_long_sentences_are_cut(tmp_path):
    example = captioning.Example("1", tmp_path, ("A dog sees a unicorn today .",))
    ((caption,),) = captioning.word_indices([example], ("a", "dog"), longest=5)
    assert caption.tolist() == [2, 3, UNKNOWN, 2, UNKNOWN]


def test_the_loss_of_real_words_alone_is_learnt():
    torch.manual_seed(0)
    model = lstm.Model(lstm.Config(words=("a", "dog"), **SMALL))
    sentences = [[torch.tensor([2, 3]), torch.tensor([2])], [torch.tensor([3])]]
    dataset = CaptionDataset(list(torch.rand(2, 4, 1280)), sentences, size=2)
    scores, targets = logits(model, dataset.batch([0, 1]), "cpu")
    assert targets.tolist() == [2, 3, 0, 2, 0, 3, 0]
    assert scores.shape == (7, 4)


def test_a_trained_captioner_tells_photos_apart():
    torch.manual_seed(1)
    model = lstm.Model(lstm.Config(words=("a", "red", "blue", "dog", "cat"), **SMALL))
    captions = [[2, 3, 5], [2, 4, 5], [2, 3, 6], [2, 4, 6]]
    sentences = [[torch.tensor(one)] for one in captions]
    dataset = CaptionDataset(list(torch.rand(4, 4, 1280)), sentences, size=4)
    how = recipe(60)
    objective = partial(captioning.cross_entropy, model, how, "cpu")
    part = Part(model, dataset, objective, lambda: Measured({}), once=True)
    trainer = Trainer(part, how.optimizer, how.schedule)
    losses = [trainer.epoch().loss for _ in range(60)]
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
    place, teller = Place(file, tmp_path / "cache"), Teller(report=told.append)
    score = captioning.train(corpus, place, recipe(8), teller=teller)
    assert [record.epoch for record in told] == [*range(1, 9)]
    loaded = checkpoint.load(file)
    assert loaded.facts["validation"]["scores"] == list(score.scores)
    again = evaluate(loaded.model, corpus.split("val"))
    # The same captions but for half precision: of the cached cells there, of the weights here.
    assert abs(again.scores[0] - score.scores[0]) < 5
    assert score.scores[0] > 30


def test_a_preset_gives_the_recipe_and_an_unknown_option_is_named(tmp_path):
    shipped = captioning.read("lstm")
    assert (shipped.model, shipped.label_smoothing, shipped.schedule.epochs) == ("lstm", 0.1, 8)
    own = tmp_path / "own.toml"
    own.write_text('extends = "captioners/lstm"\n[model]\nhiden = 3\n')
    with pytest.raises(ValueError, match=r"hiden.*hidden"):
        captioning.read(str(own))
    with pytest.raises(LookupError, match="no preset"):
        captioning.read("nope")
