import pytest
import torch

from models.text_towers.branch import FEATURES, Config, Model

SENTENCES = ["a dog runs", "a dog", "two cats sleep on snow", "runs a dog"]


@pytest.fixture(scope="module", params=FEATURES)
def tower(request):
    torch.manual_seed(0)
    words, small = ("a", "dog", "cats"), {"axes": 3, "components": 2, "principal": 4}
    tower = Model(Config(request.param, words=words, hidden=5, embedding=6, **small))
    tower.prepare(tower.reader(SENTENCES)[0], [0, 0, 1, 1])
    return tower.eval()


def test_a_sentence_is_one_vector_of_length_one(tower, embed):
    vectors = torch.cat([bag.vectors for bag in embed(tower, SENTENCES)])
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(4))


def test_no_feature_knows_the_order_of_words(tower, embed):
    one, _, _, turned = embed(tower, SENTENCES)
    torch.testing.assert_close(one.vectors, turned.vectors, atol=1e-3, rtol=1e-3)


def test_a_linear_branch_is_one_map():
    tower = Model(Config("tfidf", hidden=0, embedding=6))
    assert [name for name, _ in tower.named_parameters()] == [
        f"branch.layers.1.{kind}" for kind in ("weight", "bias")
    ]


def test_an_unknown_feature_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="no features 'bert'; there are: hglmm, mean, tfidf"):
        Config(features="bert")
