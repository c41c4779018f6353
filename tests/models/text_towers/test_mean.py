import torch

from models.text_towers.mean import Config, Model
from models.types import WHOLE_SENTENCE, Span


def test_a_sentence_is_its_mean_word_vector_of_length_one(embed):
    tower = Model(Config()).eval()
    (inputs,), _ = tower.reader(["a dog runs"])
    (bag,) = embed(tower, ["a dog runs"])
    mean = inputs.mean(0)
    torch.testing.assert_close(bag.vectors[0], mean / mean.norm())
    assert (bag.places, bag.labels) == ((Span(0, 10),), (WHOLE_SENTENCE,))


def test_words_stay_as_they_are():
    assert not any(weight.requires_grad for weight in Model(Config()).parameters())


def test_train_s_sentences_have_mean_zero_and_deviation_one():
    tower = Model(Config())
    inputs, _ = tower.reader(["a dog runs", "two cats sleep on snow", "a red car"])
    tower.prepare(inputs, [0, 1, 2])
    means = torch.stack([words.mean(0) for words in inputs])
    torch.testing.assert_close(tower.mean.mean, means.mean(0))
