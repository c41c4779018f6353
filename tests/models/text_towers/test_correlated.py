import pytest
import torch

from models.text_towers.correlated import Config, Model

TEXTS = ["A dog runs on the beach", "dog", "Two pinnipeds and a naïve café"]


@pytest.mark.parametrize("features", ["mean", "hglmm"])
def test_a_sentence_is_what_its_view_makes_of_its_words(embed, features):
    torch.manual_seed(0)
    small = {"axes": 3, "components": 2, "principal": 5}
    tower = Model(Config(embedding=4, features=features, **small)).eval()
    inputs, _ = tower.reader(TEXTS)
    tower.prepare(inputs, [0, 1, 2])
    vectors = torch.cat([bag.vectors for bag in embed(tower, TEXTS)])
    assert vectors.shape == (3, 4)
    torch.testing.assert_close(vectors, tower.view(tower.features(inputs)).detach())


def test_other_features_are_refused():
    with pytest.raises(ValueError, match="no features 'tfidf'; there are: mean, hglmm"):
        Config(features="tfidf")
