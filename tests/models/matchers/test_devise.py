import torch

from models.matchers.devise import Config, Model


def test_a_sentence_is_its_mean_word_vector_of_length_one():
    model = Model(Config(sizes=(32,))).eval()
    (inputs,) = model.sentence_inputs(["a dog runs"])
    (bag,) = model.embed_sentences(["a dog runs"])
    mean = inputs.mean(0)
    torch.testing.assert_close(bag.vectors[0], mean / mean.norm())


def test_photos_come_to_words_and_words_stay():
    trained = [
        name for name, one in Model(Config(sizes=(32,))).named_parameters() if one.requires_grad
    ]
    assert trained == ["photo.project.weight", "photo.project.bias"]
