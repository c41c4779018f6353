import torch

from models.text_towers.correlated import Config, Model

TEXTS = ["A dog runs on the beach", "dog", "Two pinnipeds and a naïve café"]


def test_a_sentence_is_what_its_view_makes_of_its_mean_word(embed):
    torch.manual_seed(0)
    tower = Model(Config(embedding=4)).eval()
    inputs, _ = tower.reader(TEXTS)
    tower.prepare(inputs, [0, 1, 2])
    vectors = torch.cat([bag.vectors for bag in embed(tower, TEXTS)])
    assert vectors.shape == (3, 4)
    torch.testing.assert_close(vectors, tower.view(tower.features(inputs)).detach())
